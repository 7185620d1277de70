//! Whatever happens to controller, webhook, object or job: every pod is placed in the end.

use rstest::rstest;
use serde_json::json;

use crate::fixture::{Fixture, set_capacity};
use crate::scheduler::Scheduler;
use trainmesh_testing::controller::wait_for_event;

#[test]
fn a_burst_survives_the_loss_of_the_controller() {
    let mut fixture = Fixture::new(Scheduler::NATIVE, 64);
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

/// A leader that exits releases its Lease; that of a killed one expires.
#[rstest]
#[case::exited("TERM")]
#[case::killed("KILL")]
fn a_burst_survives_a_change_of_the_leader(#[case] signal: &str) {
    let mut fixture = Fixture::new(Scheduler::NATIVE, 64);
    let standby = fixture.start_standby();
    let names: Vec<String> = (0..12).map(|index| format!("burst-{index}")).collect();
    for (index, name) in names.iter().enumerate() {
        fixture.create(&[fixture.job(name, 4)]);
        if index == names.len() / 2 {
            fixture.controller.signal(signal);
            fixture.controller.wait_for_exit();
        }
    }
    standby.wait_for_metric("trainmesh_leader", 1);
    for name in &names {
        fixture.wait_placed(name, 4);
        for pod in fixture.pods(name) {
            let group = fixture.scheduler.gang_named_by(&pod);
            assert!(group.is_none_or(|group| fixture.group(group).is_some()), "{pod}");
        }
    }
}

#[rstest]
#[case::native(Scheduler::NATIVE)]
#[case::volcano(Scheduler::VOLCANO)]
fn a_deleted_group_does_not_leave_its_pods_pending(#[case] scheduler: Scheduler) {
    let fixture = Fixture::new(scheduler, 3);
    fixture.create(&[fixture.job("train", 4)]);
    let _ = fixture.wait_pods("train", 4);
    let group = fixture.group_name("train");
    fixture.wait_group(&group, "exists", |group| group.is_some());
    let _ = fixture.namespace.delete(&scheduler.groups(), &group).success();
    fixture.wait_scheduler_caught_up();
    assert_eq!(fixture.placed("train"), 0);
    set_capacity(4);
    fixture.wait_placed("train", 4);
}

#[rstest]
#[case::native(Scheduler::NATIVE)]
#[case::volcano(Scheduler::VOLCANO)]
fn a_suspended_job_releases_its_group_and_resumes(#[case] scheduler: Scheduler) {
    let fixture = Fixture::new(scheduler, 4);
    fixture.create(&[fixture.job("train", 4)]);
    fixture.wait_placed("train", 4);
    let group = fixture.group_name("train");
    fixture.patch("train", &json!({"spec": {"suspend": true}}));
    fixture.wait_deleted(&group);
    fixture.patch("train", &json!({"spec": {"suspend": false}}));
    fixture.wait_placed("train", 4);
    fixture.wait_group(&fixture.group_name("train"), "exists again", |group| group.is_some());
}

/// The first step to stop gangs: no namespace selects a mode any more. The fourth pod never exists.
#[rstest]
#[case::same_leader(false)]
#[case::new_leader(true)]
fn a_gang_is_released_after_its_mode_is_not_selected_any_more(#[case] replaces_leader: bool) {
    let mut fixture = Fixture::new(Scheduler::NATIVE, 4);
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "pods"}, "spec": {"hard": {"pods": "3"}}});
    let _ = fixture.namespace.create(&quota).success();
    fixture.create(&[fixture.job("train", 4)]);
    let _ = fixture.wait_pods("train", 3);
    fixture.label("trainmesh.dev/gang=none");
    if replaces_leader {
        fixture.replace_controller();
    }
    fixture.wait_placed("train", 3);
    fixture.wait_announced(&Scheduler::NATIVE.api().unwrap().api_version());
}

#[test]
fn a_failed_job_releases_its_group() {
    let fixture = Fixture::new(Scheduler::NATIVE, 4);
    fixture.create(&[fixture.job_with_exit_code("train", 4, 1)]);
    fixture.wait_placed("train", 4);
    let group = fixture.group_name("train");
    fixture.complete("train");
    fixture.wait_deleted(&group);
    assert_eq!(
        fixture.namespace.get("job", "train").unwrap()["status"]["failed"].as_u64().map(|failed| failed > 0),
        Some(true)
    );
}

#[test]
fn a_job_can_be_recreated_under_its_name() {
    let fixture = Fixture::new(Scheduler::NATIVE, 4);
    fixture.create(&[fixture.job("train", 4)]);
    fixture.wait_placed("train", 4);
    let group = fixture.group_name("train");
    let _ = fixture.namespace.delete("job", "train").success();
    let _ = fixture.namespace.kubectl(&["wait", "--for=delete", "job/train", "--timeout=240s"], "").success();
    // Pods of the deleted job are deleted later.
    let _ = fixture.wait_pods("train", 0);
    fixture.create(&[fixture.job("train", 4)]);
    fixture.wait_placed("train", 4);
    assert_ne!(fixture.group_name("train"), group);
    fixture.wait_deleted(&group);
}

#[rstest]
#[case::native(Scheduler::NATIVE)]
#[case::volcano(Scheduler::VOLCANO)]
fn a_scaled_job_does_not_wait_for_the_pods_that_it_had(#[case] scheduler: Scheduler) {
    let fixture = Fixture::new(scheduler, 3);
    fixture.create(&[fixture.job("train", 4)]);
    let _ = fixture.wait_pods("train", 4);
    let group = fixture.group_name("train");
    fixture.wait_group(&group, "exists", |group| group.is_some());
    fixture.patch("train", &json!({"spec": {"parallelism": 3, "completions": 3}}));
    fixture.wait_placed("train", 3);
}

#[rstest]
#[case::native(Scheduler::NATIVE)]
#[case::volcano(Scheduler::VOLCANO)]
fn a_pod_that_the_webhook_missed_releases_its_gang(#[case] scheduler: Scheduler) {
    let fixture = Fixture::new(scheduler, 3);
    fixture.create(&[fixture.job("train", 4)]);
    let pods = fixture.wait_pods("train", 4);
    let group = fixture.group_name("train");
    fixture.wait_minimum(&group, 4);
    fixture.webhook.process.signal("STOP");
    let _ = fixture.namespace.delete("pod", pods[0]["metadata"]["name"].as_str().unwrap()).success();
    let replaced = fixture.wait_pods("train", 4);
    fixture.webhook.process.signal("CONT");
    let without_key = replaced.iter().filter(|pod| scheduler.gang_named_by(pod).is_none()).count();
    assert_eq!(without_key, 1, "the webhook was stopped");
    set_capacity(4);
    fixture.wait_placed("train", 4);
    let event = wait_for_event(&fixture.namespace, "train", "GangReleased");
    assert!(event.warning && event.note.contains("created without the webhook"), "{event:?}");
}

#[rstest]
#[case::native(Scheduler::NATIVE)]
#[case::volcano(Scheduler::VOLCANO)]
fn a_rank_is_replaced_after_another_has_completed(#[case] scheduler: Scheduler) {
    let fixture = Fixture::new(scheduler, 3);
    fixture.create(&[fixture.job("train", 3)]);
    fixture.wait_placed("train", 3);
    fixture.complete_index("train", 0);
    let pods = fixture.wait_pods("train", 2);
    let _ = fixture.namespace.delete("pod", pods[0]["metadata"]["name"].as_str().unwrap()).success();
    // Without the completed rank, the pods cannot meet the minimum of three.
    fixture.wait_placed("train", 2);
}
