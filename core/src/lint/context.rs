//! Facts that several checks need, computed once.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::raw::{mounts, text};
use super::setting::{NcclConf, Settings};
use super::{LintInput, rdma};
use crate::pod::{Container, ContainerKind};
use crate::quantity::whole_units;

/// Maximum number of containers that are checked, to bound the work. No pod that starts has as many.
const MAX_CONTAINERS: usize = 256;

/// The input, with the resources and settings of its containers.
pub(super) struct CheckContext<'a> {
    pub(super) input: &'a LintInput<'a>,
    /// All containers except ephemeral ones.
    pub(super) containers: Vec<ContainerFacts<'a>>,
    /// Volumes by name, with their indexes.
    volumes: HashMap<&'a str, (usize, &'a Value)>,
}

/// A container, with its resources and settings.
pub(super) struct ContainerFacts<'a> {
    pub(super) spec: Container<'a>,
    /// Number of whole accelerators that the container requests.
    pub(super) gpus: u64,
    /// RDMA adapters that the container requests, with their counts.
    pub(super) adapters: Vec<(&'a str, u64)>,
    pub(super) settings: Settings<'a>,
}

impl<'a> CheckContext<'a> {
    pub(super) fn new(input: &'a LintInput<'a>) -> Self {
        let containers = input.pod.containers().filter(|container| container.kind != ContainerKind::Ephemeral);
        let conf = NcclConf::from_pod(input.pod);
        let containers = containers
            .take(MAX_CONTAINERS)
            .map(|spec| ContainerFacts {
                spec,
                gpus: spec.accelerators().map_or(0, |accelerators| accelerators.count),
                adapters: adapters(spec, input),
                settings: Settings::new(&conf, spec),
            })
            .collect();
        let mut volumes = HashMap::new();
        let listed = input.pod.spec().and_then(|spec| spec.get("volumes")).and_then(Value::as_array);
        for (index, volume) in listed.into_iter().flatten().enumerate() {
            if let Some(name) = text(volume, "name") {
                volumes.entry(name).or_insert((index, volume));
            }
        }
        Self { input, containers, volumes }
    }

    /// Returns the containers with GPUs that take part in the training. Init containers with GPUs only prepare it, and
    /// do not communicate with other pods.
    pub(super) fn gpu_containers(&self) -> impl Iterator<Item = &ContainerFacts<'a>> {
        self.containers.iter().filter(|container| container.gpus > 0 && container.spec.kind != ContainerKind::Init)
    }

    /// Returns the adapters that all containers together request, one entry per resource.
    pub(super) fn adapters(&self) -> Vec<(&'a str, u64)> {
        let mut sums: Vec<(&str, u64)> = Vec::new();
        let mut indexes = HashMap::new();
        for (name, count) in self.containers.iter().flat_map(|container| &container.adapters) {
            let index = *indexes.entry(*name).or_insert(sums.len());
            match sums.get_mut(index) {
                Some((_, sum)) => *sum = sum.saturating_add(*count),
                None => sums.push((name, *count)),
            }
        }
        sums
    }

    /// Returns the field `key` of the pod's spec.
    pub(super) fn spec(&self, key: &str) -> Option<&'a Value> {
        self.input.pod.spec()?.get(key)
    }

    /// Returns the items of the list `key` of the pod's spec.
    pub(super) fn list(&self, key: &str) -> impl Iterator<Item = &'a Value> {
        self.spec(key).and_then(Value::as_array).into_iter().flatten()
    }

    /// Returns the volume `name` with its index.
    pub(super) fn volume(&self, name: &str) -> Option<(usize, &'a Value)> {
        self.volumes.get(name).copied()
    }
}

impl<'a> ContainerFacts<'a> {
    /// Returns the container's name for messages, such as `container train`.
    pub(super) fn display_name(&self) -> String {
        let list = if self.spec.kind == ContainerKind::App { "container" } else { "init container" };
        format!("{list} {}", self.spec.name())
    }

    /// Returns the JSON pointer of `path` below the container.
    pub(super) fn pointer(&self, path: &str) -> String {
        format!("{}{path}", self.spec.pointer())
    }

    /// Returns the resource list `kind`: `limits` or `requests`.
    pub(super) fn resources(&self, kind: &str) -> Option<&'a Map<String, Value>> {
        self.spec.raw().get("resources")?.get(kind)?.as_object()
    }

    /// Returns the volume mounts with their indexes.
    pub(super) fn mounts(&self) -> impl Iterator<Item = (usize, &'a Value)> {
        mounts(self.spec)
    }

    /// Returns the field `key` of the container's own security context.
    pub(super) fn security_context(&self, key: &str) -> Option<&'a Value> {
        self.spec.raw().get("securityContext")?.get(key)
    }

    pub(super) fn is_privileged(&self) -> bool {
        self.security_context("privileged").and_then(Value::as_bool) == Some(true)
    }

    /// Returns true if the capability `IPC_LOCK` is added to the container.
    pub(super) fn has_ipc_lock(&self) -> bool {
        let added = self.security_context("capabilities").and_then(|capabilities| capabilities.get("add"));
        let mut added = added.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        added.any(|capability| capability == "IPC_LOCK" || capability == "ALL")
    }

    /// Returns true if the container uses a resource claim. The pod does not show the devices of a claim.
    pub(super) fn has_claims(&self) -> bool {
        let claims = self.spec.raw().get("resources").and_then(|resources| resources.get("claims"));
        claims.and_then(Value::as_array).is_some_and(|claims| !claims.is_empty())
    }
}

/// Returns true if `container` requests a resource that is an RDMA adapter by its name.
pub(super) fn requests_adapter(container: Container<'_>) -> bool {
    resources(container).any(|(name, _)| rdma::is_adapter(name, None))
}

/// Returns the limits and requests of `container`.
fn resources(container: Container<'_>) -> impl Iterator<Item = (&String, &Value)> {
    let list = move |kind: &str| container.raw().get("resources")?.get(kind)?.as_object();
    ["limits", "requests"].into_iter().filter_map(list).flatten()
}

fn adapters<'a>(container: Container<'a>, input: &LintInput<'a>) -> Vec<(&'a str, u64)> {
    let mut adapters: Vec<(&str, u64)> = Vec::new();
    for (name, quantity) in resources(container) {
        let count = whole_units(quantity).filter(|count| *count > 0);
        if let Some(count) = count
            && rdma::is_adapter(name, input.profile)
            && !adapters.iter().any(|(known, _)| known == name)
        {
            adapters.push((name, count));
        }
    }
    adapters
}
