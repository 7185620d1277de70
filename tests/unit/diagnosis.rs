//! Findings of a diagnosis, each with a snapshot that has it and near misses that have not.

mod bounds;
mod changes;
mod commands;
mod completed_early;
mod crash;
mod declared_gangs;
mod ended;
mod events;
mod fabric;
mod fixes;
mod homonyms;
mod inventory;
mod mesh;
mod missing;
mod mpi;
mod nodes;
mod not_started;
mod objects;
mod pod_groups;
mod queue;
mod ras;
mod rendezvous;
mod repeats;
mod scheduling;
mod start;
mod suspicion;
mod target;
mod tracker;
mod transport;
mod waste;

use jiff::Timestamp;
use serde_json::Value;
use trainmesh_core::diagnosis::{ClusterSnapshot, DiagnosisReport, Selection, diagnose};

/// Diagnoses `objects` at [`objects::NOW`].
fn report(objects: &[Value]) -> DiagnosisReport {
    let mut snapshot = ClusterSnapshot::default();
    for object in objects {
        assert!(snapshot.add(object, "default").unwrap(), "ignored: {object}");
    }
    diagnose(&snapshot, &Selection::default(), objects::NOW.parse::<Timestamp>().unwrap())
}

/// Returns the findings in short form: severity, code, and whether the problem disappears by itself.
fn findings(objects: &[Value]) -> Vec<String> {
    let report = report(objects);
    let short = report.diagnoses.iter().map(|found| {
        let severity = serde_json::to_value(found.finding.severity).unwrap();
        format!("{} {} {}", severity.as_str().unwrap(), found.code.code(), found.recovery.recovers().name())
    });
    short.collect()
}

/// Checks the findings about `objects`.
fn check(objects: &[Value], expected: &[&str]) {
    assert_eq!(findings(objects), expected);
}
