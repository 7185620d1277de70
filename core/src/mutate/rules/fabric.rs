//! Rule `fabric`: applies the fabric profile that the pod or its namespace selects, completely or not at all.
//!
//! The rule compares each part of the profile with the pod. It adds missing parts and keeps different settings of the
//! user; a setting that excludes the profile is a conflict. The plan takes effect only if there is no conflict and
//! every guard passes: a pod with a partially applied profile hangs, whereas a pod without one is only slow.

mod anti_affinity;
mod claimed;
mod claims;
mod conflict;
mod dra;
mod gke;
mod guards;
mod machines;
mod mesh;
mod multus;
mod networks;
mod no_accelerator;
mod planner;
mod pod;
mod profile_claims;
mod ratio;
mod resources;
mod route;
mod security;
mod selection;
mod settings;
mod sidecars;
mod suggestion;
mod target;
mod volumes;

use std::mem;

use super::{RuleContext, RuleDecision, annotation_pointer};
use crate::config::ProfileEntry;
use crate::config::profile::{Amount, OnConflict, ResourceName};
use crate::dra::DeviceKind;
use crate::fabric::is_rdma_resource;
use crate::keys;
use crate::mutate::rules::managed::MANAGED;
use crate::mutate::{Plan, Reason};
use crate::rule::Note;
use planner::{Conflict, Planner};
use selection::{Selection, select};
use target::{MAX_TARGETS, Targets, Uncertainty, requests, targets};

/// Profile that pods fall back to.
const TCP: &str = "tcp";

/// Maximum number of conflicts that a refusal lists. Pods have more only in several containers with the same settings.
const MAX_CONFLICTS: usize = 8;

pub(super) fn decide(context: &RuleContext<'_>, plan: &mut Plan) -> RuleDecision {
    if context.is_istio_aux() {
        return RuleDecision::skipped(Reason::IstioAuxNamespace);
    }
    if !context.snapshot.config.fabric.enabled {
        return RuleDecision::skipped(Reason::FabricOff);
    }
    let selection = match select(context) {
        Ok(selection) => selection,
        Err(decision) => return *decision,
    };
    let claims = claims::read_claims(context, selection.profile);
    let targets = match targets(context, selection.profile, &claims) {
        Targets::Matched(targets) => targets,
        Targets::Unknown(cause) => return skip_unknown(selection.name, &cause),
        Targets::None => return no_accelerator::skip(context, &selection, &claims),
        Targets::TooFew => return decide_too_few(context, &selection),
        Targets::TooMany => return too_many_targets(selection.name),
    };
    if !selection.is_allowed(context) {
        return selection.refuse_namespace(context);
    }
    if selection.conflicts_with_siblings() {
        return selection.refuse_for_siblings();
    }
    if selection.siblings_fell_back {
        return fall_back(context, &selection, &Planner::new(context, selection.profile, targets, claims), plan, None);
    }
    let mut planner = Planner::new(context, selection.profile, targets, claims);
    plan_profile(&mut planner);
    let warnings = guards::check(&mut planner);
    let (pending, conflicts): (Vec<_>, Vec<_>) =
        mem::take(&mut planner.conflicts).into_iter().partition(|conflict| conflict.is_pending);
    planner.conflicts = conflicts;
    if let (Some(conflict), true) = (pending.first(), planner.conflicts.is_empty()) {
        return skip_pending(selection.name, conflict);
    }
    match planner.conflicts.first() {
        None => commit(context, &selection, planner, warnings, plan),
        Some(conflict) if selection.profile.on_conflict == OnConflict::Tcp && !selection.pinned => {
            fall_back(context, &selection, &planner, plan, Some(conflict))
        }
        Some(conflict) => refuse(selection.name, conflict, &planner.conflicts),
    }
}

/// Plans every part of the profile.
fn plan_profile(planner: &mut Planner<'_>) {
    conflict::check(planner);
    let devices = resources::plan(planner);
    security::plan(planner);
    volumes::plan(planner);
    settings::plan(planner);
    multus::plan(planner, devices);
    gke::plan(planner);
    dra::plan(planner);
    sidecars::plan(planner);
    pod::plan(planner);
    anti_affinity::plan(planner);
    mesh::plan(planner);
}

/// Adds the planned parts, the revision and the label for the controller to the pod's plan.
fn commit(
    context: &RuleContext<'_>,
    selection: &Selection<'_>,
    mut planner: Planner<'_>,
    warnings: Vec<String>,
    plan: &mut Plan,
) -> RuleDecision {
    record_revision(context, selection.revision, &mut planner.plan);
    let notes = planner.notes();
    let has_writes = !planner.plan.writes().is_empty();
    plan.merge(planner.plan);
    let decision = if has_writes {
        RuleDecision::applied(Reason::FabricAdded, annotation_pointer(keys::FABRIC_REVISION))
    } else {
        RuleDecision::skipped(Reason::FabricPresent).with_field(annotation_pointer(keys::FABRIC_REVISION))
    };
    let decision =
        decision.with_detail(selection.name).with_notes(notes).with_marker(format!("fabric={}", selection.name));
    warnings.into_iter().fold(decision, RuleDecision::with_warning)
}

/// Writes the revision of the profile, and the label by which the controller selects the pod.
fn record_revision(context: &RuleContext<'_>, revision: &str, plan: &mut Plan) {
    if context.pod.annotation(keys::FABRIC_REVISION) != Some(revision) {
        plan.set_annotation(keys::FABRIC_REVISION, revision);
    }
    if context.pod.label(keys::MANAGED) != Some(MANAGED) {
        plan.set_label(keys::MANAGED, MANAGED);
    }
}

/// Applies only the settings of profile `tcp` instead of the selected profile. A pod that requests RDMA itself is left
/// unchanged.
fn fall_back(
    context: &RuleContext<'_>,
    selection: &Selection<'_>,
    planner: &Planner<'_>,
    plan: &mut Plan,
    conflict: Option<&Conflict>,
) -> RuleDecision {
    let refused = |conflict: Option<&Conflict>| match conflict {
        Some(conflict) => refuse(selection.name, conflict, &planner.conflicts),
        None => selection.refuse_for_siblings(),
    };
    let is_allowed =
        |entry: &&ProfileEntry| entry.profile.allows(context.snapshot.namespace, context.snapshot.namespace_labels);
    let Some(entry) = context.snapshot.config.fabric.profiles.find(TCP).filter(is_allowed) else {
        return refused(conflict);
    };
    let profile = planner.profile;
    let devices = profile.resources.iter().filter(|resource| matches!(resource.amount, Amount::Devices { .. }));
    let of_profile =
        devices.map(|resource| &resource.name).chain(&profile.dra.extended_resource).map(ResourceName::as_str);
    let is_adapter = |name: &str| {
        let kind = context.snapshot.cluster.claims.kind_of_resource(name);
        is_rdma_resource(name) || kind.is_some_and(DeviceKind::is_adapter)
    };
    let requests_rdma =
        requests(context.pod).any(|(_, name)| is_adapter(name) || of_profile.clone().any(|known| known == name));
    if requests_rdma || claimed::claims_adapters(planner) || networks::attaches_adapters(planner) {
        return refused(conflict);
    }
    let mut planner = Planner::new(context, &entry.profile, planner.targets.clone(), planner.claims.clone());
    conflict::check(&mut planner);
    settings::plan(&mut planner);
    if !planner.conflicts.is_empty() {
        return refused(conflict.or(planner.conflicts.first()));
    }
    record_revision(context, &entry.revision, &mut planner.plan);
    let notes = planner.notes();
    let has_writes = !planner.plan.writes().is_empty();
    plan.merge(planner.plan);
    // The conflict is what a user wants to find.
    let pointer = conflict.and_then(|conflict| conflict.field.clone());
    let pointer = pointer.unwrap_or_else(|| annotation_pointer(keys::FABRIC_REVISION));
    let decision = if has_writes {
        RuleDecision::applied(Reason::FabricFellBack, pointer)
    } else {
        RuleDecision::skipped(Reason::FabricFellBack).with_field(pointer)
    };
    let cause = conflict.map_or_else(|| "running pods of the job fell back".to_owned(), ToString::to_string);
    let warning = format!("fabric {}: falling back to TCP: {cause}", selection.name);
    decision
        .with_detail(format!("{}: {cause}", selection.name))
        .with_notes(notes)
        .with_marker(format!("fabric={TCP}"))
        .with_warning(warning)
}

/// Refuses a pod with too few accelerators if the profile is not for its machine, else skips it.
fn decide_too_few(context: &RuleContext<'_>, selection: &Selection<'_>) -> RuleDecision {
    if let Some(conflict) = machines::conflict_of_small_pod(context, selection.profile) {
        return refuse(selection.name, &conflict, &[]);
    }
    let detail = format!("{}: {}", selection.name, target::required(selection.profile));
    RuleDecision::skipped(Reason::TooFewAccelerators).with_detail(detail)
}

/// Skips a pod whose claims do not show whether it has enough accelerators.
fn skip_unknown(name: &str, cause: &Uncertainty) -> RuleDecision {
    let warning = format!("fabric {name} not applied: {cause}");
    RuleDecision::skipped(Reason::AcceleratorsUnknown).with_detail(format!("{name}: {cause}")).with_warning(warning)
}

/// Skips the pod of a job whose queue may resolve `conflict`: the decision in the cluster depends on what the queue adds.
fn skip_pending(name: &str, conflict: &Conflict) -> RuleDecision {
    let mut decision = RuleDecision::skipped(Reason::InstanceTypeUnknown).with_detail(format!("{name}: {conflict}"));
    decision.field.clone_from(&conflict.field);
    decision
}

/// Refuses a pod with more than [`MAX_TARGETS`] targets.
fn too_many_targets(name: &str) -> RuleDecision {
    let conflict = format!("more than {MAX_TARGETS} containers request accelerators: use fewer containers");
    let warning = format!("fabric {name} not applied: {conflict}");
    RuleDecision::refused(Reason::FabricContradicted, format!("{name}: {conflict}"), warning)
}

/// Refuses a pod for `cause`, the first of `conflicts`. Every conflict is reported, because the user has to resolve all.
fn refuse(name: &str, cause: &Conflict, conflicts: &[Conflict]) -> RuleDecision {
    let reason = if cause.is_guard { Reason::FabricGuarded } else { Reason::FabricContradicted };
    let warning = |conflict: &Conflict| format!("fabric {name} not applied: {conflict}");
    let is_only = conflicts.len() < 2;
    let detail = if is_only { cause.to_string() } else { format!("{} conflicts", conflicts.len()) };
    let mut decision = RuleDecision::refused(reason, format!("{name}: {detail}"), warning(cause));
    decision.field.clone_from(&cause.field);
    if is_only {
        return decision;
    }
    let listed = conflicts.iter().take(MAX_CONFLICTS);
    let others = listed.clone().skip(1).map(warning);
    let notes = listed.map(|conflict| Note { text: conflict.to_string(), field: conflict.field.clone(), fix: None });
    others.fold(decision, RuleDecision::with_warning).with_notes(notes)
}
