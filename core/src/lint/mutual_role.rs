//! The ports of a role that require mTLS, and the DNS names of its pods.

use std::collections::BTreeSet;

use super::inbound::Inbound;
use crate::json;
use crate::keys;
use crate::mesh_objects::{MeshView, MtlsMode};
use crate::pod::{Injection, Pod};
use crate::workload;

/// Role of the pod of a Ray cluster to which its Service connects.
const RAY_HEAD: &str = "head";

/// A role whose pods capture ports that require mTLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MutualRole {
    /// Name of the role.
    pub(super) name: String,
    /// True if the role has one pod, which reaches its own ports without Envoy.
    pub(super) is_single: bool,
    namespace: String,
    /// Name of the workload, with which the host names of its pods start.
    workload: String,
    /// Rest of the host names of the pods, without their indexes.
    host: Option<String>,
    /// Names of headless Services of the pods.
    services: BTreeSet<String>,
    ports: Vec<u16>,
}

/// A role with its pod after the patch.
#[derive(Clone, Copy, Debug)]
pub struct PatchedRole<'a> {
    /// Name of the role.
    pub name: &'a str,
    /// Number of pods; `None` if unknown.
    pub replicas: Option<u64>,
    /// The pod before the patch.
    pub original: Pod<'a>,
    /// The pod after the patch.
    pub pod: Pod<'a>,
    /// Sidecar injection that Istio performs for the pod.
    pub injection: Injection,
}

impl MutualRole {
    /// Returns `None` if no captured port requires mTLS.
    pub(super) fn new(role: PatchedRole<'_>, mesh: MeshView<'_>) -> Option<Self> {
        let PatchedRole { name, replicas, pod, injection, original: _ } = role;
        let member = workload::identify(pod)?;
        let Some(Inbound::Only(ports)) = Inbound::of(pod, injection) else { return None };
        let objects = mesh.objects?;
        let is_strict = |port: &u16| {
            objects.mode(mesh.namespace, Some(*port), |key, value| pod.label(key) == Some(value)) == MtlsMode::Strict
        };
        let ports: Vec<u16> = ports.into_iter().filter(is_strict).collect();
        if ports.is_empty() {
            return None;
        }
        let headless = mesh.services_of(pod).filter(|service| service.is_headless);
        let headless = headless.map(|service| service.name.clone());
        let of_ray = pod.label(keys::RAY_CLUSTER).filter(|_| member.role == Some(RAY_HEAD));
        let host = pod.spec().and_then(|spec| json::field(spec, "hostname")?.as_str()).or(pod.name());
        let host = host.and_then(|host| without_indexes(host.strip_prefix(member.workload)?));
        Some(Self {
            name: name.to_owned(),
            is_single: replicas == Some(1),
            namespace: mesh.namespace.to_owned(),
            workload: member.workload.to_owned(),
            host: host.map(str::to_owned),
            services: headless.chain(of_ray.map(|cluster| format!("{cluster}-head-svc"))).collect(),
            ports,
        })
    }

    /// Returns true if a DNS name of the pods is `host`, and `port` requires mTLS.
    pub(super) fn has_port_at(&self, host: &str, port: u16) -> bool {
        let mut labels = host.split('.');
        let label = labels.next().unwrap_or(host);
        let of_pod = || label.strip_prefix(self.workload.as_str()).and_then(without_indexes);
        let is_pod = || self.host.is_some() && of_pod() == self.host.as_deref();
        // The namespace follows the name of a Service, which follows the host name of a pod.
        let mut is_local = |labels_before: usize| labels.nth(labels_before).is_none_or(|label| label == self.namespace);
        self.ports.contains(&port) && (self.services.contains(label) && is_local(0) || is_pod() && is_local(1))
    }
}

/// Returns `name` without indexes at its end: `-worker` for `-worker-0-1`. `None` if it has no index.
fn without_indexes(name: &str) -> Option<&str> {
    let rest = name.trim_end_matches(|next: char| next.is_ascii_digit() || next == '-');
    let has_index = rest.len() < name.len() && name.ends_with(|next: char| next.is_ascii_digit());
    has_index.then_some(rest)
}
