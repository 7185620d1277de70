//! Finds out why the pods of a training job wait, hang or do not complete, from the objects of the cluster.
//!
//! [`diagnose`] is a pure function of a [`ClusterSnapshot`], which a dump or a live cluster fills, and of the time.
//! Each [`Diagnosis`] is one cause: with the fields that prove it, whether it disappears by itself
//! ([`Recovery`], the table of `docs/diagnose.md`), and a fix. An object counts as absent only if the snapshot contains
//! the others of its kind. The API does not show a collective operation that hangs while all containers run: no
//! finding is no proof of progress.

mod changes;
mod code;
mod commands;
mod consequence;
mod context;
mod fabric;
mod inventory;
mod job;
mod json;
mod kubernetes;
mod mesh;
mod mpi;
mod page;
mod published;
mod ras;
mod recovery;
mod related;
mod rendezvous;
mod replacement;
mod report;
mod snapshot;
mod suspicion;
mod target;
mod tracker;
mod transport;
mod waste;

use jiff::Timestamp;

pub use changes::ReportChanges;
pub use code::{DiagnosisCode, Layer};
pub use inventory::{
    AcceleratorUse, DeviceSource, Inventory, InventoryCounts, InventoryEntry, MAX_ENTRIES, MeshState, Sign,
    WorkloadClass, inventory,
};
pub use page::reference_page;
pub use published::PublishedFinding;
pub use ras::{RasTarget, ras_targets};
pub use recovery::{Recovers, Recovery};
pub use related::RelatedObjects;
pub use report::{Diagnosis, DiagnosisReport, Evidence, MAX_DIAGNOSES, MAX_EVIDENCE, MAX_MESSAGE};
pub use snapshot::log::{ContainerLog, LogName};
pub use snapshot::node::NodeRecord;
pub use snapshot::ras::{
    Communicator, MAX_RAS_RESPONSE, MissingRank, RankState, RasError, RasRecord, RasReport, RasResult,
};
pub use snapshot::reference::WorkloadName;
pub use snapshot::{ClusterSnapshot, MAX_LOGS, MAX_OBJECTS, ObjectKind, ObjectReader, ObjectRecord, SnapshotError};
pub use suspicion::{PodWorkload, Suspicion};
pub use target::{Selection, Target, TargetError};
pub use tracker::{FindingKey, FindingTracker, MAX_TRACKED, TrackedChanges};
pub use transport::{LogReader, MAX_LINE, MAX_LOG, MAX_LOG_CONTAINERS, UnassignedLog, log_targets};
pub use waste::{Waste, WasteCause};

use context::Context;
use job::Job;

/// Diagnoses the selected workloads of a snapshot. `now` is the time to which durations refer.
#[must_use]
pub fn diagnose(snapshot: &ClusterSnapshot, selection: &Selection, now: Timestamp) -> DiagnosisReport {
    let context = Context::new(snapshot, now);
    let is_selected = |job: &&Job<'_>| selection.selects(job);
    let mut diagnoses = Vec::new();
    let (mut workloads, mut pods, mut logs, mut json_logs) = (0, 0, 0, 0);
    for job in context.jobs.iter().filter(is_selected) {
        workloads += 1;
        pods += job.pods.len();
        for log in job.pods.iter().flat_map(|pod| context.logs(pod)) {
            logs += 1;
            json_logs += usize::from(log.is_json == Some(true));
        }
        let others = diagnoses.len();
        kubernetes::check_job(job, &context, &mut diagnoses);
        mesh::check_job(job, &context, &mut diagnoses);
        rendezvous::check_job(job, &context, &mut diagnoses);
        mpi::check_job(job, &context, &mut diagnoses);
        fabric::check_job(job, &context, &mut diagnoses);
        transport::check_job(job, &context, &mut diagnoses);
        ras::check_job(job, &snapshot.ras, &mut diagnoses);
        consequence::lower(&mut diagnoses[others..]);
    }
    let mut of_cluster = Vec::new();
    kubernetes::check_cluster(&context, &mut of_cluster);
    rendezvous::check_cluster(&context, &mut of_cluster);
    consequence::leave_out_gangs_without_place(&mut diagnoses, &of_cluster);
    consequence::lower_deadlocked(&mut diagnoses, &of_cluster);
    diagnoses.extend(of_cluster.into_iter().filter(|found| {
        let mut selected = context.jobs.iter().filter(is_selected);
        let is_everything = selection.target.is_none() && selection.selects_namespace(&found.workload.namespace);
        is_everything || selected.any(|job| found.concerns(&job.workload_name()))
    }));
    // The worst first, then those that waste most.
    diagnoses.sort_by_cached_key(|found| {
        let waste = found.waste.map_or(0, |waste| waste.accelerator_seconds);
        (found.finding.severity, std::cmp::Reverse(waste), found.code.rank(), found.workload.clone())
    });
    let omitted = diagnoses.len().saturating_sub(MAX_DIAGNOSES);
    diagnoses.truncate(MAX_DIAGNOSES);
    let hint = if workloads == 0 { selection.hint(&context) } else { None };
    let selected = snapshot.pods.iter().filter(|pod| selection.selects_namespace(&pod.namespace));
    let excluded_pods = if workloads == 0 { selected.count() } else { 0 };
    DiagnosisReport { now, workloads, pods, logs, json_logs, diagnoses, omitted, hint, excluded_pods }
}
