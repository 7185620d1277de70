//! Interfaces that the proxy captures although annotations exclude others.

use crate::fabric::nccl::DeviceList;
use crate::keys;
use crate::lint::setting::{ContainerSettings, NcclConf};
use crate::pod::Pod;

/// Interface of the cluster network.
const CLUSTER_INTERFACE: &str = "eth0";
/// Variables that select the interfaces of NCCL and of Gloo.
const VARIABLES: [&str; 2] = ["NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"];

/// Returns true if annotations exclude interfaces from capture, but not the one of the cluster network, and a setting lets NCCL
/// or Gloo use that. Without a setting, the interface is unknown.
pub(super) fn captures_selected(pod: Pod<'_>) -> bool {
    if pod.annotation(keys::EXCLUDE_INTERFACES).is_none() || !pod.captures_all_of(CLUSTER_INTERFACE) {
        return false;
    }
    let conf = NcclConf::from_pod(pod);
    pod.containers().any(|container| {
        let settings = ContainerSettings::new(&conf, container);
        let mut lists = VARIABLES.into_iter().filter_map(|name| settings.value(name));
        lists.any(|list| DeviceList::parse(list).allows(CLUSTER_INTERFACE))
    })
}
