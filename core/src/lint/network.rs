//! The pod's networks: FP017, FP018, FP022; and which interfaces they give it.

use serde_json::Value;

use super::facts::Facts;
use super::finding::Found;
use super::raw::text;
use super::rdma;
use crate::config::Profile;
use crate::config::profile::{Amount, AttachCount, ResourceMode, Transport};
use crate::fabric::LIST_LIMIT;
use crate::keys;

/// The annotation that Multus reads.
const MULTUS: &str = "k8s.v1.cni.cncf.io/networks";
/// The annotation that GKE's multi-networking reads.
const GKE: &str = "networking.gke.io/interfaces";
/// The network that Istio attaches by itself, which is no interface.
const ISTIO_CNI: &str = "istio-cni";

/// A network that Multus attaches.
struct Attached {
    /// Its name, without the namespace.
    name: String,
    interface: Option<String>,
}

/// The interfaces that the pod is known to have; `None` where an annotation about them does not parse.
pub(super) fn interfaces(facts: &Facts<'_>) -> Option<Vec<String>> {
    let mut interfaces = vec!["eth0".to_owned()];
    for (index, network) in attached(facts)?.into_iter().enumerate() {
        interfaces.push(network.interface.unwrap_or_else(|| format!("net{}", index + 1)));
    }
    if let Some(annotation) = facts.subject.pod.annotation(GKE) {
        if annotation.len() > LIST_LIMIT {
            return None;
        }
        let entries: Vec<Value> = serde_json::from_str(annotation).ok()?;
        interfaces.extend(entries.iter().filter_map(|entry| text(entry, "interfaceName").map(str::to_owned)));
    }
    Some(interfaces)
}

/// The networks of the annotation, in both its forms; `None` where it does not parse, or is too long to be parsed.
fn attached(facts: &Facts<'_>) -> Option<Vec<Attached>> {
    let key = facts.subject.profile.map_or(MULTUS, |profile| profile.networks.multus.annotation_key.as_str());
    let Some(annotation) = facts.subject.pod.annotation(key).map(str::trim) else { return Some(Vec::new()) };
    if annotation.len() > LIST_LIMIT {
        return None;
    }
    if annotation.starts_with('[') {
        let entries: Vec<Value> = serde_json::from_str(annotation).ok()?;
        let attached = |entry: &Value| {
            let interface = text(entry, "interface").map(str::to_owned);
            Some(Attached { name: text(entry, "name")?.to_owned(), interface })
        };
        return entries.iter().map(attached).collect();
    }
    let entries = annotation.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    let attached = entries.map(|entry| {
        let (network, interface) = entry.split_once('@').map_or((entry, None), |(name, tail)| (name, Some(tail)));
        let name = network.rsplit('/').next().unwrap_or(network);
        Attached { name: name.to_owned(), interface: interface.map(str::to_owned) }
    });
    Some(attached.collect())
}

/// FP017: an adapter shared by its node has no address in the pod without a network of its own.
pub(super) fn no_secondary(facts: &Facts<'_>, found: &mut Found<'_>) {
    let Some(profile) = facts.subject.profile.filter(|profile| profile.transport == Transport::Roce) else { return };
    let none = attached(facts).is_some_and(|networks| networks.is_empty());
    let alone = none && facts.subject.pod.annotation(GKE).is_none() && facts.spec("resourceClaims").is_none();
    if !alone || facts.subject.pod.host_network() {
        return;
    }
    for seen in &facts.containers {
        if let Some((adapter, _)) = seen.adapters.iter().find(|(adapter, _)| is_shared(adapter, profile)) {
            let message = format!("{}: {adapter} over RoCE, but no secondary network", seen.named());
            found.add("/metadata/annotations", message);
        }
    }
}

/// Whether several pods are given the same adapter: the profile asks for it apart from the number of accelerators.
fn is_shared(adapter: &str, profile: &Profile) -> bool {
    let resource = profile.resources.iter().find(|resource| resource.name.as_str() == adapter);
    resource.is_some_and(|resource| {
        matches!(&resource.amount, Amount::Devices { mode, .. } if *mode != ResourceMode::PerGpu)
            && !rdma::is_virtual_function(adapter)
    })
}

/// FP018: every virtual function is attached by one network.
pub(super) fn functions(facts: &Facts<'_>, found: &mut Found<'_>) {
    let multus = facts.subject.profile.map(|profile| &profile.networks.multus);
    let key = multus.map_or(MULTUS, |multus| multus.annotation_key.as_str());
    let per_function: Vec<&str> = multus
        .into_iter()
        .flat_map(|multus| &multus.attach)
        .filter(|attach| attach.count == AttachCount::PerResource)
        .filter_map(|attach| attach.name.as_str().rsplit('/').next())
        .collect();
    let adapters = facts.adapters();
    let Some((adapter, count)) = adapters.iter().find(|(name, _)| rdma::is_virtual_function(name)) else { return };
    let Some(mut networks) = attached(facts) else { return };
    networks.retain(|network| network.name != ISTIO_CNI);
    let same = networks.windows(2).all(|pair| pair[0].name == pair[1].name);
    if !per_function.is_empty() {
        networks.retain(|network| per_function.contains(&network.name.as_str()));
    }
    let attached = u64::try_from(networks.len()).unwrap_or(u64::MAX);
    // Without a profile a network among several may be for something else: only too few are for sure.
    let too_many = attached > *count && (same || !per_function.is_empty());
    if attached < *count || too_many {
        let field = format!("/metadata/annotations/{}", key.replace('~', "~0").replace('/', "~1"));
        found.add(field, format!("{attached} networks for {count} {adapter}: one for each is needed"));
    }
}

/// FP022: names are resolved on the node, and Istio leaves the pod alone.
pub(super) fn host_network(facts: &Facts<'_>, found: &mut Found<'_>) {
    let pod = facts.subject.pod;
    if !pod.host_network() {
        return;
    }
    let policy = facts.spec("dnsPolicy").and_then(Value::as_str).unwrap_or("ClusterFirst");
    // `None` is a choice of the user's, who says by `dnsConfig` where.
    if policy != "ClusterFirstWithHostNet" && policy != "None" {
        found.add("/spec/hostNetwork", format!("hostNetwork with dnsPolicy {policy}: no names of the cluster"));
    }
    let ours = |key: &&str| {
        let injector = key.starts_with("sidecar.istio.io/") && *key != keys::SIDECAR_INJECT;
        injector || key.starts_with(keys::TRAFFIC_PREFIX) || *key == keys::PROXY_CONFIG
    };
    if let Some(key) = pod.annotation_keys().find(ours) {
        found.add("/spec/hostNetwork", format!("hostNetwork: Istio injects nothing, {key} does nothing"));
    }
}
