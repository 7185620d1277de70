//! Two jobs of four pods on capacity for six.

use rstest::rstest;
use serde_json::Value;

use crate::fixture::Fixture;
use trainmesh_testing::cluster::{Cluster, TIMEOUT, eventually};

const JOBS: [&str; 2] = ["first", "second"];

#[test]
fn without_gangs_a_job_is_placed_in_part() {
    let fixture = Fixture::new("none", 6);
    fixture.create(&JOBS.map(|name| fixture.job(name, 4)));
    eventually(TIMEOUT, "six pods are placed", || {
        let placed = JOBS.map(|name| fixture.placed(name));
        if placed.iter().sum::<usize>() == 6 { Ok(()) } else { Err(format!("{placed:?}")) }
    });
    let placed = JOBS.map(|name| fixture.placed(name));
    assert!(placed.iter().any(|placed| (1..4).contains(placed)), "{placed:?}");
}

/// Creates a job of so many pods.
type Create = fn(&Fixture, &str, u32) -> Value;

#[rstest]
#[case::job(Fixture::job, "Job", None)]
#[case::pytorchjob(Fixture::pytorch_job, "PyTorchJob", Some("training-operator"))]
fn with_gangs_one_job_is_placed_and_the_other_waits(
    #[case] job: Create,
    #[case] kind: &str,
    #[case] operator: Option<&str>,
) {
    if let Some(operator) = operator {
        Cluster::get().start_operator(operator);
    }
    let fixture = Fixture::new("native", 6);
    fixture.create(&JOBS.map(|name| job(&fixture, name, 4)));
    for name in JOBS {
        let _ = fixture.wait_pods(name, 4);
    }
    let groups = JOBS.map(|name| fixture.group_name(name));
    for (name, group) in JOBS.iter().zip(&groups) {
        fixture.wait_group(group, "is a gang of four", |group| {
            group.is_some_and(|group| group["spec"]["schedulingPolicy"]["gang"]["minCount"] == 4)
        });
        let owner = &fixture.group(group).unwrap()["metadata"]["ownerReferences"][0];
        assert_eq!((&owner["kind"], &owner["name"]), (&kind.into(), &(*name).into()));
        assert!(owner["controller"].is_null() && owner["blockOwnerDeletion"].is_null(), "{owner}");
    }
    fixture.wait_scheduler_caught_up();
    eventually(TIMEOUT, "one job is placed", || {
        let placed = JOBS.map(|name| fixture.placed(name));
        if placed == [4, 0] || placed == [0, 4] { Ok(()) } else { Err(format!("{placed:?}")) }
    });
    let (done, waiting) = if fixture.placed(JOBS[0]) == 4 { (0, 1) } else { (1, 0) };
    fixture.wait_scheduler_caught_up();
    assert_eq!(fixture.placed(JOBS[waiting]), 0);

    fixture.complete(JOBS[done]);
    fixture.wait_placed(JOBS[waiting], 4);
    fixture.wait_group(&groups[done], "of the completed job is deleted", |group| group.is_none());
    fixture.complete(JOBS[waiting]);
    fixture.wait_group(&groups[waiting], "of the completed job is deleted", |group| group.is_none());
}
