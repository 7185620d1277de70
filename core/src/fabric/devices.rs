//! Names of the extended resources that are RDMA devices, and of networks with such devices.

use crate::hint::MAX_COMPARED;

/// The Elastic Fabric Adapter of AWS.
pub(crate) const EFA: &str = "vpc.amazonaws.com/efa";
/// Prefixes that device plugins and cloud providers use: the RDMA shared device plugin, the SR-IOV device plugin with
/// the names of NVIDIA's network operator and of OKE, and AWS with its device plugin and its DRA device class.
const PREFIXES: [&str; 8] = [
    "rdma/",
    "mellanox.com/",
    "nvidia.com/mlnx",
    "nvidia.com/hostdev",
    "nvidia.com/sriov",
    "nvidia.com/roce",
    EFA,
    "deviceclass.resource.kubernetes.io/efa",
];

/// Substrings of custom resource names, such as `openshift.io/mlnx_rdma` and `nvidia.com/rdma-vf`.
const SUBSTRINGS: [&str; 2] = ["rdma", "infiniband"];

/// Prefix of the resources that GKE adds for network interfaces. They are not devices.
const GKE_NETWORK_PREFIX: &str = "networking.gke.io.networks/";

/// Returns true if `resource` is the name of an RDMA device.
#[must_use]
pub fn is_rdma_resource(resource: &str) -> bool {
    let has_substring = |name: &str| SUBSTRINGS.iter().any(|substring| name.contains(substring));
    let is_custom = || resource.split_once('/').is_some_and(|(_, name)| has_substring(name));
    !resource.starts_with(GKE_NETWORK_PREFIX)
        && (PREFIXES.iter().any(|prefix| resource.starts_with(prefix)) || is_custom())
}

/// Returns the adapter whose name differs from `resource` by one letter, or by its case. Other adapters have names that their operators
/// choose, such as `rdma/ib0`.
pub(crate) fn misspelled_adapter(resource: &str) -> Option<&'static str> {
    if resource == EFA || resource.len() > MAX_COMPARED {
        return None;
    }
    let resource = resource.to_lowercase();
    let is_similar = || resource.len().abs_diff(EFA.len()) <= 1 && strsim::osa_distance(&resource, EFA) <= 1;
    // Only one device plugin of AWS provides the adapter.
    let is_of_another_domain = || {
        let domain = resource.strip_suffix("/efa");
        domain.is_some_and(|domain| domain.contains("amazon") || domain.contains("aws"))
    };
    (is_similar() || is_of_another_domain()).then_some(EFA)
}

/// Returns true if `network` is named like a network of RDMA adapters.
#[must_use]
pub fn is_rdma_network(network: &str) -> bool {
    network.contains("roce") || SUBSTRINGS.iter().any(|substring| network.contains(substring))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("vpc.amazonaws.com/efa", false)]
    #[case("vpc.amazonaws.com/efas", true)]
    #[case("vpc.amazonaws.com/EFA", true)]
    #[case("vpc.amazon.com/efa", true)]
    #[case("aws.amazon.com/efa", true)]
    #[case("vpc.amazonaws.com/pod-eni", false)]
    #[case("aws.amazon.com/neuron", false)]
    #[case("example.com/efa", false)]
    #[case("rdma/ibb", false)]
    fn a_misspelled_adapter_is_named(#[case] resource: &str, #[case] expected: bool) {
        assert_eq!(misspelled_adapter(resource), expected.then_some(EFA));
    }

    #[rstest]
    #[case("rdma/hca_shared_devices_a", true)]
    #[case("nvidia.com/rdma-vf", true)]
    #[case("nvidia.com/mlnxnics", true)]
    #[case("openshift.io/mlnx_rdma", true)]
    #[case("vpc.amazonaws.com/efa", true)]
    #[case("nvidia.com/gpu", false)]
    #[case("networking.gke.io.networks/rdma-0", false)]
    #[case("hugepages-2Mi", false)]
    #[case("memory", false)]
    fn recognizes_rdma_resources(#[case] resource: &str, #[case] expected: bool) {
        assert_eq!(is_rdma_resource(resource), expected);
    }
}
