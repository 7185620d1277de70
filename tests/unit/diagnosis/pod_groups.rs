//! `PodGroups`.

use rstest::rstest;
use serde_json::{Value, json};

use super::objects::{START, ago, pytorchjob, rank, rank_of, unscheduled, with};
use super::{check, report};

/// Returns a Volcano `PodGroup`.
fn group(name: &str, minimum: u64) -> Value {
    json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"namespace": "team-a", "name": name, "creationTimestamp": START}, "spec": {"minMember": minimum}})
}

fn key(name: &str) -> Value {
    json!({"metadata": {"annotations": {"scheduling.k8s.io/group-name": name}}})
}

/// Returns a job of two pods without nodes that name a `PodGroup`, and its object.
fn waiting_job(name: &str, age: i64) -> Vec<Value> {
    let pods = (0..2).map(|index| with(with(rank(index), unscheduled(&ago(age))), key(name)));
    pods.chain([pytorchjob(1)]).collect()
}

const PENDING: &str = "W PodsUnschedulable unknown";

#[rstest]
#[case::missing(waiting_job("b", 900), vec![group("a", 2)], &["E PodGroupMissing no"])]
#[case::exists(waiting_job("a", 900), vec![group("a", 2)], &[PENDING])]
#[case::not_in_the_snapshot(waiting_job("b", 900), vec![], &[PENDING])]
#[case::just_created(waiting_job("b", 59), vec![group("a", 2)], &[])]
#[case::too_large(waiting_job("a", 900), vec![group("a", 3)], &["E PodGroupTooLarge no"])]
fn missing_and_too_large(#[case] job: Vec<Value>, #[case] groups: Vec<Value>, #[case] expected: &[&str]) {
    check(&[job, groups].concat(), expected);
}

#[test]
fn the_minimum_of_a_native_group_has_another_field() {
    let key = json!({"spec": {"schedulingGroup": {"podGroupName": "a"}}});
    let pods = (0..2).map(|index| with(with(rank(index), unscheduled(&ago(900))), key.clone()));
    let group = json!({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
        "metadata": {"namespace": "team-a", "name": "a", "creationTimestamp": START},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}});
    let found = report(&pods.chain([pytorchjob(1), group]).collect::<Vec<_>>()).diagnoses.remove(0);
    assert_eq!(
        (found.code.code(), &*found.evidence[0].field),
        ("PodGroupTooLarge", "spec.schedulingPolicy.gang.minCount")
    );
}

#[rstest]
#[case::by_trainmesh(json!({"trainmesh.dev/applied": "mesh.hold,gang=volcano"}), "the controller of trainmesh creates it")]
#[case::by_the_user(json!({"trainmesh.dev/applied": "mesh.hold"}), "create the PodGroup")]
fn the_fix_for_a_missing_group_names_its_creator(#[case] annotations: Value, #[case] fix: &str) {
    let mut objects = waiting_job("b", 900);
    for pod in &mut objects[..2] {
        *pod = with(pod.clone(), json!({"metadata": {"annotations": annotations}}));
    }
    objects.push(group("a", 2));
    let found = report(&objects).diagnoses.remove(0);
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
}

#[test]
fn groups_of_another_scheduler_prove_nothing() {
    let other = with(group("a", 2), json!({"apiVersion": "scheduling.x-k8s.io/v1alpha1"}));
    check(&[waiting_job("b", 900), vec![other]].concat(), &[PENDING]);
}

#[test]
fn a_running_pod_does_not_wait_for_its_group() {
    check(&[with(rank(0), key("b")), with(rank(1), key("b")), group("a", 2)], &[]);
}

#[rstest]
#[case::volcano(key("g"), "scheduling.volcano.sh/v1beta1", "minMember")]
#[case::coscheduling(json!({"metadata": {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}}), "scheduling.x-k8s.io/v1alpha1", "minMember")]
#[case::kai(json!({"metadata": {"annotations": {"pod-group-name": "g"}}, "spec": {"schedulerName": "kai-scheduler"}}), "scheduling.run.ai/v2alpha2", "minMember")]
#[case::koordinator(json!({"metadata": {"labels": {"pod-group.scheduling.sigs.k8s.io": "g"}}}), "scheduling.sigs.k8s.io/v1alpha1", "minMember")]
#[case::native(json!({"spec": {"schedulingGroup": {"podGroupName": "g"}}}), "scheduling.k8s.io/v1beta1", "minMember")]
fn keys_of_each_scheduler(#[case] key: Value, #[case] api: &str, #[case] field: &str) {
    let pods = || (0..2).map(|index| with(with(rank(index), unscheduled(&ago(900))), key.clone()));
    let named = |name: &str| {
        json!({"apiVersion": api, "kind": "PodGroup",
        "metadata": {"namespace": "team-a", "name": name, "creationTimestamp": START}, "spec": {field: 2}})
    };
    check(&pods().chain([named("other")]).collect::<Vec<_>>(), &["E PodGroupMissing no"]);
    check(&pods().chain([named("g")]).collect::<Vec<_>>(), &[PENDING]);
}

#[test]
fn the_annotation_of_kai_counts_only_for_its_scheduler() {
    let key = json!({"metadata": {"annotations": {"pod-group-name": "b"}}});
    let pods = (0..2).map(|index| with(with(rank(index), unscheduled(&ago(900))), key.clone()));
    let group = with(group("a", 2), json!({"apiVersion": "scheduling.run.ai/v2alpha2"}));
    check(&pods.chain([group]).collect::<Vec<_>>(), &[PENDING]);
}

#[test]
fn two_jobs_in_one_group() {
    let pods = |other: &str| [with(rank(0), key("a")), with(rank_of("gpt", 0), key(other))];
    check(&pods("a"), &["W PodGroupShared unknown"]);
    check(&pods("b"), &[]);
}

fn owned(owners: Value) -> Value {
    with(group("a", 2), json!({"metadata": {"ownerReferences": owners}}))
}

fn owner(kind: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "name": name})
}

#[rstest]
#[case::two_owners(owned(json!([owner("Job", "a"), owner("Job", "b")])), &["W PodGroupShared unknown"])]
#[case::one_owner(owned(json!([owner("Job", "a")])), &[])]
#[case::orphan(owned(json!([owner("Pod", "gone")])), &["W PodGroupOrphaned no"])]
#[case::pod_exists(owned(json!([owner("Pod", "llama-master-0")])), &[])]
#[case::stale(with(group("a", 2), json!({"metadata": {"annotations": {"kai.scheduler/stale-podgroup-timestamp": START}}})), &["W PodGroupStale yes"])]
#[case::fresh(group("a", 2), &[])]
fn groups_alone(#[case] group: Value, #[case] expected: &[&str]) {
    check(&[rank(0), group], expected);
}

/// Returns two pods in a gang that KAI considers incomplete, the second one after `patch`, and their job.
fn stale(patch: &Value) -> Vec<Value> {
    let key = json!({"metadata": {"annotations": {"pod-group-name": "a"}}, "spec": {"schedulerName": "kai-scheduler"}});
    let annotation = json!({"kai.scheduler/stale-podgroup-timestamp": ago(30)});
    let group = with(
        group("a", 2),
        json!({"apiVersion": "scheduling.run.ai/v2alpha2", "metadata": {"annotations": annotation}}),
    );
    vec![with(rank(0), key.clone()), with(with(rank(1), key), patch.clone()), pytorchjob(1), group]
}

#[rstest]
#[case::evicted(json!({}), &["W PodGroupStale yes"])]
#[case::failed(json!({"spec": {"restartPolicy": "Never"}, "status": {"phase": "Failed", "containerStatuses": [
    {"name": "pytorch", "restartCount": 0, "state": {"terminated": {"exitCode": 1, "finishedAt": ago(90)}}}]}}), &["E RankFailed no", "W PodGroupStale unknown"])]
fn a_stale_gang_belongs_to_the_job_of_its_pods(#[case] patch: Value, #[case] expected: &[&str]) {
    check(&stale(&patch), expected);
    let found = report(&stale(&patch)).diagnoses.pop().unwrap();
    assert_eq!(found.workload.to_string(), "PyTorchJob team-a/llama");
}
