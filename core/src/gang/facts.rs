//! Facts about gang schedulers and their objects, which the rule `gang` reads.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{GangMode, GangWorkload, ModePin, UnknownGang, kueue_integration};

/// Kind that has an integration, but whose pods Kueue manages as a group of pods (kubernetes-sigs/kueue 0.19,
/// `pkg/controller/jobs/leaderworkerset`).
const POD_GROUP_KIND: &str = "LeaderWorkerSet";

/// Known facts about gang schedulers. An empty value is that of a cluster without any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GangFacts {
    /// Served `apiVersion` of the group objects, for each mode with objects that the cluster serves.
    pub apis: BTreeMap<GangMode, String>,
    /// Modes whose scheduler has shown that it runs.
    pub alive: BTreeSet<GangMode>,
    /// Names of existing group objects that are not being deleted, by namespace.
    pub groups: HashMap<String, BTreeSet<(GangMode, String)>>,
    /// True if the controller creates group objects: its Lease is fresh, and its version and configuration do so.
    pub controller_alive: bool,
    /// Modes whose group objects the apiserver denies in a namespace.
    pub denied: BTreeSet<(GangMode, String)>,
}

/// Facts that apply to one pod.
#[derive(Clone, Copy, Debug, Default)]
pub struct GangView<'a> {
    /// Facts about the cluster; `None` if unknown, as in an offline preview.
    pub facts: Option<&'a GangFacts>,
    /// Namespace of the pod.
    pub namespace: &'a str,
    /// Workload of the pod.
    pub workload: WorkloadLookup<'a>,
    /// Object that creates the workload, if its manifest is known.
    pub creator: Option<Creator<'a>>,
    /// Modes of the active pods of the workload; `None` if none is known.
    pub pin: Option<ModePin<'a>>,
    /// True if the installation has no controller, as far as its values are known.
    pub lacks_controller: bool,
}

/// Object that creates a workload, such as the `RayJob` of a `RayCluster`, or the workload itself.
#[derive(Clone, Copy, Debug)]
pub struct Creator<'a> {
    /// API group of the object.
    pub group: &'a str,
    /// Kind of the object.
    pub kind: &'a str,
    /// Queue of Kueue that its label names.
    pub queue: Option<&'a str>,
    /// True if its namespace has a `LocalQueue` for jobs that name none.
    pub has_default_queue: bool,
}

/// Result of reading the workload of a pod.
#[derive(Clone, Copy, Debug, Default)]
pub enum WorkloadLookup<'a> {
    /// It was not read, because no rule needs it.
    #[default]
    NotRead,
    /// It could not be read; contains the reason.
    Failed(&'a UnknownGang),
    /// It was read.
    Read(&'a GangWorkload),
}

impl<'a> Creator<'a> {
    /// Returns the queue whose `ResourceFlavor` adds its node labels to the pod templates before the pods exist. Pods that Kueue
    /// manages as pods get them after their creation.
    #[must_use]
    pub fn queue_of_templates(self) -> Option<&'a str> {
        // The Jobs of a CronJob are in the queue.
        let kind = if self.kind == "CronJob" { "Job" } else { self.kind };
        let reads_templates = kind != POD_GROUP_KIND && kueue_integration(self.group, kind).is_some();
        self.queue.filter(|_| reads_templates)
    }
}

impl GangFacts {
    /// Returns the facts that apply to a pod in `namespace`.
    #[must_use]
    pub fn view<'a>(&'a self, namespace: &'a str, workload: WorkloadLookup<'a>) -> GangView<'a> {
        GangView { facts: Some(self), namespace, workload, creator: None, pin: None, lacks_controller: false }
    }
}

impl GangView<'_> {
    /// Returns true if the cluster serves the group objects of `mode`, or if that is unknown.
    #[must_use]
    pub fn serves(self, mode: GangMode) -> bool {
        self.facts.is_none_or(|facts| facts.apis.contains_key(&mode))
    }

    /// Returns true if the group object `name` of `mode` exists, or if the controller runs to create it, or if that is
    /// unknown.
    #[must_use]
    pub fn has_or_gets_group(self, mode: GangMode, name: &str) -> bool {
        let exists = |facts: &GangFacts| {
            let groups = facts.groups.get(self.namespace);
            groups.is_some_and(|groups| groups.contains(&(mode, name.to_owned())))
        };
        !self.lacks_controller && self.facts.is_none_or(|facts| facts.controller_alive || exists(facts))
    }

    /// Returns true if the apiserver denies the group objects of `mode` in the namespace; false if unknown.
    #[must_use]
    pub fn is_denied(self, mode: GangMode) -> bool {
        self.facts.is_some_and(|facts| facts.denied.contains(&(mode, self.namespace.to_owned())))
    }

    /// Returns the modes whose scheduler runs; none if unknown.
    pub fn alive(self) -> impl Iterator<Item = GangMode> {
        self.facts.into_iter().flat_map(|facts| facts.alive.iter().copied())
    }
}
