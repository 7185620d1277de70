//! Whatever happens to controller, webhook, object or job: every pod is placed in the end.

use serde_json::json;

use crate::fixture::{Fixture, set_capacity};
use trainmesh_testing::controller::wait_for_event;

#[test]
fn a_burst_survives_the_loss_of_the_controller() {
    let mut fixture = Fixture::new("native", 64);
    let names: Vec<String> = (0..8).map(|index| format!("burst-{index}")).collect();
    let jobs: Vec<_> = names.iter().map(|name| fixture.job(name, 4)).collect();
    let (first, second) = jobs.split_at(4);
    fixture.create(first);
    // The Lease of the killed controller is still fresh.
    fixture.replace_controller();
    fixture.create(second);
    for name in &names {
        fixture.wait_placed(name, 4);
    }
}

#[test]
fn a_deleted_group_does_not_leave_its_pods_pending() {
    let fixture = Fixture::new("native", 3);
    fixture.create(&[fixture.job("train", 4)]);
    let _ = fixture.wait_pods("train", 4);
    let group = fixture.group_name("train");
    fixture.wait_group(&group, "exists", |group| group.is_some());
    let _ = fixture.namespace.delete("podgroups.scheduling.k8s.io", &group).success();
    fixture.wait_scheduler_caught_up();
    assert_eq!(fixture.placed("train"), 0);
    set_capacity(4);
    fixture.wait_placed("train", 4);
}

#[test]
fn a_suspended_job_releases_its_group_and_resumes() {
    let fixture = Fixture::new("native", 4);
    fixture.create(&[fixture.job("train", 4)]);
    fixture.wait_placed("train", 4);
    let group = fixture.group_name("train");
    fixture.patch("train", &json!({"spec": {"suspend": true}}));
    fixture.wait_group(&group, "of the suspended job is deleted", |group| group.is_none());
    fixture.patch("train", &json!({"spec": {"suspend": false}}));
    fixture.wait_placed("train", 4);
    fixture.wait_group(&fixture.group_name("train"), "exists again", |group| group.is_some());
}

#[test]
fn a_failed_job_releases_its_group() {
    let fixture = Fixture::new("native", 4);
    fixture.create(&[fixture.job_with_exit_code("train", 4, 1)]);
    fixture.wait_placed("train", 4);
    let group = fixture.group_name("train");
    fixture.complete("train");
    fixture.wait_group(&group, "of the failed job is deleted", |group| group.is_none());
    assert_eq!(
        fixture.namespace.get("job", "train").unwrap()["status"]["failed"].as_u64().map(|failed| failed > 0),
        Some(true)
    );
}

#[test]
fn a_job_can_be_recreated_under_its_name() {
    let fixture = Fixture::new("native", 4);
    fixture.create(&[fixture.job("train", 4)]);
    fixture.wait_placed("train", 4);
    let group = fixture.group_name("train");
    let _ = fixture.namespace.delete("job", "train").success();
    let _ = fixture.namespace.kubectl(&["wait", "--for=delete", "job/train", "--timeout=60s"], "").success();
    fixture.create(&[fixture.job("train", 4)]);
    fixture.wait_placed("train", 4);
    assert_ne!(fixture.group_name("train"), group);
    fixture.wait_group(&group, "of the deleted job is collected", |group| group.is_none());
}

#[test]
fn a_scaled_job_does_not_wait_for_the_pods_that_it_had() {
    let fixture = Fixture::new("native", 3);
    fixture.create(&[fixture.job("train", 4)]);
    let _ = fixture.wait_pods("train", 4);
    let group = fixture.group_name("train");
    fixture.wait_group(&group, "exists", |group| group.is_some());
    fixture.patch("train", &json!({"spec": {"parallelism": 3, "completions": 3}}));
    fixture.wait_placed("train", 3);
}

#[test]
fn a_pod_that_the_webhook_missed_releases_its_gang() {
    let fixture = Fixture::new("native", 3);
    fixture.create(&[fixture.job("train", 4)]);
    let pods = fixture.wait_pods("train", 4);
    let group = fixture.group_name("train");
    fixture.wait_group(&group, "is a gang of four", |group| {
        group.is_some_and(|group| group["spec"]["schedulingPolicy"]["gang"]["minCount"] == 4)
    });
    fixture.webhook.process.signal("STOP");
    let _ = fixture.namespace.delete("pod", pods[0]["metadata"]["name"].as_str().unwrap()).success();
    let replaced = fixture.wait_pods("train", 4);
    fixture.webhook.process.signal("CONT");
    let without_key = replaced.iter().filter(|pod| pod["spec"]["schedulingGroup"].is_null()).count();
    assert_eq!(without_key, 1, "the webhook was stopped");
    set_capacity(4);
    fixture.wait_placed("train", 4);
    let event = wait_for_event(&fixture.namespace, "train", "GangReleased");
    assert!(event.warning && event.note.contains("created without the webhook"), "{event:?}");
}
