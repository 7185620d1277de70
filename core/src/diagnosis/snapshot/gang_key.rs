//! The key by which a pod joins a `PodGroup`, the `PodGroups`, and gangs without one.

use jiff::Timestamp;
use serde_json::Value;

use super::condition::{ConditionRecord, conditions, conditions_at};
use super::read::{MAX_NAME, name, time, truncate};
use super::reference::{Reference, owners};
use crate::gang::{GangMode, applied_gang, key};
use crate::pod::Pod;

/// API group of a scheduler's `PodGroups`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::diagnosis) enum GangApi {
    /// `scheduling.volcano.sh`
    Volcano,
    /// `scheduling.x-k8s.io` of scheduler-plugins
    Coscheduling,
    /// `scheduling.run.ai` of KAI
    Kai,
    /// `scheduling.sigs.k8s.io` of Koordinator
    Koordinator,
    /// `scheduling.k8s.io` of Kubernetes
    Native,
}

/// The `PodGroup` that a pod names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::diagnosis) struct GangKey {
    pub(in crate::diagnosis) api: GangApi,
    pub(in crate::diagnosis) name: Box<str>,
    /// Field of the pod that contains the name.
    pub(in crate::diagnosis) field: &'static str,
    /// True if the webhook added it.
    pub(in crate::diagnosis) is_added: bool,
}

/// The gang of Koordinator that the webhook has declared in a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::diagnosis) struct DeclaredGang {
    pub(in crate::diagnosis) name: Box<str>,
    /// Number of pods that are scheduled together.
    pub(in crate::diagnosis) minimum: u64,
}

/// A `PodGroup`.
#[derive(Clone, Debug)]
pub(in crate::diagnosis) struct PodGroupRecord {
    pub(in crate::diagnosis) api: GangApi,
    pub(in crate::diagnosis) api_version: Box<str>,
    pub(in crate::diagnosis) namespace: Box<str>,
    pub(in crate::diagnosis) name: Box<str>,
    pub(in crate::diagnosis) uid: Box<str>,
    pub(in crate::diagnosis) created: Option<Timestamp>,
    /// Number of pods that are scheduled together.
    pub(in crate::diagnosis) min_member: Option<u64>,
    pub(in crate::diagnosis) owners: Vec<Reference>,
    pub(in crate::diagnosis) phase: Option<Box<str>>,
    pub(in crate::diagnosis) conditions: Vec<ConditionRecord>,
    /// Conditions that KAI writes about each pool of nodes.
    pub(in crate::diagnosis) scheduling_conditions: Vec<ConditionRecord>,
    /// Since when KAI considers the gang incomplete.
    pub(in crate::diagnosis) stale_since: Option<Box<str>>,
}

impl GangApi {
    const ALL: [Self; 5] = [Self::Volcano, Self::Coscheduling, Self::Kai, Self::Koordinator, Self::Native];

    /// Returns the API group.
    pub(in crate::diagnosis) fn group(self) -> &'static str {
        match self {
            Self::Volcano => "scheduling.volcano.sh",
            Self::Coscheduling => "scheduling.x-k8s.io",
            Self::Kai => "scheduling.run.ai",
            Self::Koordinator => "scheduling.sigs.k8s.io",
            Self::Native => "scheduling.k8s.io",
        }
    }

    /// Returns the field with the number of pods that are scheduled together.
    pub(in crate::diagnosis) fn minimum_field(self) -> &'static str {
        if self == Self::Native { "spec.schedulingPolicy.gang.minCount" } else { "spec.minMember" }
    }

    /// Returns the API of an API group.
    pub(super) fn of_group(group: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.group() == group)
    }
}

impl GangKey {
    /// Reads the key of a pod. The annotation of KAI is also that of others, so it counts only for its scheduler.
    pub(in crate::diagnosis) fn read(pod: Pod<'_>) -> Option<Self> {
        let scheduler = pod.spec().and_then(|spec| spec.get("schedulerName")).and_then(Value::as_str);
        let native = pod.raw().pointer("/spec/schedulingGroup/podGroupName").and_then(Value::as_str);
        let found = [
            (GangApi::Native, native, "spec.schedulingGroup.podGroupName"),
            (
                GangApi::Volcano,
                pod.annotation(key::VOLCANO_GROUP),
                "metadata.annotations[scheduling.k8s.io/group-name]",
            ),
            (
                GangApi::Coscheduling,
                pod.label(key::COSCHEDULING_GROUP),
                "metadata.labels[scheduling.x-k8s.io/pod-group]",
            ),
            (
                GangApi::Kai,
                pod.annotation(key::KAI_GROUP).filter(|_| scheduler == Some("kai-scheduler")),
                "metadata.annotations[pod-group-name]",
            ),
            (
                GangApi::Koordinator,
                pod.label(key::KOORDINATOR_GROUP),
                "metadata.labels[pod-group.scheduling.sigs.k8s.io]",
            ),
        ];
        let is_added = applied_gang(pod).is_some();
        found.into_iter().find_map(|(api, name, field)| {
            let name = name.filter(|name| !name.is_empty())?;
            Some(Self { api, name: truncate(name, MAX_NAME), field, is_added })
        })
    }
}

impl DeclaredGang {
    /// Reads the annotations of a pod. The gangs of users may have pods of several workloads.
    pub(in crate::diagnosis) fn read(pod: Pod<'_>) -> Option<Self> {
        applied_gang(pod).filter(|mode| *mode == GangMode::Koordinator.name())?;
        let name = pod.annotation(key::KOORDINATOR_NAME).filter(|name| !name.is_empty())?;
        let minimum = pod.annotation(key::KOORDINATOR_MIN)?.parse().ok()?;
        Some(Self { name: truncate(name, MAX_NAME), minimum })
    }
}

impl PodGroupRecord {
    /// Reads a `PodGroup` of `api`.
    pub(super) fn read(raw: &Value, namespace: &str, api: GangApi) -> Self {
        let count = |pointer: &str| raw.pointer(pointer).and_then(Value::as_u64);
        Self {
            api,
            api_version: name(raw, "/apiVersion").unwrap_or_default(),
            namespace: name(raw, "/metadata/namespace").unwrap_or_else(|| namespace.into()),
            name: name(raw, "/metadata/name").unwrap_or_default(),
            uid: name(raw, "/metadata/uid").unwrap_or_default(),
            created: time(raw, "/metadata/creationTimestamp"),
            min_member: count("/spec/minMember").or_else(|| count("/spec/schedulingPolicy/gang/minCount")),
            owners: owners(raw),
            phase: name(raw, "/status/phase"),
            conditions: conditions(raw),
            scheduling_conditions: conditions_at(raw, "/status/schedulingConditions"),
            stale_since: raw
                .pointer("/metadata/annotations/kai.scheduler~1stale-podgroup-timestamp")
                .and_then(super::read::as_name),
        }
    }

    /// Returns kind, namespace and name.
    pub(in crate::diagnosis) fn title(&self) -> String {
        format!("PodGroup {}/{}", self.namespace, self.name)
    }
}
