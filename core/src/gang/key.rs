//! The keys by which a pod joins a gang, or by which a scheduler marks it.

use serde_json::Value;

use super::GangMode;
use super::object::{VOLCANO_QUEUE, VOLCANO_TOPOLOGY};
use crate::keys::KUEUE_QUEUE;
use crate::pod::Pod;

/// Annotation by which a pod joins a `PodGroup` of Volcano. The only key that its scheduler reads.
pub const VOLCANO_GROUP: &str = "scheduling.k8s.io/group-name";
/// Annotation with the role of a pod, for Volcano's minimum per task.
pub const VOLCANO_TASK: &str = "volcano.sh/task-spec";
/// Label by which a pod joins a `PodGroup` of the coscheduling plugin.
pub const COSCHEDULING_GROUP: &str = "scheduling.x-k8s.io/pod-group";
/// Annotation by which a pod joins a `PodGroup` of KAI-Scheduler.
pub const KAI_GROUP: &str = "pod-group-name";
/// Label by which a pod joins a `PodGroup` of Koordinator.
pub const KOORDINATOR_GROUP: &str = "pod-group.scheduling.sigs.k8s.io";
/// Labels with the name of a `PodGroup`.
pub const GROUP_LABELS: [&str; 2] = [COSCHEDULING_GROUP, KOORDINATOR_GROUP];
/// Annotations with the name of a `PodGroup`.
pub const GROUP_ANNOTATIONS: [&str; 2] = [VOLCANO_GROUP, KAI_GROUP];
/// Field by which a pod joins a `PodGroup` of Kubernetes, below `spec`.
pub const NATIVE_GROUP: [&str; 2] = ["schedulingGroup", "podGroupName"];
/// Annotation with the name of a Koordinator gang.
pub const KOORDINATOR_NAME: &str = "gang.scheduling.koordinator.sh/name";
/// Annotation with the minimum of a Koordinator gang.
pub const KOORDINATOR_MIN: &str = "gang.scheduling.koordinator.sh/min-available";
/// Annotation with the number of pods of a Koordinator gang.
pub const KOORDINATOR_TOTAL: &str = "gang.scheduling.koordinator.sh/total-number";
/// Label with the application of a pod in `YuniKorn`.
pub const YUNIKORN_APP: &str = "yunikorn.apache.org/app-id";
/// Labels with the queue of a pod in `YuniKorn`, the current one first, which is also an annotation.
pub const YUNIKORN_QUEUES: [&str; 2] = ["yunikorn.apache.org/queue", "queue"];
/// Annotation with the name of a pod's task group.
pub const YUNIKORN_TASK_GROUP: &str = "yunikorn.apache.org/task-group-name";
/// Annotation with the task groups of an application.
pub const YUNIKORN_TASK_GROUPS: &str = "yunikorn.apache.org/task-groups";

/// Labels and annotations by which pods join a gang, or request its queue or network topology, and which have no effect on the job
/// itself.
pub const OF_PODS: [&str; 8] = [
    VOLCANO_GROUP,
    VOLCANO_QUEUE,
    VOLCANO_TOPOLOGY[0],
    VOLCANO_TOPOLOGY[1],
    COSCHEDULING_GROUP,
    YUNIKORN_TASK_GROUP,
    YUNIKORN_TASK_GROUPS,
    KOORDINATOR_NAME,
];

/// Annotations by which Kueue places pods according to its topologies. It reads those of the pod templates.
pub const KUEUE_TOPOLOGY: [&str; 4] = [
    "kueue.x-k8s.io/podset-required-topology",
    "kueue.x-k8s.io/podset-preferred-topology",
    "kueue.x-k8s.io/podset-unconstrained-topology",
    "kueue.x-k8s.io/podset-slice-required-topology",
];

/// Place of a key in a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// An annotation.
    Annotation(&'static str),
    /// A label.
    Label(&'static str),
    /// A field of `spec`, by its path below it.
    Spec(&'static [&'static str]),
}

/// A key that a pod carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundKey<'a> {
    /// Place of the key.
    pub place: KeyPlace,
    /// Its value; empty if it is not a string.
    pub value: &'a str,
}

use KeyPlace::{Annotation, Label, Spec};

/// Keys that show that a pod already belongs to a gang, or is admitted by a queue.
const KEYS: [KeyPlace; 23] = [
    Annotation(VOLCANO_GROUP),
    Label(COSCHEDULING_GROUP),
    Label("pod-group.scheduling.x-k8s.io/name"),
    Label("kueue.x-k8s.io/pod-group-name"),
    Annotation("kueue.x-k8s.io/pod-group-name"),
    Label("kueue.x-k8s.io/managed"),
    Label("kueue.x-k8s.io/podset"),
    Label(KUEUE_QUEUE),
    Annotation("kueue.x-k8s.io/workload"),
    Annotation("kueue.x-k8s.io/pod-suspending-parent"),
    Annotation(KUEUE_TOPOLOGY[0]),
    Annotation(KUEUE_TOPOLOGY[1]),
    Annotation(KUEUE_TOPOLOGY[2]),
    Annotation(KUEUE_TOPOLOGY[3]),
    Annotation(KAI_GROUP),
    Annotation(YUNIKORN_TASK_GROUP),
    Annotation(YUNIKORN_TASK_GROUPS),
    Annotation(KOORDINATOR_NAME),
    Label(KOORDINATOR_GROUP),
    Label("pod-group.scheduling.sigs.k8s.io/name"),
    Spec(&NATIVE_GROUP),
    Spec(&["schedulingGroup"]),
    Spec(&["workloadRef"]),
];

impl GangMode {
    /// Returns the place of the name of a pod's gang; `None` if pods do not name it.
    #[must_use]
    pub fn name_key(self) -> Option<KeyPlace> {
        match self {
            Self::Native => Some(Spec(&NATIVE_GROUP)),
            Self::Volcano => Some(Annotation(VOLCANO_GROUP)),
            Self::Coscheduling => Some(Label(COSCHEDULING_GROUP)),
            Self::Koordinator => Some(Annotation(KOORDINATOR_NAME)),
            Self::Yunikorn => Some(Label(YUNIKORN_APP)),
            Self::None | Self::Auto | Self::Kai | Self::Kueue => None,
        }
    }

    /// Returns the modes in which the gang of a pod is the one that it names. An application of `YuniKorn` may have several gangs, and
    /// pods name it also without one.
    pub fn named_by_pods() -> impl Iterator<Item = Self> {
        let modes = Self::names().iter().filter_map(|name| Self::parse(name));
        modes.filter(|mode| mode.name_key().is_some() && *mode != Self::Yunikorn)
    }

    /// Returns the gang that `pod` names in this mode.
    #[must_use]
    pub fn gang_named_by(self, pod: Pod<'_>) -> Option<&str> {
        self.name_key()?.value(pod).filter(|name| !name.is_empty())
    }
}

impl KeyPlace {
    /// Returns the value of the key in `pod`; empty if it is not a string, `None` if it is absent.
    #[must_use]
    pub fn value(self, pod: Pod<'_>) -> Option<&str> {
        match self {
            Annotation(key) => pod.annotation(key),
            Label(key) => pod.label(key),
            Spec(path) => {
                let mut value = pod.raw().get("spec")?;
                for key in path {
                    value = value.get(key)?;
                }
                if value.is_null() { None } else { Some(value.as_str().unwrap_or_default()) }
            }
        }
    }

    /// Returns the name of the key, as messages contain it.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Annotation(key) => format!("annotation {key}"),
            Label(key) => format!("label {key}"),
            Spec(path) => format!("spec.{}", path.join(".")),
        }
    }
}

/// Returns the first key by which `pod` already belongs to a gang or is admitted by a queue, except those whose value
/// `is_own` accepts.
pub fn foreign_key<'a>(pod: Pod<'a>, is_own: impl Fn(FoundKey<'a>) -> bool) -> Option<FoundKey<'a>> {
    // An empty name selects no queue.
    let is_unset = |place, value: &str| place == Label(KUEUE_QUEUE) && value.is_empty();
    let found = |place: KeyPlace| {
        place.value(pod).filter(|value| !is_unset(place, value)).map(|value| FoundKey { place, value })
    };
    KEYS.into_iter().filter_map(found).find(|key| !is_own(*key))
}

/// Returns the `schedulerName` of a pod; `None` if it is that of the default scheduler.
#[must_use]
pub fn scheduler_name(pod: Pod<'_>) -> Option<&str> {
    let name = pod.spec()?.get("schedulerName").and_then(Value::as_str)?;
    (!name.is_empty() && name != "default-scheduler").then_some(name)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::volcano(json!({"metadata": {"annotations": {"scheduling.k8s.io/group-name": "g"}}}), Some("g"))]
    #[case::coscheduling(json!({"metadata": {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}}), Some("g"))]
    #[case::coscheduling_without_object(json!({"metadata": {"labels": {"pod-group.scheduling.x-k8s.io/name": "g"}}}), Some("g"))]
    #[case::kueue_group_label(json!({"metadata": {"labels": {"kueue.x-k8s.io/pod-group-name": "g"}}}), Some("g"))]
    #[case::kueue_group(json!({"metadata": {"annotations": {"kueue.x-k8s.io/pod-group-name": "g"}}}), Some("g"))]
    #[case::kueue_managed(json!({"metadata": {"labels": {"kueue.x-k8s.io/managed": "true"}}}), Some("true"))]
    #[case::kueue_workload(json!({"metadata": {"annotations": {"kueue.x-k8s.io/workload": "w"}}}), Some("w"))]
    #[case::kueue_parent(json!({"metadata": {"annotations": {"kueue.x-k8s.io/pod-suspending-parent": "statefulset"}}}), Some("statefulset"))]
    #[case::kueue_pod_set(json!({"metadata": {"labels": {"kueue.x-k8s.io/podset": "main"}}}), Some("main"))]
    #[case::kueue_queue(json!({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}}), Some("q"))]
    #[case::no_kueue_queue(json!({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": ""}}}), None)]
    #[case::kueue_required_topology(json!({"metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": "rack"}}}), Some("rack"))]
    #[case::kueue_preferred_topology(json!({"metadata": {"annotations": {"kueue.x-k8s.io/podset-preferred-topology": "rack"}}}), Some("rack"))]
    #[case::kueue_unconstrained_topology(json!({"metadata": {"annotations": {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}}}), Some("true"))]
    #[case::kueue_slices(json!({"metadata": {"annotations": {"kueue.x-k8s.io/podset-slice-required-topology": "rack"}}}), Some("rack"))]
    #[case::kai(json!({"metadata": {"annotations": {"pod-group-name": "g"}}}), Some("g"))]
    #[case::yunikorn(json!({"metadata": {"annotations": {"yunikorn.apache.org/task-group-name": "g"}}}), Some("g"))]
    #[case::yunikorn_groups(json!({"metadata": {"annotations": {"yunikorn.apache.org/task-groups": "[]"}}}), Some("[]"))]
    #[case::koordinator(json!({"metadata": {"annotations": {"gang.scheduling.koordinator.sh/name": "g"}}}), Some("g"))]
    #[case::koordinator_group(json!({"metadata": {"labels": {"pod-group.scheduling.sigs.k8s.io": "g"}}}), Some("g"))]
    #[case::koordinator_label(json!({"metadata": {"labels": {"pod-group.scheduling.sigs.k8s.io/name": "g"}}}), Some("g"))]
    #[case::native(json!({"spec": {"schedulingGroup": {"podGroupName": "g"}}}), Some("g"))]
    #[case::native_of_another_form(json!({"spec": {"schedulingGroup": {"compositeName": "g"}}}), Some(""))]
    #[case::workload_reference(json!({"spec": {"workloadRef": {"name": "w"}}}), Some(""))]
    #[case::null(json!({"spec": {"schedulingGroup": null}}), None)]
    #[case::none(json!({"metadata": {"labels": {"a": "b"}}, "spec": {}}), None)]
    fn keys_of_every_scheduler_are_found(#[case] pod: Value, #[case] expected: Option<&str>) {
        assert_eq!(foreign_key(Pod::new(&pod), |_| false).map(|key| key.value), expected);
    }

    #[rstest]
    #[case::absent(json!({}), None)]
    #[case::empty(json!({"schedulerName": ""}), None)]
    #[case::default(json!({"schedulerName": "default-scheduler"}), None)]
    #[case::another(json!({"schedulerName": "volcano"}), Some("volcano"))]
    fn the_default_scheduler_has_no_name(#[case] spec: Value, #[case] expected: Option<&str>) {
        assert_eq!(scheduler_name(Pod::new(&json!({"spec": spec}))), expected);
    }
}
