//! `trainmesh diagnose` about jobs of the real training-operator, each with a failure that is planted on a real kubelet.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_diagnosis
//! ```
//!
//! Some findings need minutes without a change. The tests diagnose a dump at a later time instead of waiting; only the trial,
//! which runs alone, diagnoses the live cluster:
//!
//! ```text
//! TRIAL_SEED=7 tests/cluster/cluster exec -- cargo test … --test cluster_diagnosis -- --ignored --nocapture
//! ```

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    unreachable_pub,
    reason = "tests fail by panicking; the modules belong to no library"
)]

mod faults;
mod job;
mod trial;

use rstest::rstest;
use serde_json::Value;
use trainmesh_testing::cli::trainmesh;
use trainmesh_testing::cluster::{Namespace, TIMEOUT, eventually};

use faults::{FAULTS, Fault};

/// Objects that a person would dump.
const DUMPED: &str = "pods,events,services,pytorchjobs";
/// Time after the dump at which it is diagnosed, in minutes: longer than each finding needs.
const LATER: i64 = 6;

/// Returns the finding that `diagnose` prints first about a dump of `namespace`, some minutes later.
fn first_finding_later(namespace: &Namespace) -> Option<String> {
    let dump = namespace.kubectl(&["get", DUMPED, "-o", "json"], "").success().stdout;
    let nodes = namespace.kubectl(&["get", "nodes", "-o", "json"], "").success().stdout;
    let now = (jiff::Timestamp::now() + jiff::SignedDuration::from_mins(LATER)).to_string();
    let run = trainmesh(&["diagnose", "-o", "json", "--now", &now, "-f", "-"], &format!("{dump}\n---\n{nodes}"));
    first_finding(&run.stdout)
}

/// Returns the first finding of a report as JSON.
fn first_finding(report: &str) -> Option<String> {
    let report: Value = serde_json::from_str(report).ok()?;
    report["findings"][0]["id"].as_str().map(str::to_owned)
}

fn fault(name: &str) -> &'static Fault {
    FAULTS.iter().find(|fault| fault.name == name).expect("a fault of this name")
}

#[rstest]
fn the_planted_failure_is_found_first(
    #[values(
        "master killed behind its worker",
        "worker killed alone",
        "wrong MASTER_PORT",
        "broken selector of the Service",
        "main container ended, and no controller",
        "proxy ended before the main container",
        "a node for a part of the gang",
        "image that cannot be pulled on one rank",
        "device that no node offers",
        "rank that exceeds its memory",
        "rank that fails for good"
    )]
    name: &str,
) {
    let Fault { plant, expected, .. } = fault(name);
    let namespace = plant();
    eventually(TIMEOUT, &format!("{name}: {expected}"), || match first_finding_later(&namespace) {
        Some(found) if found == *expected => Ok(()),
        found => Err(format!("{found:?}")),
    });
}

#[test]
fn a_healthy_job_has_no_finding() {
    let namespace = faults::namespace(&[]);
    job::TrainingJob::new().create(&namespace);
    job::wait_for_running(&namespace, 2);
    assert_eq!(first_finding_later(&namespace), None);
}
