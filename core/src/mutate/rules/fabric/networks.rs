//! Networks of the pod that may be RDMA adapters. Adapters of the profile would be a second set.

use std::collections::BTreeSet;

use super::planner::{Planner, Problem};
use super::{gke, multus};
use crate::fabric::{MAX_NETWORKS_ANNOTATION, is_rdma_network};
use crate::keys;
use crate::mutate::rules::annotation_pointer;

/// A network of the pod that may be an adapter.
struct AdapterNetwork<'a> {
    /// Annotation that lists the network.
    key: &'a str,
    name: String,
    /// True if the profile attaches the same network.
    is_own: bool,
}

/// Reports a network that may be an adapter other than those of the profile.
pub(super) fn check(planner: &mut Planner<'_>) {
    if !planner.profile.adds_adapters() {
        return;
    }
    let profile = planner.profile;
    // A device plugin provides the adapters of Multus' networks: their resources show whether the pod has any, unless
    // network-resources-injector adds them later. Beside adapters from elsewhere, the name of the network counts.
    let by_device_plugin = profile.dra.claims.is_empty()
        && profile.dra.extended_resource.is_none()
        && profile.networks.gke.interfaces.is_empty();
    let counts_multus = !by_device_plugin || planner.cluster.network_resources_injector;
    let gke = match gke_networks(planner) {
        Ok(networks) => networks,
        // The plan of the networks reports the problem.
        Err(_) if !profile.networks.gke.interfaces.is_empty() => return,
        Err((problem, fix)) => {
            return planner.add_conflict_at(annotation_pointer(keys::GKE_INTERFACES), problem, fix);
        }
    };
    let multus = if counts_multus { multus_networks(planner) } else { Vec::new() };
    let foreign = gke.into_iter().chain(multus).find(|network| !network.is_own);
    if let Some(AdapterNetwork { key, name, .. }) = foreign {
        let fix = if profile.attaches_networks() {
            "name it in networks of the profile"
        } else {
            "remove it or select another fabric"
        };
        let problem = format!("the pod already attaches network {name}");
        planner.add_conflict_at(annotation_pointer(key), problem, fix);
    }
}

/// Returns true if the pod attaches networks that may be adapters.
pub(super) fn attaches_adapters(planner: &Planner<'_>) -> bool {
    gke_networks(planner).map_or(true, |networks| !networks.is_empty()) || !multus_networks(planner).is_empty()
}

/// Returns the networks of GKE multi-networking, or the problem of the annotation.
fn gke_networks(planner: &Planner<'_>) -> Result<Vec<AdapterNetwork<'static>>, Problem> {
    let required = &planner.profile.networks.gke.interfaces;
    let listed = gke::interfaces(planner.pod)?;
    let names = listed.iter().filter_map(|item| item.get("network")?.as_str());
    let networks = names.map(|name| AdapterNetwork {
        key: keys::GKE_INTERFACES,
        name: name.to_owned(),
        is_own: required.iter().any(|interface| interface.network.as_str() == name),
    });
    // Pods with networks from the profile may have others for other purposes. Where adapters are not networks, every
    // network is an exception.
    let may_be_adapter = |network: &AdapterNetwork<'_>| {
        !is_ethernet(&network.name) && (network.is_own || required.is_empty() || is_rdma_network(&network.name))
    };
    Ok(networks.filter(may_be_adapter).collect())
}

/// Returns true for the names of networks in GKE's documentation that are not RDMA.
fn is_ethernet(network: &str) -> bool {
    network == "default" || network.contains("gvnic")
}

/// Returns the networks of Multus. An annotation that cannot be read has none: Multus does not start the pod.
fn multus_networks<'a>(planner: &Planner<'a>) -> Vec<AdapterNetwork<'a>> {
    let key = planner.profile.networks.multus.annotation_key.as_str();
    let text = planner.pod.annotation(key).filter(|text| text.len() <= MAX_NETWORKS_ANNOTATION).unwrap_or_default();
    let (parsed, namespace) = (multus::parse_json(text), planner.context.snapshot.namespace);
    let Some(listed) = multus::parse(text, parsed.as_ref(), namespace) else { return Vec::new() };
    if listed.networks.is_empty() || multus::has_own_fabric(planner, &listed, namespace) {
        return Vec::new();
    }
    let own: BTreeSet<_> = multus::attached(planner.profile, namespace).collect();
    let profiles = planner.context.snapshot.config.fabric.profiles.all();
    // The annotation may list thousands of networks: each is looked up once, not compared with those of each profile.
    let of_profiles: BTreeSet<_> = profiles
        .values()
        .map(|entry| &entry.profile)
        .filter(|profile| profile.is_rdma())
        .flat_map(|profile| multus::attached(profile, namespace))
        .collect();
    let networks = listed.networks.iter().filter_map(|network| {
        let is_own = own.contains(&network.identity());
        let may_be_adapter = is_own || of_profiles.contains(&network.identity()) || is_rdma_network(network.name);
        may_be_adapter.then(|| AdapterNetwork { key, name: network.name.to_owned(), is_own })
    });
    networks.collect()
}
