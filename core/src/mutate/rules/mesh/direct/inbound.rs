//! Inbound ports that Envoy captures in the mode `direct`: those that the pod declares and those of the annotation
//! `trainmesh.dev/mesh-ports`, and those of the operator's Service, without the ports on which the pods of the job
//! communicate.

use std::fmt;

use super::super::super::annotation_pointer;
use super::Refusal;
use super::annotations::{CaptureAnnotations, Selection};
use crate::keys;
use crate::mutate::Reason;
use crate::own_keys::parse_ports;
use crate::pod::{ContainerKind, Pod};
use crate::workload::{self, PodIdentity};

/// Maximum number of ports in the written annotation. Each is a rule of iptables; pods that declare more use a range
/// that an application chooses from.
const MAX_PORTS: usize = 128;
/// Maximum number of ports in a message.
const MAX_NAMED: usize = 8;

/// Inbound ports that Envoy captures.
pub(super) struct Inbound {
    ports: Vec<u16>,
    /// Declared ports that are left out, because the pods of the job communicate on them.
    left_out: Vec<u16>,
    /// True if the user's annotation lists them.
    is_kept: bool,
}

impl Inbound {
    /// Returns the value of the annotation to write.
    pub(super) fn written(&self) -> Option<String> {
        let ports: Vec<String> = self.ports.iter().map(u16::to_string).collect();
        (!self.is_kept).then(|| ports.join(","))
    }

    /// Returns true if no port is captured.
    pub(super) fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }
}

/// Returns the inbound ports to capture. The user's own list is kept.
///
/// # Errors
/// Returns a refusal if a port of the job would be captured, an annotation is invalid, or there are too many ports.
pub(super) fn captured(
    pod: Pod<'_>,
    member: PodIdentity<'_>,
    capture: &CaptureAnnotations<'_>,
) -> Result<Inbound, Refusal> {
    let member_ports = workload::member_ports(pod, member);
    let is_of_job = |port: &u16| member_ports.binary_search(port).is_ok();
    let of_job = |key: &str, port: u16| {
        let problem = format!("{} captures port {port} of the job: remove it", short(key));
        Refusal::of_annotation(Reason::MemberPortCaptured, key, problem)
    };
    match &capture.included_ports {
        Some(Selection::All) => {
            let problem =
                format!("{} captures every port: list ports, or remove it", short(keys::INCLUDE_INBOUND_PORTS));
            Err(Refusal::of_annotation(Reason::MemberPortCaptured, keys::INCLUDE_INBOUND_PORTS, problem))
        }
        Some(Selection::Only(ports)) => match ports.iter().find(|port| is_of_job(port)) {
            Some(port) => Err(of_job(keys::INCLUDE_INBOUND_PORTS, *port)),
            None => Ok(Inbound { ports: ports.clone(), left_out: Vec::new(), is_kept: true }),
        },
        None => {
            let requested = mesh_ports(pod)?;
            if let Some(port) = requested.iter().find(|port| is_of_job(port)) {
                return Err(of_job(keys::MESH_PORTS, *port));
            }
            let of_service = (member.kind.gang.service_ports)(pod).iter().copied();
            let listening = declared_ports(pod).chain(of_service);
            let (mut left_out, mut ports): (Vec<u16>, Vec<u16>) = listening.partition(is_of_job);
            ports.extend(requested);
            ports.retain(|port| !capture.excluded_ports.contains(port));
            for list in [&mut ports, &mut left_out] {
                list.sort_unstable();
                list.dedup();
            }
            if ports.len() > MAX_PORTS {
                let problem = format!("the pod declares {} ports, at most {MAX_PORTS} can be listed", ports.len());
                let (detail, warning) = (problem.clone(), problem);
                return Err(Refusal { reason: Reason::TooManyPorts, detail, warning, field: None });
            }
            Ok(Inbound { ports, left_out, is_kept: false })
        }
    }
}

/// Returns the TCP ports of the containers that run beside the proxy.
fn declared_ports(pod: Pod<'_>) -> impl Iterator<Item = u16> {
    let is_running = |kind| matches!(kind, ContainerKind::App | ContainerKind::NativeSidecar);
    let containers = pod.containers().filter(move |container| is_running(container.kind) && !container.is_proxy());
    containers.flat_map(|container| container.tcp_ports().map(|port| port.number))
}

/// Parses the annotation [`keys::MESH_PORTS`].
fn mesh_ports(pod: Pod<'_>) -> Result<Vec<u16>, Refusal> {
    parse_ports(pod.annotation(keys::MESH_PORTS).unwrap_or_default()).map_err(|item| Refusal {
        reason: Reason::MeshPortsInvalid,
        detail: format!("{item:?}: expected ports such as 8080,6006"),
        warning: format!("{} contains {item:?}: expected ports from 1 to 65535", keys::MESH_PORTS),
        field: Some(annotation_pointer(keys::MESH_PORTS)),
    })
}

fn short(key: &str) -> &str {
    key.strip_prefix(keys::TRAFFIC_PREFIX).unwrap_or(key)
}

impl fmt::Display for Inbound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ports.is_empty() {
            formatter.write_str("no inbound port is captured")?;
        } else {
            write!(formatter, "captured inbound: {}", PortList(&self.ports))?;
        }
        if self.left_out.is_empty() {
            return Ok(());
        }
        write!(formatter, "; left out, as ports of the job: {}", PortList(&self.left_out))
    }
}

/// Ports in a message.
struct PortList<'a>(&'a [u16]);

impl fmt::Display for PortList<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, port) in self.0.iter().take(MAX_NAMED).enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(formatter, "{separator}{port}")?;
        }
        let more = self.0.len().saturating_sub(MAX_NAMED);
        if more > 0 { write!(formatter, " and {more} more") } else { Ok(()) }
    }
}
