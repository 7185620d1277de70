//! Rule `gang`: gives the pods of a job the keys by which a scheduler places them together.
//!
//! A key without its object, or one that contradicts another controller's, leaves a pod pending indefinitely, often without
//! an event. The rule therefore writes nothing if the pod already has a key, a scheduling gate or another scheduler, if
//! the size of the gang is not known, or if the object that a key names neither exists nor will be created.

mod kueue;
mod yunikorn;

use super::{RuleContext, RuleDecision, annotation_pointer, label_pointer};
use crate::gang::key::{
    COSCHEDULING_GROUP, FoundKey, KOORDINATOR_MIN, KOORDINATOR_NAME, KOORDINATOR_TOTAL, KeyPlace, NATIVE_GROUP,
    VOLCANO_GROUP, foreign_key, scheduler_name,
};
use crate::gang::{Gang, GangMode, UnknownGang, WorkloadLookup, gang_member};
use crate::hint::{nearest, one_of};
use crate::keys;
use crate::mutate::plan::spec_path;
use crate::mutate::rules::managed::MANAGED;
use crate::mutate::{GangChoice, Plan, Reason};
use crate::pod::Pod;
use crate::workload::{self, PodIdentity};

/// Kinds whose pods KAI's podgrouper puts into one group (NVIDIA/KAI-scheduler 0.20.1, `pkg/podgrouper`). It puts each
/// pod of a Job into a group of its own, and gives groups of `JobSets` and `TrainJobs` a minimum of 1.
const GROUPED_BY_KAI: [&str; 7] =
    ["PyTorchJob", "TFJob", "XGBoostJob", "JAXJob", "MPIJob", "RayCluster", "LeaderWorkerSet"];

pub(super) fn decide(context: &RuleContext<'_>, plan: &mut Plan) -> RuleDecision {
    if context.is_istio_aux() {
        return RuleDecision::skipped(Reason::IstioAuxNamespace);
    }
    if !context.snapshot.config.gang.enabled {
        return RuleDecision::skipped(Reason::GangOff);
    }
    let selected = match context.snapshot.gang_mode(context.pod) {
        GangChoice::Unset => return RuleDecision::skipped(Reason::GangNotSelected),
        GangChoice::OptedOut => return RuleDecision::skipped(Reason::GangOptedOut),
        GangChoice::Mode(mode) => mode,
        GangChoice::Unknown(name) => return refuse_unknown_mode(name),
    };
    let Some(member) = gang_member(context.pod) else { return not_in_gang(context.pod) };
    let mode = match resolve(context, selected) {
        Ok(mode) => mode,
        Err(decision) => return *decision,
    };
    match decide_in_mode(context, mode, member, plan) {
        Ok(decision) => decision,
        Err(decision) => *decision,
    }
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
        [] if view.facts.is_none() => Err(Box::new(RuleDecision::skipped(Reason::NoGangScheduler))),
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
        GangMode::Kai => return Ok(decide_for_kai(pod, member, plan)),
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
    if gang.size < 2 {
        return Err(Box::new(RuleDecision::skipped(Reason::StartsAlone)));
    }
    if mode.has_objects() {
        check_object(context, mode, &gang)?;
    }
    let mut own = Plan::default();
    let pointer = match mode {
        GangMode::Yunikorn => yunikorn::plan(context, &gang, member, plan, &mut own)?,
        _ => plan_keys(mode, &gang, &mut own),
    };
    if mode.has_objects() && plan.label(keys::MANAGED).is_none() {
        own.set_label(keys::MANAGED, MANAGED);
    }
    plan_scheduler(mode, pod, &mut own);
    Ok(commit(pod, mode, &gang, pointer, own, plan))
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

/// Returns the keys that the rule writes in `mode`.
fn own_keys(mode: GangMode) -> &'static [KeyPlace] {
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

/// Refuses a key whose object does not exist and will not be created.
fn check_object(context: &RuleContext<'_>, mode: GangMode, gang: &Gang<'_>) -> Result<(), Box<RuleDecision>> {
    let view = context.snapshot.cluster.gang;
    // The controller announces the APIs: without one, it is not known which of them the cluster serves.
    if !view.has_or_gets_group(mode, &gang.name) {
        let problem = format!("{mode}: check the controller with trainmesh doctor");
        let warning = format!("gang {mode} not applied: no controller runs that creates its PodGroup");
        return Err(Box::new(RuleDecision::refused(Reason::GangControllerMissing, problem, warning)));
    }
    if !view.serves(mode) {
        let problem = format!("{mode}: install the scheduler, or select another mode");
        let warning = format!("gang {mode} not applied: the cluster does not serve its PodGroups");
        return Err(Box::new(RuleDecision::refused(Reason::GangApiMissing, problem, warning)));
    }
    Ok(())
}

/// Plans the keys of a mode other than `yunikorn`, and returns the pointer of the main one.
fn plan_keys(mode: GangMode, gang: &Gang<'_>, plan: &mut Plan) -> String {
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

/// Selects the scheduler of `mode`, unless the pod does.
fn plan_scheduler(mode: GangMode, pod: Pod<'_>, plan: &mut Plan) {
    if let Some(name) = mode.scheduler_name().filter(|_| scheduler_name(pod).is_none()) {
        plan.set(spec_path(["schedulerName"]), name);
    }
}

/// Adds the planned keys to the pod's plan, unless the pod has all of them.
fn commit(pod: Pod<'_>, mode: GangMode, gang: &Gang<'_>, pointer: String, own: Plan, plan: &mut Plan) -> RuleDecision {
    let is_present =
        |write: &crate::mutate::plan::Write| write.path.resolve(pod.raw()).is_ok_and(|found| *found == *write.value);
    let decision = if own.writes().iter().all(is_present) {
        RuleDecision::skipped(Reason::GangPresent).with_field(pointer)
    } else {
        plan.merge(own);
        RuleDecision::applied(Reason::GangJoined, pointer)
    };
    let Gang { name, size, min_members, .. } = gang;
    let count = if min_members == size { format!("{size} pods") } else { format!("{min_members} of {size} pods") };
    decision.with_detail(format!("{mode}: {count} in {name}")).with_marker(format!("gang={mode}"))
}

/// Selects KAI-Scheduler, whose podgrouper creates the group, for the kinds that it groups.
fn decide_for_kai(pod: Pod<'_>, member: PodIdentity<'_>, plan: &mut Plan) -> RuleDecision {
    let kind = member.kind.kind;
    // The kind Job of Volcano has a scheduler of its own, so that it does not get here.
    if !GROUPED_BY_KAI.contains(&kind) {
        let annotation = "newer versions read its annotation kai.scheduler/batch-min-member";
        let detail = match kind {
            "Job" => format!("Job: {annotation}"),
            // The pods of a TrainJob may be those of any JobSet.
            "JobSet" => format!("JobSet: {annotation}; if it belongs to a TrainJob, select another mode"),
            _ => format!("{kind}: select another mode"),
        };
        return RuleDecision::skipped(Reason::NotGroupedByKai).with_detail(detail);
    }
    let mut own = Plan::default();
    plan_scheduler(GangMode::Kai, pod, &mut own);
    let pointer = "/spec/schedulerName";
    let decision = if own.writes().is_empty() {
        RuleDecision::skipped(Reason::GangPresent).with_field(pointer)
    } else {
        plan.merge(own);
        RuleDecision::applied(Reason::GangJoined, pointer)
    };
    decision.with_detail("kai: its podgrouper creates the group").with_marker("gang=kai".to_owned())
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

fn pointer(place: KeyPlace) -> String {
    match place {
        KeyPlace::Annotation(key) => annotation_pointer(key),
        KeyPlace::Label(key) => label_pointer(key),
        KeyPlace::Spec(path) => format!("/spec/{}", path.join("/")),
    }
}
