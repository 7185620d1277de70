//! The keys of the modes, and the fields that the rule writes with them.

use super::super::{RuleDecision, annotation_pointer, label_pointer};
use super::yunikorn;
use crate::gang::key::{
    COSCHEDULING_GROUP, KOORDINATOR_MIN, KOORDINATOR_NAME, KOORDINATOR_TOTAL, KeyPlace, NATIVE_GROUP, VOLCANO_GROUP,
    scheduler_name,
};
use crate::gang::{Gang, GangMode};
use crate::keys;
use crate::mutate::plan::{Write, spec_path};
use crate::mutate::rules::managed::MANAGED;
use crate::mutate::{Plan, Reason};
use crate::pod::Pod;

/// Returns the keys that the rule writes in `mode`.
pub(super) fn own_keys(mode: GangMode) -> &'static [KeyPlace] {
    const NATIVE: &[KeyPlace] = &[KeyPlace::Spec(&NATIVE_GROUP), KeyPlace::Spec(&["schedulingGroup"])];
    match mode {
        GangMode::Native => NATIVE,
        GangMode::Volcano => &[KeyPlace::Annotation(VOLCANO_GROUP)],
        GangMode::Coscheduling => &[KeyPlace::Label(COSCHEDULING_GROUP)],
        GangMode::Koordinator => &[KeyPlace::Annotation(KOORDINATOR_NAME)],
        GangMode::Yunikorn => &yunikorn::KEYS,
        GangMode::None | GangMode::Auto | GangMode::Kai | GangMode::Kueue => &[],
    }
}

pub(super) fn pointer(place: KeyPlace) -> String {
    match place {
        KeyPlace::Annotation(key) => annotation_pointer(key),
        KeyPlace::Label(key) => label_pointer(key),
        KeyPlace::Spec(path) => format!("/spec/{}", path.join("/")),
    }
}

/// Plans the keys of a mode other than `yunikorn`, and returns the pointer of the main one.
pub(super) fn plan_keys(mode: GangMode, gang: &Gang<'_>, plan: &mut Plan) -> String {
    let name = gang.name.as_str();
    match mode {
        GangMode::Volcano => plan.set_annotation(VOLCANO_GROUP, name).to_string(),
        GangMode::Coscheduling => plan.set_label(COSCHEDULING_GROUP, name).to_string(),
        GangMode::Koordinator => {
            plan.set_annotation(KOORDINATOR_MIN, gang.min_members.to_string());
            plan.set_annotation(KOORDINATOR_TOTAL, gang.size.to_string());
            plan.set_annotation(KOORDINATOR_NAME, name).to_string()
        }
        _ => plan.set(spec_path(NATIVE_GROUP), name).to_string(),
    }
}

/// Labels the pod, so that the controller finds it: it creates the objects of gangs, and pins their modes.
pub(super) fn plan_managed(plan: &Plan, own: &mut Plan) {
    if plan.label(keys::MANAGED).is_none() {
        own.set_label(keys::MANAGED, MANAGED);
    }
}

/// Selects the scheduler of `mode`, unless the pod does.
pub(super) fn plan_scheduler(mode: GangMode, pod: Pod<'_>, plan: &mut Plan) {
    if let Some(name) = mode.scheduler_name().filter(|_| scheduler_name(pod).is_none()) {
        plan.set(spec_path(["schedulerName"]), name);
    }
}

/// Adds the planned keys to the pod's plan, unless the pod has all of them.
pub(super) fn commit(
    pod: Pod<'_>,
    mode: GangMode,
    gang: &Gang<'_>,
    excluded: Option<&str>,
    pointer: String,
    own: Plan,
    plan: &mut Plan,
) -> RuleDecision {
    let is_present = |write: &Write| write.path.resolve(pod.raw()).is_ok_and(|found| *found == *write.value);
    let decision = if own.writes().iter().all(is_present) {
        RuleDecision::skipped(Reason::GangPresent).with_field(pointer)
    } else {
        plan.merge(own);
        RuleDecision::applied(Reason::GangJoined, pointer)
    };
    let Gang { name, size, min_members, .. } = gang;
    let count = if min_members == size { format!("{size} pods") } else { format!("{min_members} of {size} pods") };
    let excluded = excluded.map(|excluded| format!(", {excluded}")).unwrap_or_default();
    decision.with_detail(format!("{mode}: {count} in {name}{excluded}")).with_marker(marker(mode))
}

/// Returns the entry for the annotation `trainmesh.dev/applied`.
pub(super) fn marker(mode: GangMode) -> String {
    format!("gang={mode}")
}
