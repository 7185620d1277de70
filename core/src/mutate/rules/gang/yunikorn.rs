//! Mode `yunikorn`: an application with a task group for each role.
//!
//! `YuniKorn` reserves the capacity of a gang with placeholder pods that request what the task groups contain. A pod that
//! requests more than its placeholder loses the reservation, so the task groups contain the requests that other webhooks
//! and rules added: this webhook is called again after them. All pods of a job must have the same groups, whichever role
//! they belong to, so that containers that the operator adds to one role count only for this role.

use serde_json::{Map, Value, json};

use super::super::{RuleContext, RuleDecision, annotation_pointer, label_pointer};
use crate::gang::Gang;
use crate::gang::key::{KeyPlace, YUNIKORN_APP, YUNIKORN_QUEUES, YUNIKORN_TASK_GROUP, YUNIKORN_TASK_GROUPS};
use crate::keys;
use crate::mutate::{Plan, Reason, patch};
use crate::pod::Requests;
use crate::workload::{GangRole, PodIdentity, SOLE_ROLE, placement};

/// Keys that the rule writes, apart from the application's label.
pub(super) const KEYS: [KeyPlace; 2] =
    [KeyPlace::Annotation(YUNIKORN_TASK_GROUP), KeyPlace::Annotation(YUNIKORN_TASK_GROUPS)];
/// Former label of an application.
const LEGACY_APP: &str = "applicationId";
/// Maximum length of the task groups. Annotations of a pod share 256 KiB.
const MAX_TASK_GROUPS: usize = 32 * 1024;

/// A pod as its placeholder must reserve it.
struct Reservation {
    requests: Requests,
    placement: Map<String, Value>,
}

/// The pod at hand, by which the pods of other roles are predicted.
struct OwnPod<'a> {
    role: &'a GangRole,
    requests: Requests,
    /// Requests that webhooks and rules have added to those of the operator.
    added: Requests,
    placement: Map<String, Value>,
}

/// Plans the application and its task groups, and returns the pointer of the pod's own. `plan` contains the writes of the
/// rules that were evaluated before.
pub(super) fn plan(
    context: &RuleContext<'_>,
    gang: &Gang<'_>,
    member: PodIdentity<'_>,
    plan: &Plan,
    own: &mut Plan,
) -> Result<String, Box<RuleDecision>> {
    let pod = context.pod;
    let is_foreign = |key: &&str| pod.label(key).is_some_and(|app| app != gang.name);
    if let Some(key) = [YUNIKORN_APP, LEGACY_APP].into_iter().find(is_foreign) {
        let decision = RuleDecision::skipped(Reason::GangKeyPresent).with_detail(format!("label {key}"));
        return Err(Box::new(decision.with_field(label_pointer(key))));
    }
    // YuniKorn reads the labels first, then the annotation.
    let has_queue = YUNIKORN_QUEUES.iter().any(|key| pod.label(key).is_some());
    if !has_queue && pod.annotation(YUNIKORN_QUEUES[0]).is_none() {
        let problem = format!("set the label {}", YUNIKORN_QUEUES[0]);
        let warning = format!("gang yunikorn not applied: the pod names no queue: {problem}");
        return Err(Box::new(RuleDecision::refused(Reason::GangQueueUnknown, problem, warning)));
    }
    let name = member.role.unwrap_or(SOLE_ROLE);
    let Some(role) = gang.roles.iter().find(|role| role.name == name) else {
        return Err(Box::new(RuleDecision::skipped(Reason::GangSizeUnknown)));
    };
    let groups = task_groups(gang, role, &planned_pod(pod.raw(), plan));
    if groups.len() > MAX_TASK_GROUPS {
        let problem = format!("the task groups exceed {} KiB", MAX_TASK_GROUPS / 1024);
        let warning = format!("gang yunikorn not applied: {problem}");
        return Err(Box::new(RuleDecision::refused(Reason::GangSizeUnknown, problem, warning)));
    }
    own.set_label(YUNIKORN_APP, gang.name.as_str());
    own.set_annotation(YUNIKORN_TASK_GROUP, group_name(name));
    own.set_annotation(YUNIKORN_TASK_GROUPS, groups);
    Ok(annotation_pointer(YUNIKORN_TASK_GROUP))
}

/// Returns the pod with the writes that are planned so far.
fn planned_pod(pod: &Value, plan: &Plan) -> Value {
    let mut planned = pod.clone();
    // A patch that does not apply is withheld later. Until then, the pod counts as it is.
    if patch::build(pod, plan).apply(&mut planned).is_err() {
        planned.clone_from(pod);
    }
    planned
}

/// Returns the task groups as JSON. `pod` is a pod of `own_role`.
fn task_groups(gang: &Gang<'_>, own_role: &GangRole, pod: &Value) -> String {
    let own = OwnPod::new(own_role, pod.get("spec").unwrap_or(&Value::Null));
    let mut missing = gang.size - gang.min_members;
    let mut groups = Vec::with_capacity(gang.roles.len());
    // An elastic job runs with fewer workers, which are its last roles.
    for role in gang.roles.iter().rev() {
        let members = role.size.saturating_sub(missing);
        missing -= role.size - members;
        if members == 0 {
            continue;
        }
        let Reservation { requests, placement } = own.reservation(role);
        let mut group = json!({
            "name": group_name(&role.name),
            "minMember": members,
            "minResource": requests.to_json(),
            // Placeholders must not get a proxy, which would change their requests.
            "labels": {keys::SIDECAR_INJECT: "false", keys::INJECT: "disabled"},
        });
        if let Some(fields) = group.as_object_mut() {
            fields.extend(placement);
        }
        groups.push(group);
    }
    groups.reverse();
    Value::Array(groups).to_string()
}

impl<'a> OwnPod<'a> {
    fn new(role: &'a GangRole, spec: &Value) -> Self {
        let requests = Requests::from_pod_spec(spec);
        let without_operator = role.added.map(|name| Requests::from_pod_spec(&without_container(spec, name)));
        let added = without_operator.as_ref().unwrap_or(&requests).excess_over(&role.requests);
        Self { role, added, placement: placement(spec), requests }
    }

    /// Returns the reservation for a pod of `role`: what its operator creates, and what this pod got in addition. Devices
    /// and nodes are those of the fabric, which a role gets only if it requests the same accelerators.
    fn reservation(&self, role: &GangRole) -> Reservation {
        let has_same_devices = role.requests.devices().eq(self.role.requests.devices());
        let mut requests = role.created.clone();
        requests.add(&if has_same_devices { self.added.clone() } else { self.added.without_devices() });
        let mut placement = role.placement.clone();
        if has_same_devices && role.placement == self.role.placement {
            placement.clone_from(&self.placement);
        }
        if role.name == self.role.name {
            // An operator of another version may add more.
            requests.raise_to(&self.requests);
            placement.clone_from(&self.placement);
        }
        Reservation { requests, placement }
    }
}

/// Returns `spec` without the containers of this name.
fn without_container(spec: &Value, name: &str) -> Value {
    let mut spec = spec.clone();
    for list in ["containers", "initContainers"] {
        if let Some(containers) = spec.get_mut(list).and_then(Value::as_array_mut) {
            containers.retain(|container| container.get("name").and_then(Value::as_str) != Some(name));
        }
    }
    spec
}

/// Returns the name of the task group of a role.
fn group_name(role: &str) -> String {
    role.to_lowercase()
}
