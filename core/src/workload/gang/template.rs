//! Fields of a pod template that decide whether its pods join the gang of the other roles.

use crate::config::GangMode;
use crate::gang::key::{foreign_key, scheduler_name};
use crate::keys;
use crate::pod::Pod;
use crate::scope::is_opted_out;

/// Fields of a pod template by which its pods join a gang or not. The webhook keeps them for thousands of workloads, so that
/// they contain no text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GangTemplate {
    /// Mode that the label `trainmesh.dev/gang` selects; [`GangMode::None`] for an unknown one.
    pub label: Option<GangMode>,
    /// Mode whose scheduler the template selects; `None` for the default scheduler.
    scheduler: Option<GangMode>,
    /// True if the label `trainmesh.dev/inject` opts out.
    opted_out: bool,
    /// True if the pods are left as they are in every mode: they have a gate, a key, or the scheduler of no mode.
    is_left: bool,
}

impl GangTemplate {
    /// Reads a pod template.
    pub(super) fn read(template: Pod<'_>) -> Self {
        let gates = template.spec().and_then(|spec| spec.get("schedulingGates")).and_then(|gates| gates.as_array());
        let has_gates = gates.is_some_and(|gates| !gates.is_empty());
        let name = scheduler_name(template);
        let mut modes = GangMode::names().iter().filter_map(|mode| GangMode::parse(mode));
        let scheduler = name.and_then(|name| modes.find(|mode| mode.scheduler_name() == Some(name)));
        let has_other_scheduler = name.is_some() && scheduler.is_none();
        // The name of a gang contains the UID of its job, which no template can contain: the key is that of another gang.
        let has_key = foreign_key(template, |_| false).is_some();
        let is_left = has_gates || has_other_scheduler || has_key;
        Self { label: None, scheduler, opted_out: false, is_left }.with_labels(template)
    }

    /// Returns the template with the labels of `pod` in addition.
    pub(super) fn with_labels(self, pod: Pod<'_>) -> Self {
        let label = pod.label(keys::GANG).map(|name| GangMode::parse(name).unwrap_or_default());
        Self { label: label.or(self.label), opted_out: self.opted_out || is_opted_out(pod), ..self }
    }

    /// Returns true if pods that select `mode` get its keys.
    #[must_use]
    pub fn can_join(self, mode: GangMode) -> bool {
        self.can_join_any() && self.scheduler.is_none_or(|scheduler| scheduler == mode)
    }

    /// Returns true if pods that select some mode get its keys.
    #[must_use]
    pub fn can_join_any(self) -> bool {
        !self.opted_out && !self.is_left
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case::nothing(json!({}), None, true)]
    #[case::same_mode(json!({"metadata": {"labels": {"trainmesh.dev/gang": "koordinator"}}}), Some(GangMode::Koordinator), true)]
    #[case::another_mode(json!({"metadata": {"labels": {"trainmesh.dev/gang": "native"}}}), Some(GangMode::Native), true)]
    #[case::no_mode(json!({"metadata": {"labels": {"trainmesh.dev/gang": "none"}}}), Some(GangMode::None), true)]
    #[case::unknown_mode(json!({"metadata": {"labels": {"trainmesh.dev/gang": "x"}}}), Some(GangMode::None), true)]
    #[case::opted_out(json!({"metadata": {"labels": {"trainmesh.dev/inject": "disabled"}}}), None, false)]
    #[case::not_opted_out(json!({"metadata": {"labels": {"trainmesh.dev/inject": "enabled"}}}), None, true)]
    #[case::gates(json!({"spec": {"schedulingGates": [{"name": "a"}]}}), None, false)]
    #[case::no_gates(json!({"spec": {"schedulingGates": []}}), None, true)]
    #[case::default_scheduler(json!({"spec": {"schedulerName": "default-scheduler"}}), None, true)]
    #[case::scheduler_of_the_mode(json!({"spec": {"schedulerName": "koord-scheduler"}}), None, true)]
    #[case::scheduler_of_another_mode(json!({"spec": {"schedulerName": "volcano"}}), None, false)]
    #[case::scheduler_of_no_mode(json!({"spec": {"schedulerName": "mine"}}), None, false)]
    #[case::key(json!({"metadata": {"annotations": {"pod-group-name": "g"}}}), None, false)]
    #[case::malformed(json!({"metadata": 1, "spec": []}), None, true)]
    fn templates_decide_about_their_pods(
        #[case] template: Value,
        #[case] label: Option<GangMode>,
        #[case] can_join: bool,
    ) {
        let found = GangTemplate::read(Pod::new(&template));
        assert_eq!((found.label, found.can_join(GangMode::Koordinator)), (label, can_join));
    }

    #[test]
    fn labels_of_the_operator_override_those_of_the_template() {
        let labels = |labels: Value| json!({"metadata": {"labels": labels}});
        let template = labels(json!({"trainmesh.dev/gang": "native"}));
        let read = GangTemplate::read(Pod::new(&template));
        assert_eq!(read.with_labels(Pod::new(&labels(json!({})))), read);
        let added = labels(json!({"trainmesh.dev/gang": "none", "trainmesh.dev/inject": "disabled"}));
        let added = read.with_labels(Pod::new(&added));
        assert_eq!((added.label, added.can_join(GangMode::Native)), (Some(GangMode::None), false));
    }
}
