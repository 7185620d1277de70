//! Networks of the pod and the interfaces that they add: FP017, FP018, FP022.

use std::collections::BTreeSet;

use json_patch::jsonptr::PointerBuf;
use serde_json::Value;

use super::context::{CheckContext, ContainerFacts};
use super::raw::str_at;
use super::rdma;
use super::sink::FindingSink;
use crate::config::Profile;
use crate::config::profile::{Amount, AttachCount, Resource, ResourceMode, Transport};
use crate::fabric::MAX_NETWORKS_ANNOTATION;
use crate::fabric::nccl::{is_plugin_variable, variable};
use crate::finding::Severity;
use crate::hint::is_typo;
use crate::keys;
use crate::pod::networks::{self, Attachment, ISTIO_CNI, MULTUS};

/// How to fix a profile that attaches too few networks.
const FIX_FOR_PROFILES: &str = "set count: perResource for the network in networks.multus.attach of the fabric profile, or list the \
                                network of each virtual function there";

/// How to fix the DNS policy of a pod in the node's network.
const FIX_POLICY: &str = "set dnsPolicy: ClusterFirstWithHostNet";
/// How to fix the key of the annotation with the networks.
const FIX_KEY: &str = "correct the key of the annotation";
/// How to fix annotations of a pod that Istio does not inject.
const FIX_ANNOTATIONS: &str = "remove the Istio annotations";

/// Annotation of GKE multi-networking.
pub(super) const GKE: &str = "networking.gke.io/interfaces";

/// Returns the interfaces that the pod is known to have, or `None` if an annotation cannot be parsed.
pub(super) fn interfaces(context: &CheckContext<'_>) -> Option<Vec<String>> {
    let mut interfaces = vec!["eth0".to_owned()];
    interfaces.extend(attachments(context)?.into_iter().map(|network| network.interface));
    if let Some(annotation) = context.input.pod.annotation(GKE) {
        if annotation.len() > MAX_NETWORKS_ANNOTATION {
            return None;
        }
        let entries: Vec<Value> = serde_json::from_str(annotation).ok()?;
        interfaces.extend(entries.iter().filter_map(|entry| str_at(entry, "interfaceName").map(str::to_owned)));
    }
    // The annotation of GKE usually contains the default one.
    let mut seen = BTreeSet::new();
    interfaces.retain(|interface| seen.insert(interface.clone()));
    Some(interfaces)
}

/// Returns the networks of the pod. Returns `None` if its annotation is malformed or too long.
fn attachments(context: &CheckContext<'_>) -> Option<Vec<Attachment>> {
    let key = context.input.profile.map_or(MULTUS, |profile| profile.networks.multus.annotation_key.as_str());
    networks::attachments(context.input.pod.annotation(key).unwrap_or_default())
}

/// FP017: a shared RoCE adapter has no address in the pod without a secondary network.
pub(super) fn missing_secondary_network(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some(profile) = context.input.profile.filter(|profile| profile.transport == Transport::Roce) else { return };
    let no_attachments = attachments(context).is_some_and(|networks| networks.is_empty());
    let no_networks =
        no_attachments && context.input.pod.annotation(GKE).is_none() && !context.claims_may_add_interfaces();
    if !no_networks || context.input.pod.host_network() {
        return;
    }
    for container in &context.containers {
        if let Some((adapter, _)) =
            container.adapters.iter().find(|(adapter, _)| is_shared_by_profile(adapter, profile))
        {
            let message = format!("{}: {adapter} over RoCE without a secondary network", container.display_name());
            findings.push("/metadata/annotations", message);
        }
    }
}

/// Returns true if several pods share the adapter: the profile's count does not depend on the number of accelerators.
fn is_shared_by_profile(adapter: &str, profile: &Profile) -> bool {
    let resource = profile.resources.iter().find(|resource| resource.name.as_str() == adapter);
    resource.is_some_and(|resource| {
        matches!(&resource.amount, Amount::Devices { mode, .. } if *mode != ResourceMode::PerGpu)
            && !rdma::is_virtual_function(adapter)
    })
}

/// FP018: the number of networks differs from the number of virtual functions.
pub(super) fn network_count(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    if let Some(key) = misspelled_key(context) {
        let field = PointerBuf::from_tokens(["metadata", "annotations", key]).to_string();
        let message = format!("annotation {key} attaches no network: did you mean {MULTUS}?");
        findings.push_with_fix(Severity::Warning, field, message, FIX_KEY);
    }
    let multus = context.input.profile.map(|profile| &profile.networks.multus);
    let key = multus.map_or(MULTUS, |multus| multus.annotation_key.as_str());
    let per_function: Vec<&str> = multus
        .into_iter()
        .flat_map(|multus| &multus.attach)
        .filter(|attach| attach.count == AttachCount::PerResource)
        .filter_map(|attach| attach.name.as_str().rsplit('/').next())
        .collect();
    let adapters = context.adapters();
    let own = context.input.profile.and_then(functions_of);
    let is_function = |name: &str| rdma::is_virtual_function(name) || own.is_some_and(|own| own.name.as_str() == name);
    let Some((adapter, count)) = adapters.iter().find(|(name, _)| is_function(name)) else { return };
    let Some(mut networks) = attachments(context) else { return };
    networks.retain(|network| network.name != ISTIO_CNI);
    let all_equal = networks.windows(2).all(|pair| pair[0].name == pair[1].name);
    if !per_function.is_empty() {
        networks.retain(|network| per_function.contains(&network.name.as_str()));
    }
    let attached = u64::try_from(networks.len()).unwrap_or(u64::MAX);
    // Without a profile, some of several different networks may serve another purpose, so only too few are an error.
    let too_many = attached > *count && (all_equal || !per_function.is_empty());
    if attached < *count || too_many {
        let field = PointerBuf::from_tokens(["metadata", "annotations", key]).to_string();
        let message = format!("{attached} networks for {count} {adapter}: each needs exactly one");
        // The networks of the pod are those of the profile.
        let is_of_profile = per_function.is_empty() && own.is_some_and(|own| own.name.as_str() == *adapter);
        if is_of_profile && attached < *count {
            findings.push_with_fix(Severity::Warning, field, message, FIX_FOR_PROFILES);
        } else {
            findings.push(field, message);
        }
    }
}

/// Returns the misspelled key of the annotation of a pod without networks.
fn misspelled_key<'a>(context: &CheckContext<'a>) -> Option<&'a str> {
    let (domain, known) = MULTUS.split_once('/')?;
    let pod = context.input.pod;
    let is_misspelled = |key: &&str| {
        key.split_once('/').is_some_and(|(own, name)| own == domain && is_typo(name, known)) && pod.networks().is_none()
    };
    pod.annotation_keys().find(is_misspelled)
}

/// Returns the resource of `profile` whose units are virtual functions, each of which needs a network: with the attachment of a
/// network to each, or with any attachment to a RoCE adapter that pods do not share, because RoCE needs an address.
fn functions_of(profile: &Profile) -> Option<&Resource> {
    let attached = &profile.networks.multus.attach;
    let resource = profile.resources.iter().find(|resource| !resource.opt_in)?;
    let is_per_gpu = matches!(&resource.amount, Amount::Devices { mode: ResourceMode::PerGpu, .. });
    let is_own = profile.transport == Transport::Roce && is_per_gpu && !rdma::is_shared(resource.name.as_str());
    let is_function = attached.iter().any(|attach| attach.count == AttachCount::PerResource || is_own);
    is_function.then_some(resource)
}

/// FP022: a pod in the node's network does not resolve cluster names, or has annotations that Istio ignores.
pub(super) fn host_network(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let pod = context.input.pod;
    let is_nccl = |name: &str| variable(name).is_some() || is_plugin_variable(name);
    let uses_fabric = |container: &ContainerFacts<'_>| {
        container.gpus.is_positive()
            || container.adapter_names().next().is_some()
            || container.settings.iter().any(|setting| is_nccl(setting.name))
    };
    if !pod.host_network() || !context.containers.iter().any(uses_fabric) {
        return;
    }
    let policy = context.spec("dnsPolicy").and_then(Value::as_str).unwrap_or("ClusterFirst");
    // With `None`, the user configures the resolver in `dnsConfig`.
    if policy != "ClusterFirstWithHostNet" && policy != "None" {
        let message = format!("hostNetwork with dnsPolicy {policy}: cluster names do not resolve");
        findings.push_with_fix(Severity::Warning, "/spec/hostNetwork", message, FIX_POLICY);
    }
    let is_istio_setting = |key: &&str| {
        let is_injector = key.starts_with("sidecar.istio.io/") && *key != keys::SIDECAR_INJECT;
        is_injector || key.starts_with(keys::TRAFFIC_PREFIX) || *key == keys::PROXY_CONFIG
    };
    if let Some(key) = pod.annotation_keys().find(is_istio_setting) {
        let message = format!("hostNetwork: Istio does not inject the pod, {key} has no effect");
        findings.push_with_fix(Severity::Warning, "/spec/hostNetwork", message, FIX_ANNOTATIONS);
    }
}
