//! Two jobs of four pods on capacity for six.

use rstest::rstest;
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::kinds::Kind;
use crate::scheduler::Scheduler;
use trainmesh_testing::cluster::{TIMEOUT, eventually};

/// Number of pods for which there is capacity.
pub const CAPACITY: u32 = 6;

const JOBS: [&str; 2] = ["first", "second"];
/// Number of pods of each job.
const SIZE: usize = 4;

#[rstest]
#[case::native(Scheduler::NATIVE)]
#[case::volcano(Scheduler::VOLCANO)]
#[ignore = "builds scheduler-plugins: `make soak` runs it"]
#[case::coscheduling(Scheduler::COSCHEDULING)]
fn without_gangs_a_job_is_placed_in_part(#[case] scheduler: Scheduler) {
    check_in_part(scheduler);
}

/// Checks that of two jobs without keys, one is placed in part.
pub fn check_in_part(scheduler: Scheduler) {
    let fixture = Fixture::without_gangs(scheduler, CAPACITY);
    fixture.create(&JOBS.map(|name| fixture.job(name, 4)));
    eventually(TIMEOUT, "six pods are placed", || {
        let placed = JOBS.map(|name| fixture.placed(name));
        if placed.iter().sum::<usize>() == 6 { Ok(()) } else { Err(format!("{placed:?}")) }
    });
    let placed = JOBS.map(|name| fixture.placed(name));
    assert!(placed.iter().any(|placed| (1..SIZE).contains(placed)), "{placed:?}");
}

#[rstest]
#[case::native_job(Scheduler::NATIVE, Kind::JOB)]
#[case::native_pytorchjob(Scheduler::NATIVE, Kind::PYTORCH_JOB)]
#[case::volcano_job(Scheduler::VOLCANO, Kind::JOB)]
#[case::volcano_pytorchjob(Scheduler::VOLCANO, Kind::PYTORCH_JOB)]
fn with_gangs_one_job_is_placed_and_the_other_waits(#[case] scheduler: Scheduler, #[case] kind: Kind) {
    kind.start_operator();
    check_placed_whole(&Fixture::new(scheduler, CAPACITY), kind, Completion::Complete);
}

#[test]
fn volcano_gets_the_topology_that_the_pods_request() {
    let fixture = Fixture::new(Scheduler::VOLCANO, CAPACITY);
    let mut job = fixture.job("first", 4);
    job["spec"]["template"]["metadata"]["annotations"] =
        json!({"volcano.sh/network-topology-mode": "soft", "volcano.sh/network-topology-highest-tier": "2"});
    fixture.create(&[job]);
    fixture.wait_placed("first", SIZE);
    let group = fixture.group(&fixture.group_name("first")).unwrap_or_default();
    assert_eq!(group["spec"]["networkTopology"], json!({"mode": "soft", "highestTierAllowed": 2}), "{group}");
}

/// How the first job ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// Its pods complete.
    Complete,
    /// It is deleted, because the sidecars of its pods do not complete.
    Delete,
}

/// Checks that one of two jobs is placed, and that the other waits as a whole until the first has ended.
pub fn check_placed_whole(fixture: &Fixture, kind: Kind, completion: Completion) {
    let manifests: Vec<_> = JOBS.iter().flat_map(|name| (kind.manifests)(fixture, name, 4)).collect();
    fixture.create(&manifests);
    for name in JOBS {
        let pods = fixture.wait_pods(name, SIZE);
        let applied = format!("gang={}", fixture.scheduler.mode);
        let is_applied = |pod: &Value| {
            let text = pod["metadata"]["annotations"]["trainmesh.dev/applied"].as_str().unwrap_or_default();
            text.split(',').any(|rule| rule == applied)
        };
        assert!(pods.iter().all(is_applied), "{pods:?}");
    }
    if fixture.scheduler.api().is_some() {
        check_groups(fixture, kind);
    }
    fixture.wait_scheduler_caught_up();
    eventually(TIMEOUT, "one job is placed", || {
        let placed = JOBS.map(|name| fixture.placed(name));
        if placed == [SIZE, 0] || placed == [0, SIZE] { Ok(()) } else { Err(format!("{placed:?}")) }
    });
    let [done, waiting] = if fixture.placed(JOBS[0]) == SIZE { JOBS } else { [JOBS[1], JOBS[0]] };
    fixture.wait_scheduler_caught_up();
    assert_eq!(fixture.placed(waiting), 0);

    end(fixture, kind, completion, done);
    fixture.wait_placed(waiting, SIZE);
    end(fixture, kind, completion, waiting);
}

/// Checks that each job has a `PodGroup` of its size that it owns, without being its controller.
fn check_groups(fixture: &Fixture, kind: Kind) {
    for name in JOBS {
        let group = fixture.group_name(name);
        fixture.wait_minimum(&group, 4);
        let owner = fixture.group(&group).unwrap()["metadata"]["ownerReferences"][0].take();
        assert_eq!((owner["kind"].as_str(), owner["name"].as_str()), (Some(kind.owner()), Some(name)));
        assert!(owner["controller"].is_null() && owner["blockOwnerDeletion"].is_null(), "{owner}");
    }
}

/// Ends a job, and waits until its `PodGroup` is deleted.
fn end(fixture: &Fixture, kind: Kind, completion: Completion, job: &str) {
    let group = fixture.scheduler.api().is_some().then(|| fixture.group_name(job));
    match completion {
        Completion::Complete => {
            // A Worker of a PyTorchJob starts only while its Master runs.
            fixture.wait_running(job, SIZE);
            fixture.complete(job);
        }
        Completion::Delete => drop(fixture.namespace.delete(kind.resource, job).success()),
    }
    if let Some(group) = group {
        fixture.wait_deleted(&group);
    }
}
