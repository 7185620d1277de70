//! Rule `gang`: gives the pods of a job the keys by which a scheduler places them together.
//!
//! A key without its object, or one that contradicts another controller's, leaves a pod pending indefinitely, often without
//! an event. The rule therefore writes nothing if the pod already has a key, a scheduling gate or another scheduler, if
//! the size of the gang is not known, or if the object that a key names neither exists nor will be created. Where the key
//! itself contains the number of pods to wait for, roles whose pods get no key do not count.

mod excluded;
mod kai;
mod kueue;
mod plan;
mod yunikorn;

use super::{RuleContext, RuleDecision};
use crate::gang::key::{FoundKey, foreign_key, scheduler_name};
use crate::gang::{Gang, GangMode, PinnedMode, UnknownGang, WorkloadLookup, applied_mode, gang_member};
use crate::hint::{nearest, one_of};
use crate::keys;
use crate::mutate::rules::managed::MANAGED;
use crate::mutate::{GangChoice, Plan, Reason};
use crate::pod::Pod;
use crate::workload::{self, GangRole, PodIdentity};
use plan::{commit, marker, own_keys, plan_keys, plan_managed, plan_scheduler, pointer};

/// Why a preview does not resolve `auto`.
const UNKNOWN_CLUSTER: &str =
    "a manifest does not show which schedulers run: select a mode by its name, or see preview --cluster";

pub(super) fn decide(context: &RuleContext<'_>, plan: &mut Plan) -> RuleDecision {
    if context.is_istio_aux() {
        return RuleDecision::skipped(Reason::IstioAuxNamespace);
    }
    let decision = decide_enabled(context, plan);
    match earlier_marker(context).filter(|_| decision.marker.is_none()) {
        Some(marker) => decision.with_marker(marker),
        None => decision,
    }
}

/// Returns the marker of an earlier call whose key the pod has. A later call, maybe of another replica, may be unable to
/// read the job or the Lease, or see another mode. Without the marker, the controller does not create the object that the
/// key names. If the job shows that the key names another gang, the pod is a copy.
fn earlier_marker(context: &RuleContext<'_>) -> Option<String> {
    let mode = applied_mode(context.pod)?;
    let named = mode.gang_named_by(context.pod)?;
    let gang = gang(context, gang_member(context.pod)?).and_then(Result::ok);
    let is_copy = gang.is_some_and(|gang| gang.name != named);
    (!is_copy).then(|| marker(mode))
}

fn decide_enabled(context: &RuleContext<'_>, plan: &mut Plan) -> RuleDecision {
    if !context.snapshot.config.gang.enabled {
        return RuleDecision::skipped(Reason::GangOff);
    }
    // Siblings, the running pods of the job, take precedence over a label or default that has changed since.
    let pinned = pinned_mode(context);
    let selected = match (pinned, context.snapshot.gang_mode(context.pod)) {
        (Some(PinnedMode::Mode(mode)), _) | (_, GangChoice::Mode(mode)) => mode,
        (_, GangChoice::Unset) => return RuleDecision::skipped(Reason::GangNotSelected),
        (_, GangChoice::OptedOut) => return RuleDecision::skipped(Reason::GangOptedOut),
        (_, GangChoice::Unknown(name)) => return refuse_unknown_mode(name),
    };
    let Some(member) = gang_member(context.pod) else { return not_in_gang(context.pod) };
    let mode = match resolve(context, selected) {
        Ok(mode) => mode,
        Err(decision) => return *decision,
    };
    match decide_in_mode(context, mode, pinned, member, plan) {
        Ok(decision) => decision,
        Err(decision) => *decision,
    }
}

/// Returns what the running pods of the job decide about the pod; `None` if they decide nothing.
fn pinned_mode(context: &RuleContext<'_>) -> Option<PinnedMode> {
    let pin = context.snapshot.cluster.gang.pin?;
    let member = gang_member(context.pod)?;
    let selected = match context.snapshot.gang_mode(context.pod) {
        GangChoice::Mode(mode) => resolve(context, mode).ok(),
        _ => None,
    };
    // Pods that get no keys because of their template decide nothing about others.
    let is_left =
        |role: &GangRole| !selected.map_or_else(|| role.template.can_join_any(), |mode| role.template.can_join(mode));
    let gang = gang(context, member).and_then(Result::ok).map(|gang| gang.without(is_left).0);
    pin.decide(member, gang.as_ref())
}

/// Skips a pod of no gang.
fn not_in_gang(pod: Pod<'_>) -> RuleDecision {
    let decision = RuleDecision::skipped(Reason::NotInGang);
    let is_of_job =
        workload::identify(pod).is_some_and(|member| (member.kind.group, member.kind.kind) == ("batch", "Job"));
    if is_of_job { decision.with_detail("set completionMode: Indexed in its Job") } else { decision }
}

fn refuse_unknown_mode(name: &str) -> RuleDecision {
    let warning = format!("gang: label {} has the unknown value {name:?}", keys::GANG);
    let (problem, warning) = match nearest(name, GangMode::names()) {
        Some(near) => {
            let fix = format!("did you mean {near}?");
            (format!("{name:?}: {fix}"), format!("{warning}: {fix}"))
        }
        None => (format!("{name:?}: expected {}", one_of(GangMode::names())), warning),
    };
    RuleDecision::refused(Reason::UnknownGangMode, problem, warning)
}

/// Returns the mode that `auto` stands for.
fn resolve(context: &RuleContext<'_>, mode: GangMode) -> Result<GangMode, Box<RuleDecision>> {
    if mode != GangMode::Auto {
        return Ok(mode);
    }
    let view = context.snapshot.cluster.gang;
    let alive: Vec<GangMode> = view.alive().collect();
    match alive.as_slice() {
        // An offline preview has no cluster in which a scheduler could run.
        [] if view.facts.is_none() => {
            Err(Box::new(RuleDecision::skipped(Reason::NoGangScheduler).with_detail(UNKNOWN_CLUSTER)))
        }
        [] => {
            let problem = "select a mode by its name";
            let warning = format!("gang not applied: no gang scheduler is known to run: {problem}");
            Err(Box::new(RuleDecision::refused(Reason::NoGangScheduler, problem, warning)))
        }
        [mode] => Ok(*mode),
        several => {
            let names: Vec<&str> = several.iter().map(|mode| mode.name()).collect();
            let problem = format!("{}: select one of them", names.join(", "));
            let warning = format!("gang not applied: several gang schedulers run: {problem}");
            Err(Box::new(RuleDecision::refused(Reason::SeveralGangSchedulers, problem, warning)))
        }
    }
}

fn decide_in_mode(
    context: &RuleContext<'_>,
    mode: GangMode,
    pinned: Option<PinnedMode>,
    member: PodIdentity<'_>,
    plan: &mut Plan,
) -> Result<RuleDecision, Box<RuleDecision>> {
    let pod = context.pod;
    let gang = gang(context, member).filter(|_| mode.needs_workload());
    let name = gang.as_ref().and_then(|gang| gang.as_ref().ok()).map(|gang| gang.name.as_str());
    check_pod(pod, mode, name)?;
    let creator = context.snapshot.cluster.gang.creator;
    match mode {
        GangMode::Kueue => return Ok(kueue::decide(member, creator)),
        _ if creator.is_some_and(|creator| creator.queue.is_some()) => return Err(Box::new(kueue::leave_queued())),
        // Schedulers would wait for keys of pods that never get any.
        _ if pinned == Some(PinnedMode::WithoutKeys) => {
            let decision = skip_without_keys(pod, mode, Reason::GangOfSiblings, plan);
            return Err(Box::new(decision.with_detail(restart_advice(pod, member))));
        }
        GangMode::Kai => return Ok(kai::decide(pod, member, plan)),
        _ => {}
    }
    let gang = match gang {
        None if member.kind.gang.shape.is_none() => {
            return Err(Box::new(RuleDecision::skipped(Reason::GangKindUnknown).with_detail(member.kind.kind)));
        }
        // Only of an existing pod, or of one without its job: the webhook reads the workload, or has the reason why it cannot.
        None => {
            let decision = RuleDecision::skipped(Reason::GangSizeUnknown);
            return Err(Box::new(decision.with_detail("the job that owns the pod was not read")));
        }
        // A preview shows this role, too.
        Some(Err(UnknownGang::Role(_))) if context.snapshot.replicas == Some(0) => {
            return Err(Box::new(RuleDecision::skipped(Reason::StartsAlone)));
        }
        Some(Err(problem)) => return Err(Box::new(refuse_unknown(mode, &problem))),
        Some(Ok(gang)) => gang,
    };
    let (gang, excluded) = excluded::remove(context, mode, member, gang);
    if gang.size < 2 {
        let decision = skip_without_keys(pod, mode, Reason::StartsAlone, plan);
        return Err(Box::new(RuleDecision { detail: excluded, ..decision }));
    }
    if mode.has_objects() {
        check_object(context, mode, &gang)?;
    }
    let mut own = Plan::default();
    let pointer = match mode {
        GangMode::Yunikorn => yunikorn::plan(context, &gang, member, plan, &mut own)?,
        _ => plan_keys(mode, &gang, &mut own),
    };
    plan_managed(plan, &mut own);
    plan_scheduler(mode, pod, &mut own);
    Ok(commit(pod, mode, &gang, excluded.as_deref(), pointer, own, plan))
}

/// Returns how to place the job as a whole. A gang that is identified by the name of its job keeps its pin for 30 seconds.
fn restart_advice(pod: Pod<'_>, member: PodIdentity<'_>) -> &'static str {
    let is_named = (member.kind.gang.id)(pod, member).is_some_and(|id| id.starts_with(member.kind.kind));
    if is_named {
        "to place it as a whole, create the job again 30 seconds after its last pod"
    } else {
        "restart the job to place it as a whole"
    }
}

/// Returns the gang of the pod; `None` if its workload was not read.
fn gang<'a>(context: &RuleContext<'a>, member: PodIdentity<'_>) -> Option<Result<Gang<'a>, UnknownGang>> {
    member.kind.gang.shape?;
    match context.snapshot.cluster.gang.workload {
        WorkloadLookup::NotRead => None,
        WorkloadLookup::Failed(problem) => Some(Err(problem.clone())),
        WorkloadLookup::Read(workload) => Some(workload.gang_of(context.pod)),
    }
}

/// Skips a pod that already has a key, a gate or another scheduler. `own` is the name of its gang.
fn check_pod(pod: Pod<'_>, mode: GangMode, own: Option<&str>) -> Result<(), Box<RuleDecision>> {
    // Keys that arrive in a new pod may be copied from another job. Only the name of the pod's own gang shows that this
    // webhook wrote them in the first round.
    let is_joined = own.is_some() && mode.gang_named_by(pod) == own;
    let is_own = |key: FoundKey<'_>| is_joined && own_keys(mode).contains(&key.place);
    if let Some(key) = foreign_key(pod, is_own) {
        let decision = RuleDecision::skipped(Reason::GangKeyPresent).with_detail(key.place.name());
        return Err(Box::new(decision.with_field(pointer(key.place))));
    }
    let gates = pod.spec().and_then(|spec| spec.get("schedulingGates")).and_then(|gates| gates.as_array());
    if gates.is_some_and(|gates| !gates.is_empty()) {
        return Err(Box::new(RuleDecision::skipped(Reason::SchedulingGated).with_field("/spec/schedulingGates")));
    }
    match scheduler_name(pod) {
        Some(name) if mode.scheduler_name() != Some(name) => {
            let decision = RuleDecision::skipped(Reason::OtherScheduler).with_detail(name);
            Err(Box::new(decision.with_field("/spec/schedulerName")))
        }
        _ => Ok(()),
    }
}

/// Refuses a key whose object does not exist and will not be created.
fn check_object(context: &RuleContext<'_>, mode: GangMode, gang: &Gang<'_>) -> Result<(), Box<RuleDecision>> {
    let view = context.snapshot.cluster.gang;
    // The controller announces the APIs: without one, it is not known which of them the cluster serves.
    if !view.has_or_gets_group(mode, &gang.name) {
        let fix = if view.lacks_controller {
            "set controller.enabled: true in the values"
        } else {
            "run trainmesh doctor, and check the controller's log"
        };
        let problem = format!("{mode}: {fix}");
        let warning = format!("gang {mode} not applied: no controller runs that can create its PodGroup");
        return Err(Box::new(RuleDecision::refused(Reason::GangControllerMissing, problem, warning)));
    }
    if !view.serves(mode) {
        let problem = format!("{mode}: install the scheduler, select another mode, or check the controller's log");
        let warning = format!(
            "gang {mode} not applied: the cluster does not serve its PodGroups, or denies them to the controller"
        );
        return Err(Box::new(RuleDecision::refused(Reason::GangApiMissing, problem, warning)));
    }
    if view.is_denied(mode) {
        let problem = format!("{mode}: check the quotas and policies of the namespace");
        let warning = format!("gang {mode} not applied: a quota or policy of the namespace denies its PodGroup");
        return Err(Box::new(RuleDecision::refused(Reason::GangObjectDenied, problem, warning)));
    }
    Ok(())
}

/// Skips a pod that gets no keys, and lets the controller know of it where other pods of the job would wait for it: Koordinator
/// waits forever, also if the job gets these pods later. The controller pins that they get no keys either.
fn skip_without_keys(pod: Pod<'_>, mode: GangMode, reason: Reason, plan: &mut Plan) -> RuleDecision {
    // Pods that select their mode themselves decide nothing about others.
    let is_pinned = mode == GangMode::Koordinator && pod.label(keys::GANG).is_none();
    let is_labeled = pod.label(keys::MANAGED) == Some(MANAGED) || plan.label(keys::MANAGED).is_some();
    if is_pinned && !is_labeled {
        plan.set_label(keys::MANAGED, MANAGED);
    }
    RuleDecision::skipped(reason)
}

fn refuse_unknown(mode: GangMode, problem: &UnknownGang) -> RuleDecision {
    match problem {
        UnknownGang::Kind(kind) => RuleDecision::skipped(Reason::GangKindUnknown).with_detail(*kind),
        UnknownGang::Conflict(conflict) => {
            let warning = format!("gang {mode} not applied: {conflict}");
            RuleDecision::refused(Reason::GangConflict, *conflict, warning)
        }
        UnknownGang::Role(_) | UnknownGang::Object(_) => unknown_size(mode, &problem.to_string()),
    }
}

fn unknown_size(mode: GangMode, problem: &str) -> RuleDecision {
    let warning = format!("gang {mode} not applied: {problem}");
    RuleDecision::refused(Reason::GangSizeUnknown, problem, warning)
}
