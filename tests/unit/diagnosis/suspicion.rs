//! Pods that the controller diagnoses.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::{PodWorkload, Suspicion};
use trainmesh_core::lifecycle::PodFacts;
use trainmesh_core::pod::Pod;

use super::objects::{START, ago, main_status, rank, rank_of, unscheduled, waiting, with};

fn terminated(code: i64) -> Value {
    main_status(json!({"state": {"terminated": {"exitCode": code, "finishedAt": ago(600)}}}))
}

/// Changes the healthy pod, and expects the time from which it is diagnosed.
#[rstest]
#[case::runs(json!({}), None)]
#[case::completed(json!({"status": {"phase": "Succeeded"}}), None)]
#[case::main_container_finished(terminated(0), Some(ago(540)))]
#[case::main_container_failed(terminated(1), Some(ago(540)))]
#[case::finished_at_an_unknown_time(main_status(json!({"state": {"terminated": {"exitCode": 0}}})), Some(ago(3540)))]
#[case::waits(waiting("ImagePullBackOff", ""), Some(ago(3540)))]
#[case::not_reported(json!({"status": {"containerStatuses": null}}), Some(ago(3540)))]
#[case::restarted(main_status(json!({"restartCount": 1, "state": {"running": {"startedAt": START}}})), Some(ago(3540)))]
#[case::failed(json!({"status": {"phase": "Failed"}}), Some(ago(3540)))]
#[case::node_lost(json!({"status": {"phase": "Unknown"}}), Some(ago(3540)))]
#[case::unscheduled(unscheduled(&ago(100)), Some(ago(40)))]
#[case::being_deleted(json!({"metadata": {"deletionTimestamp": ago(10)}}), Some(ago(3540)))]
fn signs(#[case] patch: Value, #[case] expected: Option<String>) {
    let pod = with(rank(1), patch);
    let pod = Pod::new(&pod);
    let found = Suspicion::new(pod, &PodFacts::read(pod));
    assert_eq!(found.map(|found| found.from.to_string()), expected);
}

#[rstest]
#[case::labels(rank(0), true)]
#[case::another_rank(rank(3), true)]
#[case::another_job(rank_of("gpt", 1), false)]
#[case::without_labels(with(rank(1), json!({"metadata": {"labels": null}})), true)]
#[case::bare(with(rank(1), json!({"metadata": {"labels": null, "ownerReferences": null}})), false)]
fn workloads(#[case] pod: Value, #[case] expected: bool) {
    assert_eq!(PodWorkload::of(Pod::new(&pod)) == PodWorkload::of(Pod::new(&rank(1))), expected);
}
