//! Which extended resources are devices for RDMA, whoever offers them.

/// Starts of the names by which device plugins and cloud providers offer devices for RDMA: the shared device plugin, the
/// SR-IOV plugin with the names of NVIDIA's network operator and of OKE, AWS, and the device classes of both.
const STARTS: [&str; 8] = [
    "rdma/",
    "mellanox.com/",
    "nvidia.com/mlnx",
    "nvidia.com/hostdev",
    "nvidia.com/sriov",
    "nvidia.com/roce",
    "vpc.amazonaws.com/efa",
    "deviceclass.resource.kubernetes.io/efa",
];

/// What the name of a resource that a site named itself holds, as in `openshift.io/mlnx_rdma` or `nvidia.com/rdma-vf`.
const PARTS: [&str; 2] = ["rdma", "infiniband"];

/// Networks of GKE are devices by name, and are added by GKE itself for each interface.
const NETWORKS_OF_GKE: &str = "networking.gke.io.networks/";

/// Whether `resource` is a device for RDMA.
#[must_use]
pub fn is_rdma(resource: &str) -> bool {
    let named = |name: &str| PARTS.iter().any(|part| name.contains(part));
    let own = || resource.split_once('/').is_some_and(|(_, name)| named(name));
    !resource.starts_with(NETWORKS_OF_GKE) && (STARTS.iter().any(|start| resource.starts_with(start)) || own())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

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
    fn devices(#[case] resource: &str, #[case] expected: bool) {
        assert_eq!(is_rdma(resource), expected);
    }
}
