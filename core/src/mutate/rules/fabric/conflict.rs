//! What of the user's own text excludes a profile: another kind of device, or another transport.

use serde_json::Value;

use super::target::requests;
use super::work::Work;
use crate::config::profile::Transport;
use crate::fabric::is_rdma;
use crate::fabric::nccl::number;

/// The names by which `NCCL_NET` chooses a transport. Any other is a plugin of the user's own, and is kept.
const TRANSPORTS: [(&str, &[Transport]); 7] = [
    ("Socket", &[Transport::Tcp]),
    ("IB", &[Transport::Ib, Transport::Roce]),
    ("gIB", &[Transport::Gib]),
    ("FasTrak", &[Transport::Tcpxo]),
    ("GPUDirectTCPX_v7", &[Transport::Tcpx]),
    ("Libfabric", &[Transport::Efa]),
    ("AWS Libfabric", &[Transport::Efa]),
];

pub(super) fn plan(work: &mut Work<'_>) {
    devices(work);
    let profile = work.profile;
    let mut found = Vec::new();
    for target in &work.targets {
        let literal = |name: &str| target.env(name)?.get("value").and_then(Value::as_str);
        let container = target.container.name();
        if let Some(net) = literal("NCCL_NET")
            && other_transport(net, profile.transport)
        {
            found.push((format!("NCCL_NET={net} in {container}"), "remove it"));
        }
        // Plugins (EFA, gIB) come in the place of what it switches off.
        let internal = matches!(profile.transport, Transport::Ib | Transport::Roce);
        if let Some(value) = literal("NCCL_IB_DISABLE").filter(|value| internal && number(value) != 0) {
            found.push((format!("NCCL_IB_DISABLE={value} in {container}"), "remove it"));
        }
    }
    for (what, cure) in found {
        work.conflict(what, cure);
    }
}

/// Devices of another fabric.
fn devices(work: &mut Work<'_>) {
    let profile = work.profile;
    // The injector adds the devices of whatever networks the pod has.
    if work.cluster.network_resources_injector && !profile.networks.multus.attach.is_empty() {
        return;
    }
    let own = |resource: &str| {
        let named = profile.resources.iter().any(|known| known.name.as_str() == resource);
        named || profile.dra.extended_resource.as_ref().is_some_and(|known| known.as_str() == resource)
    };
    let foreign = requests(work.pod).find(|(_, resource)| is_rdma(resource) && !own(resource));
    if let Some((container, resource)) = foreign {
        work.conflict(
            format!("{resource} in {} is another fabric's", container.name()),
            "remove it, or name its fabric",
        );
    }
}

fn other_transport(net: &str, transport: Transport) -> bool {
    let known = TRANSPORTS.iter().find(|(name, _)| name.eq_ignore_ascii_case(net));
    known.is_some_and(|(_, of)| !of.contains(&transport))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::sockets("socket", Transport::Ib, true)]
    #[case::the_same("IB", Transport::Roce, false)]
    #[case::anothers("IB", Transport::Efa, true)]
    #[case::a_plugin_of_its_own("UCX", Transport::Ib, false)]
    #[case::rdma_on_tcp("IB", Transport::Tcp, true)]
    fn transports(#[case] net: &str, #[case] transport: Transport, #[case] expected: bool) {
        assert_eq!(other_transport(net, transport), expected);
    }
}
