//! Classification of RDMA resources.

use serde_json::Value;

use crate::config::Profile;
use crate::config::profile::{Amount, ResourceName};
use crate::dra::{AdapterKind, ClaimView, DeviceKind};
use crate::fabric::{EFA, is_rdma_resource};
use crate::json;
use crate::pod::{Container, Pod};

/// Resources whose units are virtual functions, each of which needs a network attachment.
const VIRTUAL_FUNCTIONS: [&str; 3] = ["nvidia.com/rdma-vf", "nvidia.com/sriov_resource", "nvidia.com/mlnxnics"];

/// Returns true if `resource` is an RDMA adapter: by its name, by the class that it stands for, or because an RDMA profile
/// lists it.
pub(super) fn is_adapter(resource: &str, profile: Option<&Profile>, view: ClaimView<'_>) -> bool {
    is_rdma_resource(resource)
        || view.kind_of_resource(resource).is_some_and(DeviceKind::is_adapter)
        || profile.is_some_and(|profile| profile.is_rdma() && devices(profile).any(|name| name == resource))
}

/// Returns true if `resource`, an extended resource or a class, is an EFA device. Only plugins drive these, not NCCL's
/// internal transports.
pub(super) fn is_efa(resource: &str, view: ClaimView<'_>) -> bool {
    resource == EFA || view.kind_of_name(resource) == Some(DeviceKind::Adapter(AdapterKind::Efa))
}

/// Returns true if adapters of NVIDIA (Mellanox) provide `resource`: InfiniBand has no other vendor.
pub(super) fn is_mellanox(resource: &str) -> bool {
    let (domain, name) = resource.split_once('/').unwrap_or(("", resource));
    let is_infiniband = name.split(['_', '-']).any(|part| matches!(part, "ib" | "hca" | "infiniband"));
    matches!(domain, "nvidia.com" | "mellanox.com")
        || is_infiniband
        || ["mlnx", "mlx"].iter().any(|part| name.contains(part))
}

/// Returns true if pods share the adapter behind `resource`, so that its GID table differs from pod to pod.
pub(super) fn is_shared(resource: &str) -> bool {
    resource.split_once('/').is_some_and(|(_, name)| name.contains("shared"))
}

/// Returns true if the pod shares the GID table of its adapters with other pods: with macvlan, ipvlan or a shared
/// device plugin. The index of a pod's GID then differs from pod to pod.
pub(super) fn shares_gid_table(pod: Pod<'_>) -> bool {
    let networks = pod.networks().unwrap_or_default();
    let is_shared = |container| resources(container).any(|(name, _)| is_rdma_resource(name) && is_shared(name));
    ["macvlan", "ipvlan"].iter().any(|plugin| networks.contains(plugin)) || pod.containers().any(is_shared)
}

/// Returns the RDMA adapters in the limits and requests of `container`, by their names and classes.
pub(super) fn requested_adapters<'a>(
    container: Container<'a>,
    view: ClaimView<'a>,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    resources(container).filter(move |(name, _)| is_adapter(name, None, view))
}

/// Returns the limits and requests of `container`.
pub(super) fn resources(container: Container<'_>) -> impl Iterator<Item = (&String, &Value)> {
    let list = move |kind: &str| json::get(json::get(container.raw(), "resources")?, kind)?.as_object();
    ["limits", "requests"].into_iter().filter_map(list).flatten()
}

/// Returns true if one unit of `resource` is one virtual function.
pub(super) fn is_virtual_function(resource: &str) -> bool {
    VIRTUAL_FUNCTIONS.contains(&resource)
}

fn devices(profile: &Profile) -> impl Iterator<Item = &str> {
    let counted = profile.resources.iter().filter(|resource| matches!(resource.amount, Amount::Devices { .. }));
    let by_class = profile.dra.extended_resource.iter();
    counted.map(|resource| resource.name.as_str()).chain(by_class.map(ResourceName::as_str))
}
