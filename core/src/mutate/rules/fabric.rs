//! fabric: a pod gets what the fabric profile of its namespace, or its own, says that it needs, all of it or nothing.
//!
//! Every part of a profile is first held against the pod: it is *missing* (and is planned), *there* already, *kept* (the
//! user's own tuning, told in the message) or in *conflict*. The plan of the parts reaches the pod's only when there is
//! no conflict and no guard says no: a pod with half a fabric hangs, where one without merely is slow.

mod conflict;
mod dra;
mod gke;
mod guards;
mod mesh;
mod multus;
mod pod;
mod resources;
mod route;
mod security;
mod select;
mod settings;
mod sidecars;
mod spread;
mod target;
mod volumes;
mod work;

use super::{Facts, Ruling, annotation_pointer};
use crate::config::Entry;
use crate::config::profile::{Amount, OnConflict, ResourceName};
use crate::fabric::is_rdma;
use crate::keys;
use crate::mutate::rules::managed::MANAGED;
use crate::mutate::{Plan, Reason};
use select::{Selected, select};
use target::{MOST, Targets, requests, targets};
use work::{Conflict, Work};

/// The profile that a pod falls back to.
const TCP: &str = "tcp";

pub(super) fn decide(facts: &Facts<'_>, plan: &mut Plan) -> Ruling {
    if facts.istio_aux() {
        return Ruling::skipped(Reason::IstioAuxNamespace);
    }
    if !facts.snapshot.config.fabric.enabled {
        return Ruling::skipped(Reason::FabricOff);
    }
    let selected = match select(facts) {
        Ok(selected) => selected,
        Err(ruling) => return *ruling,
    };
    let targets = match targets(facts.pod, selected.profile) {
        Targets::Of(targets) => targets,
        Targets::None => return Ruling::skipped(Reason::NoAccelerator).saying(selected.name),
        Targets::TooFew => return Ruling::skipped(Reason::TooFewAccelerators).saying(selected.name),
        Targets::TooMany => return too_many(selected.name),
    };
    if !selected.is_allowed(facts) {
        return selected.not_allowed(facts);
    }
    if selected.refuses() {
        return selected.refusal();
    }
    if selected.siblings_fell_back {
        return fall_back(facts, &selected, &Work::new(facts, selected.profile, targets), plan, None);
    }
    let mut work = Work::new(facts, selected.profile, targets);
    judge(&mut work);
    let warnings = guards::guard(&mut work);
    match work.conflicts.first() {
        None => commit(facts, &selected, work, warnings, plan),
        Some(conflict) if selected.profile.on_conflict == OnConflict::Tcp && !selected.pinned => {
            fall_back(facts, &selected, &work, plan, Some(conflict))
        }
        Some(conflict) => refuse(selected.name, conflict, work.conflicts.len()),
    }
}

/// Holds every part of the profile against the pod.
fn judge(work: &mut Work<'_>) {
    conflict::plan(work);
    let devices = resources::plan(work);
    security::plan(work);
    volumes::plan(work);
    settings::plan(work);
    multus::plan(work, devices);
    gke::plan(work);
    dra::plan(work);
    sidecars::plan(work);
    pod::plan(work);
    spread::plan(work);
    mesh::plan(work);
}

/// Writes what was planned, and what tells of it.
fn commit(
    facts: &Facts<'_>,
    selected: &Selected<'_>,
    mut work: Work<'_>,
    warnings: Vec<String>,
    plan: &mut Plan,
) -> Ruling {
    mark(facts, selected.revision, &mut work.plan);
    let parts = work.parts();
    let missing = !work.plan.writes().is_empty();
    plan.absorb(work.plan);
    let ruling = if missing {
        Ruling::applied(Reason::FabricAdded, annotation_pointer(keys::FABRIC_REVISION))
    } else {
        Ruling::skipped(Reason::FabricPresent).at(annotation_pointer(keys::FABRIC_REVISION))
    };
    let named = ruling.saying(selected.name).parts(parts).in_force(format!("fabric={}", selected.name));
    warnings.into_iter().fold(named, Ruling::warn)
}

/// The revision, and the label by which the controller finds the pod.
fn mark(facts: &Facts<'_>, revision: &str, plan: &mut Plan) {
    if facts.pod.annotation(keys::FABRIC_REVISION) != Some(revision) {
        plan.set_annotation(keys::FABRIC_REVISION, revision);
    }
    if facts.pod.label(keys::MANAGED) != Some(MANAGED) {
        plan.set_label(keys::MANAGED, MANAGED);
    }
}

/// The settings of profile `tcp` alone, instead of a profile that the pod cannot have. A pod that asks for RDMA by itself
/// is left as it is.
fn fall_back(
    facts: &Facts<'_>,
    selected: &Selected<'_>,
    judged: &Work<'_>,
    plan: &mut Plan,
    conflict: Option<&Conflict>,
) -> Ruling {
    let left = |conflict: Option<&Conflict>| match conflict {
        Some(conflict) => refuse(selected.name, conflict, judged.conflicts.len()),
        None => selected.refusal(),
    };
    let allowed = |entry: &&Entry| entry.profile.allows(facts.snapshot.namespace, facts.snapshot.labels);
    let Some(entry) = facts.snapshot.config.fabric.profiles.find(TCP).filter(allowed) else { return left(conflict) };
    let profile = judged.profile;
    let devices = profile.resources.iter().filter(|resource| matches!(resource.amount, Amount::Devices { .. }));
    let own = devices.map(|resource| &resource.name).chain(&profile.dra.extended_resource).map(ResourceName::as_str);
    let rdma = requests(facts.pod).any(|(_, asked)| is_rdma(asked) || own.clone().any(|own| own == asked));
    if rdma {
        return left(conflict);
    }
    let mut work = Work::new(facts, &entry.profile, judged.targets.clone());
    conflict::plan(&mut work);
    settings::plan(&mut work);
    if !work.conflicts.is_empty() {
        return left(conflict.or(work.conflicts.first()));
    }
    mark(facts, &entry.revision, &mut work.plan);
    let parts = work.parts();
    let missing = !work.plan.writes().is_empty();
    plan.absorb(work.plan);
    let pointer = annotation_pointer(keys::FABRIC_REVISION);
    let ruling = if missing {
        Ruling::applied(Reason::FabricFellBack, pointer)
    } else {
        Ruling::skipped(Reason::FabricFellBack).at(pointer)
    };
    let why = conflict.map_or_else(|| "its siblings did".to_owned(), ToString::to_string);
    let warning = format!("fabric {}: TCP instead: {why}", selected.name);
    ruling.saying(format!("{}: {why}", selected.name)).parts(parts).in_force(format!("fabric={TCP}")).warn(warning)
}

/// No node runs such a pod.
fn too_many(name: &str) -> Ruling {
    let what = format!("more than {MOST} containers ask for accelerators: ask in fewer");
    let warning = format!("fabric {name} not given: {what}");
    Ruling::refused(Reason::FabricContradicted, format!("{name}: {what}"), warning)
}

fn refuse(name: &str, conflict: &Conflict, conflicts: usize) -> Ruling {
    let reason = if conflict.guard { Reason::FabricGuarded } else { Reason::FabricContradicted };
    let more = if conflicts > 1 { format!(" ({} more)", conflicts - 1) } else { String::new() };
    Ruling::refused(reason, format!("{name}: {conflict}{more}"), format!("fabric {name} not given: {conflict}{more}"))
}

impl Ruling {
    fn parts(mut self, parts: Vec<String>) -> Self {
        self.parts = parts;
        self
    }

    fn in_force(mut self, word: String) -> Self {
        self.in_force = Some(word);
        self
    }
}
