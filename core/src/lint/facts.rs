//! What every check would otherwise work out again.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::raw::{mounts, text};
use super::setting::{File, Settings};
use super::{Subject, rdma};
use crate::pod::{Container, ContainerKind};
use crate::quantity::whole_units;

/// The most containers that are looked at: no pod that runs has as many, and the checks' work grows with their number.
const CONTAINERS: usize = 256;

/// The subject, and what its containers ask for and set.
pub(super) struct Facts<'a> {
    pub(super) subject: &'a Subject<'a>,
    /// All containers but ephemeral ones.
    pub(super) containers: Vec<Seen<'a>>,
    /// Volumes by name, with their index.
    volumes: HashMap<&'a str, (usize, &'a Value)>,
}

/// A container, and what it asks for and sets.
pub(super) struct Seen<'a> {
    pub(super) container: Container<'a>,
    /// How many whole accelerators it asks for.
    pub(super) gpus: u64,
    /// The RDMA adapters that it asks for.
    pub(super) adapters: Vec<(&'a str, u64)>,
    pub(super) settings: Settings<'a>,
}

impl<'a> Facts<'a> {
    pub(super) fn new(subject: &'a Subject<'a>) -> Self {
        let containers = subject.pod.containers().filter(|container| container.kind != ContainerKind::Ephemeral);
        let file = File::read(subject.pod);
        let containers = containers
            .take(CONTAINERS)
            .map(|container| Seen {
                container,
                gpus: container.accelerators().map_or(0, |accelerators| accelerators.count),
                adapters: adapters(container, subject),
                settings: Settings::new(&file, container),
            })
            .collect();
        let mut volumes = HashMap::new();
        let listed = subject.pod.spec().and_then(|spec| spec.get("volumes")).and_then(Value::as_array);
        for (index, volume) in listed.into_iter().flatten().enumerate() {
            if let Some(name) = text(volume, "name") {
                volumes.entry(name).or_insert((index, volume));
            }
        }
        Self { subject, containers, volumes }
    }

    /// The containers that compute: an init container with GPUs prepares, and talks to no other pod.
    pub(super) fn computing(&self) -> impl Iterator<Item = &Seen<'a>> {
        self.containers.iter().filter(|seen| seen.gpus > 0 && seen.container.kind != ContainerKind::Init)
    }

    /// The adapters that the pod's containers ask for, each resource once, with their sum.
    pub(super) fn adapters(&self) -> Vec<(&'a str, u64)> {
        let mut sums: Vec<(&str, u64)> = Vec::new();
        let mut places = HashMap::new();
        for (name, count) in self.containers.iter().flat_map(|seen| &seen.adapters) {
            let place = *places.entry(*name).or_insert(sums.len());
            match sums.get_mut(place) {
                Some((_, sum)) => *sum = sum.saturating_add(*count),
                None => sums.push((name, *count)),
            }
        }
        sums
    }

    /// The value at `key` of the pod's spec.
    pub(super) fn spec(&self, key: &str) -> Option<&'a Value> {
        self.subject.pod.spec()?.get(key)
    }

    /// The items of the list `key` of the pod's spec.
    pub(super) fn list(&self, key: &str) -> impl Iterator<Item = &'a Value> {
        self.spec(key).and_then(Value::as_array).into_iter().flatten()
    }

    /// The volume that is called `name`.
    pub(super) fn volume(&self, name: &str) -> Option<(usize, &'a Value)> {
        self.volumes.get(name).copied()
    }
}

impl<'a> Seen<'a> {
    /// `container train`, as messages name it.
    pub(super) fn named(&self) -> String {
        let list = if self.container.kind == ContainerKind::App { "container" } else { "init container" };
        format!("{list} {}", self.container.name())
    }

    /// JSON pointer of a place below the container.
    pub(super) fn at(&self, place: &str) -> String {
        format!("{}{place}", self.container.pointer())
    }

    /// `limits` or `requests`.
    pub(super) fn resources(&self, side: &str) -> Option<&'a Map<String, Value>> {
        self.container.raw().get("resources")?.get(side)?.as_object()
    }

    /// What the container mounts, with its index.
    pub(super) fn mounts(&self) -> impl Iterator<Item = (usize, &'a Value)> {
        mounts(self.container)
    }

    /// A field of the container's own security context.
    pub(super) fn security(&self, key: &str) -> Option<&'a Value> {
        self.container.raw().get("securityContext")?.get(key)
    }

    /// Whether the container is privileged.
    pub(super) fn privileged(&self) -> bool {
        self.security("privileged").and_then(Value::as_bool) == Some(true)
    }

    /// Whether the container is given capability `IPC_LOCK`.
    pub(super) fn locks_memory(&self) -> bool {
        let added = self.security("capabilities").and_then(|capabilities| capabilities.get("add"));
        let mut added = added.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        added.any(|capability| capability == "IPC_LOCK" || capability == "ALL")
    }

    /// Whether the container takes part in a claim, whose devices are not known here.
    pub(super) fn claims(&self) -> bool {
        let claims = self.container.raw().get("resources").and_then(|resources| resources.get("claims"));
        claims.and_then(Value::as_array).is_some_and(|claims| !claims.is_empty())
    }
}

/// Whether `container` asks for what is an RDMA adapter by its name.
pub(super) fn asks_for_adapter(container: Container<'_>) -> bool {
    resources(container).any(|(name, _)| rdma::is_adapter(name, None))
}

/// The limits and requests of `container`.
fn resources(container: Container<'_>) -> impl Iterator<Item = (&String, &Value)> {
    let side = move |side: &str| container.raw().get("resources")?.get(side)?.as_object();
    ["limits", "requests"].into_iter().filter_map(side).flatten()
}

fn adapters<'a>(container: Container<'a>, subject: &Subject<'a>) -> Vec<(&'a str, u64)> {
    let mut found: Vec<(&str, u64)> = Vec::new();
    for (name, quantity) in resources(container) {
        let count = whole_units(quantity).filter(|count| *count > 0);
        if let Some(count) = count
            && rdma::is_adapter(name, subject.profile)
            && !found.iter().any(|(known, _)| known == name)
        {
            found.push((name, count));
        }
    }
    found
}
