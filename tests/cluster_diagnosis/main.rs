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

mod dump;
mod faults;
mod job;
mod torchrun;
mod trial;

use rstest::rstest;
use trainmesh_testing::cluster::{TIMEOUT, eventually};

use dump::Dump;
use faults::{FAULTS, Fault};

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
    let fault = fault(name);
    let (namespace, expected) = ((fault.plant)(), Some(fault.expected()));
    eventually(TIMEOUT, &format!("{name}: {expected:?}"), || match Dump::read(&namespace).later().first_finding() {
        found if found == expected => Ok(()),
        found => Err(format!("{found:?}")),
    });
}

#[test]
fn a_healthy_job_has_no_finding() {
    let namespace = faults::namespace(&[]);
    job::TrainingJob::new().create(&namespace);
    job::wait_for_running(&namespace, 2);
    // Until the operator has seen the pods run, the dump is that of a job which does not start.
    eventually(TIMEOUT, "no finding", || Dump::read(&namespace).later().first_finding().map_or(Ok(()), Err));
}
