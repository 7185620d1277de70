//! Detects user settings that conflict with a profile: devices of another fabric, or another transport.

use serde_json::Value;

use super::claimed::{class_devices, suits};
use super::planner::Planner;
use super::target::requests;
use super::{dra, machines};
use crate::config::profile::Transport;
use crate::dra::DeviceKind;
use crate::fabric::is_rdma_resource;
use crate::fabric::nccl::parse_c_integer;
use crate::pod::Container;

/// Values of `NCCL_NET` and the transports that they select. Any other value is a plugin of the user and is kept.
const TRANSPORTS: [(&str, &[Transport]); 7] = [
    ("Socket", &[Transport::Tcp]),
    ("IB", &[Transport::Ib, Transport::Roce]),
    ("gIB", &[Transport::Gib]),
    ("FasTrak", &[Transport::Tcpxo]),
    ("GPUDirectTCPX_v7", &[Transport::Tcpx]),
    ("Libfabric", &[Transport::Efa]),
    ("AWS Libfabric", &[Transport::Efa]),
];

pub(super) fn check(planner: &mut Planner<'_>) {
    dra::check_claims(planner);
    planner.conflicts.extend(machines::conflict(planner.context, planner.profile));
    check_devices(planner);
    let profile = planner.profile;
    let mut found = Vec::new();
    for target in &planner.targets {
        let literal = |name: &str| target.env(name)?.get("value").and_then(Value::as_str);
        let container = target.container.name();
        if let Some(net) = literal("NCCL_NET")
            && selects_other_transport(net, profile.transport)
        {
            found.push((format!("NCCL_NET={net} in {container} selects another transport"), "remove it"));
        }
        // NCCL_IB_DISABLE affects only NCCL's built-in transport. EFA and gIB replace it with plugins.
        let is_built_in = matches!(profile.transport, Transport::Ib | Transport::Roce);
        if let Some(value) = literal("NCCL_IB_DISABLE")
            .filter(|value| is_built_in && parse_c_integer(value).is_some_and(|number| number != 0))
        {
            found.push((format!("NCCL_IB_DISABLE={value} in {container} disables InfiniBand"), "remove it"));
        }
    }
    for (problem, fix) in found {
        planner.add_conflict(problem, fix);
    }
}

/// Reports requested devices of another fabric.
fn check_devices(planner: &mut Planner<'_>) {
    let profile = planner.profile;
    // network-resources-injector adds the devices of all networks of the pod.
    if planner.cluster.network_resources_injector && !profile.networks.multus.attach.is_empty() {
        return;
    }
    let view = planner.cluster.claims;
    let is_foreign = |(container, resource): &(Container<'_>, &str)| {
        let devices = class_devices(view, resource);
        let kind = devices.and_then(|devices| devices.kind);
        let is_adapter = is_rdma_resource(resource)
            || kind.is_some_and(|kind| kind.is_adapter() || kind == DeviceKind::Interface && profile.is_rdma());
        let is_target = planner.targets.iter().any(|target| target.container.name() == container.name());
        let is_own = profile.requests_resource(resource)
            || is_target && devices.is_some_and(|devices| suits(profile, view, &devices));
        is_adapter && !is_own
    };
    let Some((container, resource)) = requests(planner.pod).find(is_foreign) else { return };
    let profiles = planner.context.snapshot.config.fabric.profiles.all();
    let is_known = class_devices(view, resource).is_some()
        || profiles.values().any(|entry| entry.profile.requests_resource(resource));
    if is_known {
        let problem = format!("{resource} in {} belongs to another fabric", container.name());
        planner.add_conflict(problem, "remove it or select that fabric");
    } else {
        let problem = format!("{resource} in {} is in no profile", container.name());
        planner.add_conflict(problem, "copy the profile and name it in resources");
    }
}

fn selects_other_transport(net: &str, transport: Transport) -> bool {
    let known = TRANSPORTS.iter().find(|(name, _)| name.eq_ignore_ascii_case(net));
    known.is_some_and(|(_, transports)| !transports.contains(&transport))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::sockets("socket", Transport::Ib, true)]
    #[case::the_same("IB", Transport::Roce, false)]
    #[case::another("IB", Transport::Efa, true)]
    #[case::a_plugin_of_the_user("UCX", Transport::Ib, false)]
    #[case::rdma_on_tcp("IB", Transport::Tcp, true)]
    fn nccl_net_may_select_another_transport(#[case] net: &str, #[case] transport: Transport, #[case] expected: bool) {
        assert_eq!(selects_other_transport(net, transport), expected);
    }
}
