//! The use of accelerators by watched pods: what the controller counts of an inventory.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

use super::super::PodWorkload;
use super::super::snapshot::gang_key::GangKey;
use super::class::{Sign, WorkloadClass};
use crate::keys;
use crate::lifecycle::{PodFacts, PodPhase};
use crate::pod::{Container, ContainerKind, Pod};
use crate::workload::identify;

/// Maximum number of containers in one list of a pod: that of the controller.
const MAX_CONTAINERS: usize = 64;

/// Accelerators that a pod requests, and the class of its workload as far as the pod shows it. Small, because the controller
/// keeps it of each watched pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceleratorUse {
    /// Probable class of the workload.
    pub class: WorkloadClass,
    /// True if the webhook has labeled the pod.
    pub is_managed: bool,
    /// Number of accelerators.
    pub accelerators: u32,
    /// Hash of namespace, kind and name of the workload.
    workload: u64,
}

/// Workloads and accelerators by class.
#[derive(Clone, Debug, Default)]
pub struct InventoryCounts {
    by_class: BTreeMap<WorkloadClass, ClassCounts>,
}

#[derive(Clone, Debug, Default)]
struct ClassCounts {
    workloads: BTreeSet<u64>,
    accelerators: u64,
}

impl AcceleratorUse {
    /// Reads the use of a pod; `None` if it requests no accelerators as resources, or has finished.
    #[must_use]
    pub fn read(pod: Pod<'_>, facts: &PodFacts) -> Option<Self> {
        if matches!(facts.phase, PodPhase::Succeeded | PodPhase::Failed) {
            return None;
        }
        let in_list = |kind: ContainerKind| {
            let is_in_list = move |container: &Container<'_>| container.kind.spec_list() == kind.spec_list();
            pod.containers().filter(is_in_list).take(MAX_CONTAINERS)
        };
        let containers = in_list(ContainerKind::Init).chain(in_list(ContainerKind::App));
        let counts = containers.filter_map(|container| Some(container.accelerators()?.count));
        let accelerators = counts.fold(0, u64::saturating_add);
        // Most watched pods need no class.
        if accelerators == 0 {
            return None;
        }
        let accelerators = u32::try_from(accelerators).unwrap_or(u32::MAX);
        let workload = PodWorkload::of(pod);
        let is_training = identify(pod).is_some_and(|identity| identity.training);
        let policy = pod.spec().and_then(|spec| spec.get("restartPolicy")).and_then(Value::as_str);
        let signs = [
            Sign::of_kind(workload.kind(), is_training),
            pod.label(keys::NOTEBOOK).is_some().then_some(Sign::Notebook),
            GangKey::read(pod).is_some().then_some(Sign::Gang),
            Some(Sign::of_policy(policy.is_none_or(|policy| policy == "Always"))),
        ];
        let signs: Vec<Sign> = signs.into_iter().flatten().collect();
        let mut hasher = DefaultHasher::new();
        (&facts.namespace, &workload).hash(&mut hasher);
        Some(Self {
            class: WorkloadClass::of(&signs),
            is_managed: pod.label(keys::MANAGED) == Some("true"),
            accelerators,
            workload: hasher.finish(),
        })
    }
}

impl InventoryCounts {
    /// Adds a pod.
    pub fn add(&mut self, pod: AcceleratorUse) {
        let counts = self.by_class.entry(pod.class).or_default();
        counts.workloads.insert(pod.workload);
        counts.accelerators = counts.accelerators.saturating_add(pod.accelerators.into());
    }

    /// Adds the pods of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (class, other) in &other.by_class {
            let counts = self.by_class.entry(*class).or_default();
            counts.workloads.extend(&other.workloads);
            counts.accelerators = counts.accelerators.saturating_add(other.accelerators);
        }
    }

    /// Returns the number of workloads and of accelerators of `class`.
    #[must_use]
    pub fn of(&self, class: WorkloadClass) -> (usize, u64) {
        self.by_class.get(&class).map_or((0, 0), |counts| (counts.workloads.len(), counts.accelerators))
    }
}
