//! FP054 for calls between the pods of one job: direct calls to a port of another pod that Envoy captures, and that
//! requires mTLS.

use std::collections::BTreeSet;

use super::inbound::Inbound;
use super::services::RAY_CLUSTER;
use super::sink::FindingSink;
use super::{JobContext, LintInput};
use crate::finding::Severity;
use crate::json;
use crate::mesh_objects::{MeshView, MtlsMode};
use crate::own_keys::excerpt;
use crate::pod::{Injection, Pod};
use crate::workload;

const FIELD: &str = "/metadata/annotations";
const FIX: &str = "list the port in traffic.sidecar.istio.io/excludeInboundPorts of the called pods, which then accept plain \
                   connections to it; or call them by a Service with a cluster IP; or set the mode of the port to PERMISSIVE";
/// Role of the pod of a Ray cluster to which its Service connects.
const RAY_HEAD: &str = "head";

/// A role whose pods capture ports that require mTLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MutualRole {
    /// Name of the role.
    name: String,
    /// True if the role has one pod, which reaches its own ports without Envoy.
    is_single: bool,
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
    /// The pod after the patch.
    pub pod: Pod<'a>,
    /// Sidecar injection that Istio performs for the pod.
    pub injection: Injection,
}

impl JobContext {
    /// Adds the Services of `roles`, and their ports that require mTLS, according to `mesh`.
    #[must_use]
    pub fn with_mesh<'a>(self, roles: impl Iterator<Item = PatchedRole<'a>>, mesh: MeshView<'a>) -> Self {
        if mesh.objects.is_none() {
            return self;
        }
        let mut job = self;
        for role in roles {
            job.services.extend(mesh.services_of(role.pod).map(|service| service.name.clone()));
            job.mutual_roles.extend(MutualRole::new(role, mesh));
        }
        job
    }
}

/// Reports the addresses in `texts`, those of the pod, at which another pod of the job requires mTLS.
pub(super) fn check(input: &LintInput<'_>, texts: &[&str], findings: &mut FindingSink<'_>) {
    let roles = input.job.map_or(&[][..], |job| &job.mutual_roles);
    if roles.is_empty() {
        return;
    }
    let is_self = |role: &&MutualRole| role.is_single && input.role == Some(role.name.as_str());
    let addresses: BTreeSet<(&str, u16)> = texts.iter().copied().flat_map(addresses).collect();
    for (host, port) in addresses {
        let called = roles.iter().filter(|role| !is_self(role)).find(|role| role.has_port_at(host, port));
        if let Some(role) = called {
            let (host, name) = (excerpt(host), &role.name);
            let message = format!("{host}:{port}: {name} requires mTLS, which direct calls do not have");
            findings.push_with_fix(Severity::Warning, FIELD, message, FIX);
        }
    }
}

/// Returns the hosts in `text` that a port follows.
fn addresses(text: &str) -> impl Iterator<Item = (&str, u16)> {
    let is_part = |next: char| next.is_ascii_alphanumeric() || matches!(next, '-' | '.' | ':');
    text.split(move |next| !is_part(next)).filter_map(|word| {
        let (host, port) = word.rsplit_once(':')?;
        Some((host, port.parse().ok()?))
    })
}

/// Returns `name` without indexes at its end: `-worker` for `-worker-0-1`. `None` if it has no index.
fn without_indexes(name: &str) -> Option<&str> {
    let rest = name.trim_end_matches(|next: char| next.is_ascii_digit() || next == '-');
    let has_index = rest.len() < name.len() && name.ends_with(|next: char| next.is_ascii_digit());
    has_index.then_some(rest)
}

impl MutualRole {
    /// Returns `None` if no captured port requires mTLS.
    fn new(role: PatchedRole<'_>, mesh: MeshView<'_>) -> Option<Self> {
        let PatchedRole { name, replicas, pod, injection } = role;
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
        let of_ray = pod.label(RAY_CLUSTER).filter(|_| member.role == Some(RAY_HEAD));
        let host = pod.spec().and_then(|spec| json::field(spec, "hostname")?.as_str()).or(pod.name());
        let host = host.and_then(|host| without_indexes(host.strip_prefix(member.workload)?));
        Some(Self {
            name: name.to_owned(),
            is_single: replicas == Some(1),
            workload: member.workload.to_owned(),
            host: host.map(str::to_owned),
            services: headless.chain(of_ray.map(|cluster| format!("{cluster}-head-svc"))).collect(),
            ports,
        })
    }

    /// Returns true if a DNS name of the pods is `host`, and `port` requires mTLS.
    fn has_port_at(&self, host: &str, port: u16) -> bool {
        let label = host.split('.').next().unwrap_or(host);
        let of_pod = || label.strip_prefix(self.workload.as_str()).and_then(without_indexes);
        let is_pod = || self.host.is_some() && of_pod() == self.host.as_deref();
        self.ports.contains(&port) && (self.services.contains(label) || is_pod())
    }
}
