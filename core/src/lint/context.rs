//! Facts that several checks need, computed once.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::claimed_devices::{accelerators, channels, claimed_adapters, read_claims};
use super::display_name::display_name;
use super::raw::{mounts, str_at};
use super::setting::{ContainerSettings, NcclConf};
use super::{LintInput, rdma};
use crate::dra::{Count, PodClaims};
use crate::hint::is_typo;
use crate::pod::{Container, ContainerKind};
use crate::quantity::whole_units;
use crate::workload;

/// Maximum number of containers that are checked, to bound the work. No pod that starts has as many.
const MAX_CONTAINERS: usize = 256;
/// Init container that KubeRay generates with the environment of the Ray container, in which nothing uses a GPU
/// (ray-project/kuberay, `ray-operator/controllers/ray/common/pod.go`).
pub(super) const KUBERAY_INIT: &str = "wait-gcs-ready";

/// The input, with the resources and settings of its containers.
pub(super) struct CheckContext<'a> {
    pub(super) input: &'a LintInput<'a>,
    /// All containers except ephemeral ones.
    pub(super) containers: Vec<ContainerFacts<'a>>,
    /// Devices that the pod's claims provide.
    pub(super) claims: PodClaims<'a>,
    /// The configuration file that trainmesh mounts for NCCL.
    pub(super) conf: NcclConf<'a>,
    /// Volumes by name, with their indexes.
    volumes: HashMap<&'a str, (usize, &'a Value)>,
}

/// A container, with its resources and settings.
pub(super) struct ContainerFacts<'a> {
    pub(super) spec: Container<'a>,
    /// Number of whole accelerators that the container requests and claims.
    pub(super) gpus: Count,
    /// Extended resource of these accelerators.
    pub(super) accelerator: Option<&'a str>,
    /// RDMA adapters that the container requests, with their counts.
    pub(super) adapters: Vec<(&'a str, u64)>,
    /// Classes of the RDMA adapters that the container claims.
    claimed_adapters: Vec<&'a str>,
    /// Number of channels of `ComputeDomains` that the container claims.
    channels: Count,
    pub(super) settings: ContainerSettings<'a>,
}

impl<'a> CheckContext<'a> {
    pub(super) fn new(input: &'a LintInput<'a>) -> Self {
        let containers = input.pod.containers().filter(|container| {
            let is_generated = container.kind == ContainerKind::Init && container.name() == KUBERAY_INIT;
            container.kind != ContainerKind::Ephemeral && !is_generated
        });
        let conf = NcclConf::from_pod(input.pod);
        let claims = read_claims(input.pod, input.profile, input.cluster.claims);
        let containers = containers.take(MAX_CONTAINERS).map(|spec| {
            let (gpus, accelerator) = accelerators(spec, &claims, input.cluster.claims);
            ContainerFacts {
                spec,
                gpus,
                accelerator,
                adapters: adapters(spec, input),
                claimed_adapters: claimed_adapters(spec, &claims).collect(),
                channels: channels(spec, &claims),
                settings: ContainerSettings::new(&conf, spec),
            }
        });
        let containers = containers.collect();
        let mut volumes = HashMap::new();
        let listed = input.pod.spec().and_then(|spec| spec.get("volumes")).and_then(Value::as_array);
        for (index, volume) in listed.into_iter().flatten().enumerate() {
            if let Some(name) = str_at(volume, "name") {
                volumes.entry(name).or_insert((index, volume));
            }
        }
        Self { input, containers, claims, conf, volumes }
    }

    /// Returns the containers with GPUs that take part in the training. Init containers with GPUs only prepare the
    /// training, and do not communicate with other pods.
    pub(super) fn gpu_containers(&self) -> impl Iterator<Item = &ContainerFacts<'a>> {
        let has_gpu = |container: &&ContainerFacts<'_>| container.gpus.is_positive();
        self.containers.iter().filter(has_gpu).filter(|container| container.spec.kind != ContainerKind::Init)
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

    /// Returns true if the job, as far as it is known, has several pods of this role.
    pub(super) fn has_several_pods(&self) -> bool {
        let by_labels = |member| workload::has_peers(self.input.pod, member);
        self.input.replicas.is_some_and(|replicas| replicas > 1) || self.input.member.is_some_and(by_labels)
    }

    /// Returns true if `container` only starts ranks in other pods.
    pub(super) fn is_launcher(&self, container: &ContainerFacts<'_>) -> bool {
        let is_auxiliary = || self.input.member.is_some_and(workload::is_auxiliary_role);
        !container.gpus.is_positive() && (container.settings.runs_mpirun || is_auxiliary())
    }

    /// Returns the adapters that the settings of `container` apply to: its own, and those of the job that it launches.
    pub(super) fn target_adapters<'b>(&'b self, container: &'b ContainerFacts<'a>) -> impl Iterator<Item = &'b str> {
        let launched = self.input.job.filter(|_| self.is_launcher(container));
        let of_job = launched.into_iter().flat_map(|job| &job.facts.adapters).map(String::as_str);
        container.adapter_names().chain(of_job)
    }

    /// Returns true if `adapter`, an extended resource or a class, is an EFA device.
    pub(super) fn is_efa(&self, adapter: &str) -> bool {
        rdma::is_efa(adapter, self.input.cluster.claims)
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
        display_name(self.spec)
    }

    /// Returns the JSON pointer of `path` below the container.
    pub(super) fn pointer(&self, path: &str) -> String {
        format!("{}{path}", self.spec.pointer())
    }

    /// Returns the JSON pointer of the field that requests the accelerators: a limit, or the claims.
    pub(super) fn accelerators_pointer(&self) -> String {
        match self.accelerator {
            Some(accelerator) => self.resource_pointer(accelerator),
            None if self.resources("limits").is_some() => self.pointer("/resources/limits"),
            None => self.pointer("/resources/claims"),
        }
    }

    /// Returns the JSON pointer of the field that requests `resource`: a limit, a request, or else the claims.
    pub(super) fn resource_pointer(&self, resource: &str) -> String {
        self.request_pointer(resource).unwrap_or_else(|| self.pointer("/resources/claims"))
    }

    /// Returns the JSON pointer of the limit or the request for `resource`; `None` if the container names it in neither.
    pub(super) fn request_pointer(&self, resource: &str) -> Option<String> {
        let is_in = |kind: &&str| self.resources(kind).is_some_and(|list| list.contains_key(resource));
        let kind = ["limits", "requests"].into_iter().find(is_in)?;
        Some(self.pointer(&format!("/resources/{kind}/{}", resource.replace('/', "~1"))))
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
        security_context(self.spec, key)
    }

    pub(super) fn is_privileged(&self) -> bool {
        is_privileged(self.spec)
    }

    /// Returns true if the capability `IPC_LOCK` is added to the container.
    pub(super) fn has_ipc_lock(&self) -> bool {
        has_ipc_lock(self.spec)
    }

    /// Returns true if the container certainly has a channel of a `ComputeDomain`.
    pub(super) fn has_channel(&self) -> bool {
        self.channels.is_positive()
    }

    /// Returns true if the container has a channel of a `ComputeDomain`, or may have one by an unknown claim.
    pub(super) fn may_have_channel(&self) -> bool {
        !self.channels.is_zero()
    }

    /// Returns the names of the RDMA adapters: extended resources, and classes of claims.
    pub(super) fn adapter_names(&self) -> impl Iterator<Item = &'a str> {
        self.adapters.iter().map(|(name, _)| *name).chain(self.claimed_adapters.iter().copied())
    }
}

/// Returns true if `container` is privileged.
pub(super) fn is_privileged(container: Container<'_>) -> bool {
    security_context(container, "privileged").and_then(Value::as_bool) == Some(true)
}

/// Name of the capability to lock memory.
const IPC_LOCK: &str = "IPC_LOCK";

/// Returns true if the capability `IPC_LOCK` is added to `container`.
pub(super) fn has_ipc_lock(container: Container<'_>) -> bool {
    added_capabilities(container).any(|capability| capability == IPC_LOCK || capability == "ALL")
}

/// Returns the capability that is added to `container` and that `IPC_LOCK` is probably meant by.
pub(super) fn misspelled_ipc_lock(container: Container<'_>) -> Option<&str> {
    added_capabilities(container).find(|capability| {
        let capability = capability.to_uppercase();
        is_typo(capability.strip_prefix("CAP_").unwrap_or(&capability), IPC_LOCK) || capability.ends_with(IPC_LOCK)
    })
}

fn added_capabilities(container: Container<'_>) -> impl Iterator<Item = &str> {
    let added = security_context(container, "capabilities").and_then(|capabilities| capabilities.get("add"));
    added.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn security_context<'a>(container: Container<'a>, key: &str) -> Option<&'a Value> {
    container.raw().get("securityContext")?.get(key)
}

fn adapters<'a>(container: Container<'a>, input: &LintInput<'a>) -> Vec<(&'a str, u64)> {
    let mut adapters: Vec<(&str, u64)> = Vec::new();
    for (name, quantity) in rdma::resources(container) {
        let count = whole_units(quantity).filter(|count| *count > 0);
        if let Some(count) = count
            && rdma::is_adapter(name, input.profile, input.cluster.claims)
            && !adapters.iter().any(|(known, _)| known == name)
        {
            adapters.push((name, count));
        }
    }
    adapters
}
