//! The network that a pod requests for NCCL, and what decides whether its log shows it.

use serde_json::{Map, Value};

use super::read::{MAX_NAME, as_name, truncate};
use crate::config::{EXAMPLES_FOR_MACHINES, builtin_profiles};
use crate::fabric::is_rdma_resource;
use crate::keys;
use crate::pod::{Container, Pod};
use crate::rule::{Refusal, RuleId, applied_text};

/// Start of the variables of the plugins for TCPX and TCPXO, which nothing else reads.
const OF_TCPX: [&str; 2] = ["NCCL_FASTRAK_", "NCCL_GPUDIRECTTCPX_"];
/// Start of the variables that NCCL reads only if it uses RDMA.
const OF_RDMA: [&str; 2] = ["NCCL_IB_", "NCCL_NET_GDR_"];
/// Field of variables.
const VARIABLES: &str = "spec.containers[].env";
/// Default port of NCCL's RAS.
const RAS_PORT: u16 = 28028;
/// Variables of PyTorch that disable its watchdog with 0, and those that replace it with 1; the first names are the newer ones.
const ERROR_HANDLING: [&str; 2] = ["TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING"];
const BLOCKING: [&str; 2] = ["TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT"];

/// The network that a pod requests for NCCL.
#[derive(Clone, Debug, Default)]
pub(in crate::diagnosis) struct TransportRecord {
    /// Address of the pod.
    pub(in crate::diagnosis) address: Option<Box<str>>,
    /// True if the pod uses the network of its node.
    pub(in crate::diagnosis) uses_host_network: bool,
    /// Port on which NCCL's RAS listens.
    pub(in crate::diagnosis) ras_port: u16,
    /// Request of RDMA: a resource of a main container or a fabric profile, with its field.
    pub(in crate::diagnosis) requested: Option<(&'static str, Box<str>)>,
    /// Reason for which trainmesh refused the fabric profile of a pod whose main containers request no RDMA device themselves.
    pub(in crate::diagnosis) refused: Option<&'static str>,
    /// Variable of a main container that disables RDMA.
    pub(in crate::diagnosis) disabled: Option<DisablingVariable>,
    /// Variable of a main container that disables PyTorch's watchdog for NCCL.
    pub(in crate::diagnosis) unwatched: Option<&'static str>,
    /// True if a main container sets the GID index.
    pub(in crate::diagnosis) sets_gid_index: bool,
    /// True if a main container sets `NCCL_DEBUG`.
    pub(in crate::diagnosis) sets_debug: bool,
}

/// A variable that disables RDMA.
#[derive(Clone, Debug)]
pub(in crate::diagnosis) struct DisablingVariable {
    /// Name of the container.
    pub(in crate::diagnosis) container: Box<str>,
    pub(in crate::diagnosis) name: &'static str,
    pub(in crate::diagnosis) value: Box<str>,
}

impl TransportRecord {
    pub(super) fn read(pod: Pod<'_>, is_main: impl Fn(&str) -> bool) -> Self {
        let main = || pod.containers().filter(|container| is_main(container.name()));
        let is_set = |name: &str| main().any(|container| container.env_names().any(|known| known == name));
        let address = pod.status().and_then(|status| status.get("podIP"));
        let adapter = main().find_map(adapter);
        let refused = refused_profile(pod).filter(|_| adapter.is_none());
        let of_tcpx = || main().flat_map(Container::env_names).find(|name| starts_with_any(name, &OF_TCPX));
        let requested = adapter
            .or_else(|| profile(pod, || main().any(sets_network)))
            .or_else(|| refused_request(pod, refused?))
            .or_else(|| of_tcpx().map(|name| (VARIABLES, truncate(name, MAX_NAME))));
        Self {
            address: address.and_then(as_name),
            uses_host_network: pod.host_network(),
            ras_port: main().find_map(ras_port).unwrap_or(RAS_PORT),
            requested,
            refused,
            disabled: main().find_map(disabling_variable),
            unwatched: main().find_map(unwatched),
            sets_gid_index: is_set("NCCL_IB_GID_INDEX"),
            sets_debug: is_set("NCCL_DEBUG"),
        }
    }
}

/// Returns the first RDMA device that a container requests.
fn adapter(container: Container<'_>) -> Option<(&'static str, Box<str>)> {
    let limits = container.raw().pointer("/resources/limits").and_then(Value::as_object);
    let name = limits.map(Map::keys).into_iter().flatten().find(|name| is_rdma_resource(name))?;
    Some(("spec.containers[].resources.limits", truncate(name, MAX_NAME)))
}

/// Returns the RDMA profile that the webhook applied. The transport of a profile of the configuration is not known here: it has RDMA
/// if it has the name of an example with RDMA, or if the pod `sets_network`, as with a copy of a profile under another name.
fn profile(pod: Pod<'_>, sets_network: impl Fn() -> bool) -> Option<(&'static str, Box<str>)> {
    let applied = applied_text(pod)?;
    let name = applied.split(',').find_map(|rule| rule.strip_prefix("fabric="))?;
    let is_example = || EXAMPLES_FOR_MACHINES.iter().any(|(example, _)| *example == name);
    let is_rdma = match builtin_profiles().find(name) {
        Some(entry) => entry.profile.is_rdma(),
        None => is_example() || sets_network(),
    };
    is_rdma.then(|| ("metadata.annotations[trainmesh.dev/applied]", truncate(applied, MAX_NAME)))
}

/// Returns true if a variable of `container` selects another network than TCP, or configures one.
fn sets_network(container: Container<'_>) -> bool {
    match container.env("NCCL_NET").filter(|network| !network.is_empty()) {
        Some(network) => !network.eq_ignore_ascii_case("Socket"),
        None => container.env_names().any(|name| name != "NCCL_IB_DISABLE" && starts_with_any(name, &OF_RDMA)),
    }
}

fn starts_with_any(name: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the reason for which the webhook refused a profile, unless the pod's own label selects one without RDMA. The profile of
/// the namespace is not known here.
fn refused_profile(pod: Pod<'_>) -> Option<&'static str> {
    let refusals = Refusal::read(pod);
    let refusal = refusals.iter().find(|refusal| refusal.rule == RuleId::Fabric)?;
    own_profile_is_rdma(pod).unwrap_or(true).then(|| refusal.reason.code())
}

/// Returns the refused profile as a request, if the pod's own label selects one with RDMA. The transport of any other profile is not
/// known here.
fn refused_request(pod: Pod<'_>, reason: &'static str) -> Option<(&'static str, Box<str>)> {
    let request = || ("metadata.annotations[trainmesh.dev/refused]", format!("profile refused: {reason}").into());
    own_profile_is_rdma(pod).filter(|is_rdma| *is_rdma).map(|_| request())
}

/// Returns true if the label of the pod selects a profile with RDMA; `None` if it selects none that is built in.
fn own_profile_is_rdma(pod: Pod<'_>) -> Option<bool> {
    let entry = pod.label(keys::FABRIC).and_then(|name| builtin_profiles().find(name))?;
    Some(entry.profile.is_rdma())
}

fn disabling_variable(container: Container<'_>) -> Option<DisablingVariable> {
    let is_set = |value: &str| value.trim().parse::<i64>().is_ok_and(|value| value != 0);
    let is_socket = |value: &str| value.eq_ignore_ascii_case("Socket");
    let variable = |name: &'static str, disables: &dyn Fn(&str) -> bool| {
        let value = container.env(name).filter(|value| disables(value))?;
        let container = truncate(container.name(), MAX_NAME);
        Some(DisablingVariable { container, name, value: truncate(value, MAX_NAME) })
    };
    variable("NCCL_IB_DISABLE", &is_set).or_else(|| variable("NCCL_NET", &is_socket))
}

/// Returns the variable with which PyTorch neither aborts a collective operation at its time-out nor waits for it with one.
fn unwatched(container: Container<'_>) -> Option<&'static str> {
    let value = |name: &str| container.env(name).and_then(|value| value.trim().parse::<i64>().ok());
    let is_blocking = BLOCKING.iter().any(|name| value(name) == Some(1));
    // The newer name takes precedence.
    let handling = ERROR_HANDLING.iter().find_map(|name| Some((*name, value(name)?)));
    handling.filter(|(_, value)| *value == 0 && !is_blocking).map(|(name, _)| name)
}

/// Returns the port in `NCCL_RAS_ADDR`: `HOST:PORT`.
fn ras_port(container: Container<'_>) -> Option<u16> {
    container.env("NCCL_RAS_ADDR")?.rsplit_once(':')?.1.parse().ok()
}
