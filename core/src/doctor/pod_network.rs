//! Checks that `mesh.podCIDRs`, which the traffic mode `direct` requires, contains the addresses of the pods.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{CheckFinding, Code, join_names};
use crate::cidr::Cidr;
use crate::config::{Mesh, Traffic};
use crate::keys;
use crate::yaml;

/// Facts about the addresses of pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodNetwork {
    /// Ranges in the configuration of the network, each with its source.
    pub ranges: Vec<(Cidr, String)>,
    /// Addresses of pods that do not use the network of their node, by namespace and name.
    pub addresses: Vec<(String, IpAddr)>,
}

/// Returns true if the configuration or a namespace selects the traffic mode `direct`.
#[must_use]
pub fn selects_direct_traffic<'a>(
    mesh: &Mesh,
    namespaces: impl IntoIterator<Item = &'a BTreeMap<String, String>>,
) -> bool {
    let mut labels = namespaces.into_iter().filter_map(|labels| labels.get(keys::MESH_TRAFFIC));
    mesh.traffic == Traffic::Direct || labels.any(|mode| Traffic::parse(mode) == Some(Traffic::Direct))
}

/// Returns the ranges of pods in a kubeadm `ClusterConfiguration`, and in the `ConfigMap` of Cilium.
#[must_use]
pub fn configured_ranges(kubeadm: Option<&str>, cilium: &BTreeMap<String, String>) -> Vec<(Cidr, String)> {
    let subnet = kubeadm.and_then(|text| {
        let configuration = yaml::parse(text).ok()?;
        Some(configuration.pointer("/networking/podSubnet")?.as_str()?.to_owned())
    });
    let lists = subnet.map(|list| (list, "kubeadm-config")).into_iter();
    let pools = ["cluster-pool-ipv4-cidr", "cluster-pool-ipv6-cidr"].into_iter();
    let lists = lists.chain(pools.filter_map(|key| Some((cilium.get(key)?.clone(), "cilium-config"))));
    let ranges = lists.flat_map(|(list, source)| {
        let parse = |item: &str| Some((Cidr::parse(item)?.network(), source.to_owned()));
        list.split([',', ' ']).filter_map(parse).collect::<Vec<_>>()
    });
    ranges.collect()
}

pub(super) fn check(network: &PodNetwork, mesh: &Mesh, is_selected: bool) -> Vec<CheckFinding> {
    if !is_selected {
        return vec![(Code::DirectUnused, String::new())];
    }
    let PodNetwork { ranges, addresses } = network;
    if mesh.pod_cidrs.is_empty() {
        let covered = addresses.iter().filter(|(_, address)| ranges.iter().any(|(range, _)| range.contains(*address)));
        let observed = join_names(addresses.iter().map(|(pod, address)| format!("{address} ({pod})")));
        let suggested = join_names(ranges.iter().map(|(range, source)| format!("{range} ({source})")));
        let evidence = if !suggested.is_empty() {
            format!("suggested: {suggested}, with {} of {} pods", covered.count(), addresses.len())
        } else if observed.is_empty() {
            String::new()
        } else {
            format!("addresses of pods: {observed}")
        };
        return vec![(Code::PodCidrsUnset, evidence)];
    }
    let is_outside = |address: IpAddr| !mesh.pod_cidrs.iter().any(|range| range.contains(address));
    let outside = addresses.iter().filter(|(_, address)| is_outside(*address));
    let outside = join_names(outside.map(|(pod, address)| format!("{address} ({pod})")));
    vec![if outside.is_empty() {
        (Code::PodCidrsComplete, format!("{} pods", addresses.len()))
    } else {
        (Code::PodCidrsIncomplete, outside)
    }]
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn mesh(traffic: Traffic, ranges: &[&str]) -> Mesh {
        let pod_cidrs = ranges.iter().map(|range| Cidr::parse(range).unwrap()).collect();
        Mesh { traffic, pod_cidrs, ..Mesh::default() }
    }

    fn network(ranges: &[&str]) -> PodNetwork {
        let ranges = ranges.iter().map(|range| (Cidr::parse(range).unwrap(), "kubeadm-config".to_owned())).collect();
        let address = |pod: &str, address: &str| (format!("team-a/{pod}"), address.parse().unwrap());
        PodNetwork { ranges, addresses: vec![address("a", "10.244.0.7"), address("b", "10.245.0.7")] }
    }

    #[rstest]
    #[case::no_suggestion(&[], &[], Code::PodCidrsUnset, "addresses of pods: 10.244.0.7 (team-a/a), 10.245.0.7 (team-a/b)")]
    #[case::suggestion(&[], &["10.244.0.0/16"], Code::PodCidrsUnset, "suggested: 10.244.0.0/16 (kubeadm-config), with 1 of 2 pods")]
    #[case::incomplete(&["10.244.0.0/16"], &[], Code::PodCidrsIncomplete, "10.245.0.7 (team-a/b)")]
    #[case::complete(&["10.244.0.0/15"], &[], Code::PodCidrsComplete, "2 pods")]
    fn compares_ranges_and_addresses(
        #[case] configured: &[&str],
        #[case] ranges: &[&str],
        #[case] code: Code,
        #[case] evidence: &str,
    ) {
        let found = check(&network(ranges), &mesh(Traffic::Direct, configured), true);
        assert_eq!(found, [(code, evidence.to_owned())]);
    }

    #[rstest]
    #[case::nowhere(Traffic::Leave, json!([{}, {"trainmesh.dev/mesh-traffic": "disableCapture"}]), false)]
    #[case::configuration(Traffic::Direct, json!([]), true)]
    #[case::namespace(Traffic::Leave, json!([{"trainmesh.dev/mesh-traffic": "direct"}]), true)]
    fn detects_the_mode(#[case] traffic: Traffic, #[case] namespaces: serde_json::Value, #[case] expected: bool) {
        let namespaces: Vec<BTreeMap<String, String>> = serde_json::from_value(namespaces).unwrap();
        let mesh = mesh(traffic, &[]);
        assert_eq!(selects_direct_traffic(&mesh, &namespaces), expected);
        let found = check(&network(&[]), &mesh, expected);
        assert_eq!(found[0].0 == Code::DirectUnused, !expected);
    }

    #[test]
    fn reads_the_configuration_of_networks() {
        let kubeadm = "networking:\n  podSubnet: 10.244.0.0/16,fd00:10::/56\n  serviceSubnet: 10.96.0.0/12\n";
        let cilium = json!({"cluster-pool-ipv4-cidr": "10.0.0.0/8 192.168.0.0/16", "ipam": "cluster-pool"});
        let found = configured_ranges(Some(kubeadm), &serde_json::from_value(cilium).unwrap());
        let found: Vec<String> = found.iter().map(|(range, source)| format!("{range} {source}")).collect();
        let expected = [
            "10.244.0.0/16 kubeadm-config",
            "fd00:10::/56 kubeadm-config",
            "10.0.0.0/8 cilium-config",
            "192.168.0.0/16 cilium-config",
        ];
        assert_eq!(found, expected);
        assert_eq!(configured_ranges(Some("networking: {"), &BTreeMap::new()), []);
    }
}
