//! Pods without a node.

use std::iter;

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::Recovery;

use super::objects::{START, ago, event, job_with, node, pytorchjob, rank, rank_of, unscheduled, with};
use super::{check, report};

#[rstest]
#[case::too_long(300, &["E GangPartlyScheduled unknown"])]
#[case::just_created(299, &[])]
fn a_partly_scheduled_gang(#[case] age: i64, #[case] expected: &[&str]) {
    check(&job_with(4, unscheduled(&ago(age))), expected);
}

#[test]
fn the_message_counts_the_pods() {
    let message = |objects: &[Value]| report(objects).diagnoses[0].finding.message.clone();
    let mut objects = job_with(4, unscheduled(&ago(900)));
    assert_eq!(message(&objects), "3 of 4 pods have a node; worker-0 waits for one");
    for index in [2, 3] {
        objects[index] = with(objects[index].clone(), unscheduled(&ago(900)));
    }
    assert_eq!(message(&objects), "1 of 4 pods has a node; worker-0, worker-1, worker-2 wait for one");
}

#[rstest]
#[case::recent(599, &[])]
#[case::failed(600, &["E GangPartlyScheduled unknown"])]
fn the_autoscaler_may_add_a_node(#[case] age: i64, #[case] expected: &[&str]) {
    let mut objects = job_with(4, unscheduled(&ago(900)));
    objects.push(event("Pod", "llama-worker-0", "TriggeredScaleUp", "pod triggered scale-up", age));
    check(&objects, expected);
}

#[test]
fn the_autoscaler_may_refuse_a_node() {
    let mut objects = job_with(4, unscheduled(&ago(900)));
    let text = "pod didn't trigger scale-up: 1 max node group size reached";
    objects.push(event("Pod", "llama-worker-0", "NotTriggerScaleUp", text, 60));
    let found = report(&objects).diagnoses.remove(0);
    assert_eq!((&*found.evidence[0].field, &*found.evidence[0].value), ("NotTriggerScaleUp", text));
}

#[rstest]
#[case::minimum_runs("2:4", "llama-master-0:29400", &[])]
#[case::minimum_does_not_run("4:4", "llama-master-0:29400", &["E GangPartlyScheduled unknown"])]
#[case::higher_minimum("4:8", "llama-master-0:29400", &["E GangPartlyScheduled unknown"])]
#[case::no_node_for_the_store("2:4", "llama-worker-0.llama:29400", &["E GangPartlyScheduled unknown"])]
#[case::store_outside("2:4", "store:29400", &[])]
fn an_elastic_job_runs_with_fewer_pods(#[case] nodes: &str, #[case] endpoint: &str, #[case] expected: &[&str]) {
    let mut pods = job_with(4, unscheduled(&ago(900)));
    for pod in &mut pods {
        pod["spec"]["containers"][0]["env"] = json!([{"name": "PET_NNODES", "value": nodes},
            {"name": "PET_RDZV_BACKEND", "value": "c10d"}, {"name": "PET_RDZV_ENDPOINT", "value": endpoint}]);
    }
    check(&pods, expected);
}

#[test]
fn no_pod_is_scheduled() {
    let pods: Vec<Value> = (0..2).map(|index| with(rank(index), unscheduled(&ago(900)))).collect();
    check(&pods, &["W PodsUnschedulable unknown"]);
    let report = report(&pods);
    let value = &report.diagnoses[0].evidence[0].value;
    assert_eq!(value, "Unschedulable: 0/4 nodes are available: 4 Insufficient nvidia.com/gpu.");
}

const TAINTS: &str = "0/4 nodes are available: 3 node(s) had untolerated taint {nvidia.com/gpu: present}, 1 node(s) didn't match \
    Pod's node affinity/selector. preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling.";
const CLAIM: &str =
    "0/4 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: not eligible";

/// Free capacity helps neither a claim nor a pod that all nodes exclude.
#[rstest]
#[case::capacity(
    "0/4 nodes are available: 4 Insufficient nvidia.com/gpu.",
    Recovery::WaitsForCapacity,
    "free capacity, add nodes"
)]
#[case::one_node_lacks_capacity(&TAINTS.replace("1 node(s) didn't match Pod's node affinity/selector", "1 Insufficient cpu"), Recovery::WaitsForCapacity, "free capacity, add nodes")]
#[case::taints(TAINTS, Recovery::NodesExcluded, "free capacity does not help")]
#[case::claim(CLAIM, Recovery::VolumeAwaited, "kubectl describe pvc")]
#[case::no_claim(
    "0/4 nodes are available: persistentvolumeclaim \"data\" not found.",
    Recovery::VolumeAwaited,
    "kubectl describe pvc"
)]
#[case::coscheduling(
    "pre-filter pod p1 cannot find enough sibling pods, current pods number: 4, minMember of group: 8",
    Recovery::GangShort,
    "lower its minimum"
)]
#[case::koordinator(
    "gang child pod not collect enough, gangName: team-a/llama",
    Recovery::GangShort,
    "lower its minimum"
)]
#[case::volcano_gang(
    "3/3 tasks in gang unschedulable: pod group is not ready, 3 Pending, 4 minAvailable",
    Recovery::GangShort,
    "lower its minimum"
)]
#[case::volcano_capacity(
    "4/4 tasks in gang unschedulable: pod group is not ready, 4 Pending, 4 minAvailable",
    Recovery::WaitsForCapacity,
    "free capacity, add nodes"
)]
#[case::volcano_pod_group(
    "NotEnoughPods: Not enough valid tasks for gang-scheduling, valid: 3, min: 4",
    Recovery::GangShort,
    "lower its minimum"
)]
#[case::rejected_by_coscheduling(
    "rejected due to timeout after waiting 1m0s at plugin Coscheduling",
    Recovery::WaitsForCapacity,
    "free capacity for all of them at the same time"
)]
#[case::rejected_by_koordinator(
    "Gang \"team-a/llama\" gets rejected due to member Pod \"llama-worker-0\" is unschedulable",
    Recovery::WaitsForCapacity,
    "free capacity for all of them at the same time"
)]
#[case::volume_elsewhere(
    "0/4 nodes are available: 4 node(s) had volume node affinity conflict.",
    Recovery::NodesExcluded,
    "kubectl describe pv"
)]
#[case::queue_limit(
    "OverLimit: Workload requested 32 GPUs, but team-a queue limit is 16 GPUs",
    Recovery::QueueLimitTooSmall,
    "raise the limit of the queue"
)]
#[case::queue_in_use(
    "OverLimit: Workload requested 8 GPUs, but team-a queue limit is 16 GPUs",
    Recovery::QueueInUse,
    "new nodes do not help"
)]
#[case::allowable_limit(
    "OverLimit: q quota has reached the allowable limit of GPUs. Limit is 16 GPUs, currently 8 GPUs allocated and workload requested 32 GPUs",
    Recovery::QueueLimitTooSmall,
    "raise the limit of the queue"
)]
#[case::allowable_limit_in_use(
    "q quota has reached the allowable limit of GPUs. Limit is 16 GPUs, currently 8 GPUs allocated and workload requested 16 GPUs",
    Recovery::QueueInUse,
    "new nodes do not help"
)]
#[case::quota_of_other_workloads(
    "Non-preemptible workload is over quota. Workload requested 32 GPUs, but q quota is 16 GPUs, while 0 GPUs are already allocated",
    Recovery::QueueLimitTooSmall,
    "preemptible workloads only"
)]
#[case::yunikorn(
    "Request 'x' does not fit in queue 'root.gpu' (requested map[nvidia.com/gpu:8], available map[nvidia.com/gpu:0])",
    Recovery::QueueInUse,
    "new nodes do not help"
)]
#[case::volcano(
    "queue resource quota insufficient: insufficient nvidia.com/gpu",
    Recovery::QueueInUse,
    "new nodes help only a queue without a capability"
)]
fn messages_of_the_scheduler(#[case] message: &str, #[case] recovery: Recovery, #[case] fix: &str) {
    let pods = (0..2).map(|index| {
        let mut pod = with(rank(index), unscheduled(&ago(900)));
        pod["status"]["conditions"][0]["message"] = message.into();
        pod
    });
    let found = report(&pods.collect::<Vec<Value>>()).diagnoses.remove(0);
    assert_eq!(found.recovery, recovery);
    assert!(found.finding.fix.unwrap().contains(fix), "{found:?}");
}

/// Returns two pods without a node for 15 minutes, changed by `patch`.
fn pending(patch: Value) -> Vec<Value> {
    (0..2).map(|index| with(with(rank(index), unscheduled(&ago(900))), patch.clone())).collect()
}

/// No scheduler has reported an attempt to schedule the pod.
fn not_attempted(scheduler: &str) -> Value {
    json!({"spec": {"schedulerName": scheduler}, "status": {"conditions": null}})
}

fn gated(gate: &str) -> Value {
    let condition = json!({"type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates", "lastTransitionTime": ago(900)});
    json!({"spec": {"schedulingGates": [{"name": gate}]}, "status": {"conditions": [condition]}})
}

const NOT_ATTEMPTED: &str = "volcano has reported no attempt to schedule master-0, worker-0";
const GATED: &str = "master-0, worker-0 are held by the scheduling gate example.com/wait";

#[rstest]
#[case::not_attempted(pending(not_attempted("volcano")), &["W SchedulingNotAttempted unknown"], NOT_ATTEMPTED)]
#[case::gated(pending(gated("example.com/wait")), &["W PodsGated unknown"], GATED)]
#[case::gated_for_the_topology(pending(gated("kueue.x-k8s.io/topology")), &["W PodsGated unknown"], "master-0, worker-0 are held by the scheduling gate kueue.x-k8s.io/topology")]
#[case::gated_by_kueue(pending(gated("kueue.x-k8s.io/admission")), &["I PodsGated unknown"], "master-0, worker-0 are held by the scheduling gate kueue.x-k8s.io/admission")]
fn no_scheduler_looks_at_the_pods(#[case] objects: Vec<Value>, #[case] expected: &[&str], #[case] message: &str) {
    check(&objects, expected);
    assert_eq!(report(&objects).diagnoses[0].finding.message, message);
}

/// Pods that Volcano has not looked at, and their `PodGroup` after a change.
fn in_group(patch: Value, events: Vec<Value>) -> Vec<Value> {
    let key = json!({"metadata": {"annotations": {"scheduling.k8s.io/group-name": "llama"}}});
    let group = json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"namespace": "team-a", "name": "llama", "creationTimestamp": ago(900)},
        "spec": {"minMember": 2}, "status": {"phase": "Inqueue"}});
    let mut objects = pending(with(not_attempted("volcano"), key));
    objects.push(with(group, patch));
    [objects, events].concat()
}

fn group_condition(kind: &str, status: &str) -> Value {
    json!({"status": {"conditions": [{"type": kind, "status": status, "reason": "NotEnoughResources", "message": "2/2 tasks in gang unschedulable", "lastTransitionTime": ago(800)}]}})
}

const REFUSED: &str = "volcano cannot place PodGroup llama of master-0, worker-0";
const UNPLACED: &[&str] = &["W PodsUnschedulable unknown"];
const NOT_TRIED: &[&str] = &["W SchedulingNotAttempted unknown"];

#[rstest]
#[case::condition(in_group(group_condition("Unschedulable", "True"), vec![]), UNPLACED, REFUSED, "status.conditions[Unschedulable]")]
#[case::negative_condition(in_group(group_condition("PodGroupScheduled", "False"), vec![]), UNPLACED, REFUSED, "status.conditions[PodGroupScheduled]")]
#[case::condition_of_kubernetes_1_37(in_group(group_condition("PodGroupInitiallyScheduled", "False"), vec![]), UNPLACED, REFUSED, "status.conditions[PodGroupInitiallyScheduled]")]
#[case::event(in_group(json!({}), vec![event("PodGroup", "llama", "Unschedulable", "queue resource quota insufficient", 60)]), UNPLACED, REFUSED, "Unschedulable")]
#[case::no_problem(in_group(group_condition("Unschedulable", "False"), vec![]), NOT_TRIED, NOT_ATTEMPTED, "status.phase")]
#[case::event_of_an_earlier_group(in_group(json!({}), vec![event("PodGroup", "llama", "Unschedulable", "", 901)]), NOT_TRIED, NOT_ATTEMPTED, "status.phase")]
#[case::another_event(in_group(json!({}), vec![event("PodGroup", "llama", "Created", "", 60)]), NOT_TRIED, NOT_ATTEMPTED, "status.phase")]
#[case::without_a_phase(in_group(json!({"status": null}), vec![]), NOT_TRIED, NOT_ATTEMPTED, "spec.schedulerName")]
fn the_status_of_a_pod_group_is_evidence(
    #[case] objects: Vec<Value>,
    #[case] expected: &[&str],
    #[case] message: &str,
    #[case] field: &str,
) {
    check(&objects, expected);
    let found = report(&objects).diagnoses.remove(0);
    assert_eq!((&*found.finding.message, &*found.evidence[0].field), (message, field));
}

#[test]
fn an_event_of_the_scheduler_is_an_attempt() {
    let mut objects = pending(not_attempted("volcano"));
    objects.push(event("Pod", "llama-master-0", "FailedScheduling", "0/4 nodes are unavailable", 60));
    check(&objects, &["W PodsUnschedulable unknown"]);
}

/// `YuniKorn` sets no condition.
#[rstest]
#[case::queued("Scheduling", "team-a/llama-master-0 is queued and waiting for allocation", "compare the limit")]
#[case::placeholder(
    "GangScheduling",
    "Application is in Resuming state: cancel placeholder: resource incompatible",
    "set the requests in the template"
)]
fn an_event_of_the_queue_is_an_attempt(#[case] reason: &str, #[case] text: &str, #[case] fix: &str) {
    let mut objects = pending(not_attempted("yunikorn"));
    objects.push(event("Pod", "llama-master-0", reason, text, 60));
    check(&objects, &["W PodsUnschedulable unknown"]);
    let found = report(&objects).diagnoses.remove(0);
    assert_eq!(found.finding.message, "yunikorn has queued master-0, worker-0 and placed none");
    assert_eq!(found.evidence[0].value, text);
    assert!(found.finding.fix.unwrap().contains(fix), "{found:?}");
}

#[test]
fn a_missing_pod_group_explains_that_there_is_no_attempt() {
    let key = json!({"spec": {"schedulingGroup": {"podGroupName": "llama"}}});
    let mut objects = pending(with(not_attempted("default-scheduler"), key));
    let other = json!({"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"namespace": "team-a", "name": "other"}});
    objects.push(other);
    check(&objects, &["E PodGroupMissing no"]);
}

/// Limits a pod to a node by an affinity term.
fn affinity(list: &str, key: &str) -> Value {
    required(&[json!({list: [{"key": key, "operator": "In", "values": ["node-9"]}]})])
}

/// Limits a pod to nodes by terms, each with a number of nodes. Those beyond the first 17 exist, but are not read.
fn alternatives(counts: &[usize]) -> Value {
    let mut names = (1..=17).map(|number| format!("left-{number}")).chain(iter::repeat("node-0".to_owned()));
    let terms = counts.iter().map(|count| {
        let values: Vec<String> = names.by_ref().take(*count).collect();
        json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": values}]})
    });
    required(&terms.collect::<Vec<_>>())
}

fn required(terms: &[Value]) -> Value {
    let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}});
    json!({"spec": {"affinity": {"nodeAffinity": required}}})
}

#[rstest]
#[case::selector(json!({"spec": {"nodeSelector": {"kubernetes.io/hostname": "node-9"}}}), &["E PinnedNodeMissing no"])]
#[case::field(affinity("matchFields", "metadata.name"), &["E PinnedNodeMissing no"])]
#[case::hostname(affinity("matchExpressions", "kubernetes.io/hostname"), &["E PinnedNodeMissing no"])]
#[case::another_label(affinity("matchExpressions", "pool"), &["E GangPartlyScheduled unknown"])]
#[case::sixteen_nodes(alternatives(&[16]), &["E PinnedNodeMissing no"])]
#[case::sixteen_terms(alternatives(&[1; 16]), &["E PinnedNodeMissing no"])]
#[case::too_many_nodes(alternatives(&[18]), &["E GangPartlyScheduled unknown"])]
#[case::too_many_terms(alternatives(&[1; 18]), &["E GangPartlyScheduled unknown"])]
#[case::too_many_in_a_term(alternatives(&[1, 18]), &["E GangPartlyScheduled unknown"])]
#[case::term_without_names(alternatives(&[1, 0]), &["E GangPartlyScheduled unknown"])]
#[case::existing_node(json!({"spec": {"nodeSelector": {"kubernetes.io/hostname": "node-0"}}}), &["E GangPartlyScheduled unknown"])]
fn a_pod_that_is_limited_to_a_node(#[case] patch: Value, #[case] expected: &[&str]) {
    let mut objects = job_with(2, with(unscheduled(&ago(900)), patch.clone()));
    objects.push(node("node-0"));
    check(&objects, expected);
    // Without any node, it is not known which nodes exist.
    check(&job_with(2, with(unscheduled(&ago(900)), patch)), &["E GangPartlyScheduled unknown"]);
}

/// Two jobs of two pods on two nodes, of which each has one. `free` is the number of GPUs of a third node.
fn two_gangs(free: u64) -> Vec<Value> {
    let waits = unscheduled(&ago(900));
    let mut second = rank_of("gpt", 0);
    second["spec"]["nodeName"] = "node-1".into();
    let mut objects = vec![rank(0), with(rank(1), waits.clone()), second, with(rank_of("gpt", 1), waits)];
    let empty = with(node("node-2"), json!({"status": {"allocatable": {"nvidia.com/gpu": free.to_string()}}}));
    objects.extend([node("node-0"), node("node-1"), empty]);
    objects
}

const PARTLY: &str = "E GangPartlyScheduled unknown";
const DEADLOCKED: &[&str] = &["E GangsDeadlocked no", "W GangPartlyScheduled no", "W GangPartlyScheduled no"];

#[rstest]
#[case::no_free_node(two_gangs(0), DEADLOCKED)]
#[case::too_few(two_gangs(7), DEADLOCKED)]
#[case::enough_for_one(two_gangs(8), &[PARTLY, PARTLY])]
fn two_gangs_wait_for_each_other(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

/// A third job waits for another resource, of which more may become free.
#[test]
fn a_job_outside_the_deadlock_may_get_its_node() {
    let other = json!({"requests": {"amd.com/gpu": "8"}, "limits": {"amd.com/gpu": "8"}});
    let mut third = [rank_of("bert", 0), with(rank_of("bert", 1), unscheduled(&ago(900)))];
    for pod in &mut third {
        pod["spec"]["containers"][0]["resources"] = other.clone();
    }
    let objects = [two_gangs(0), third.to_vec()].concat();
    let report = report(&objects);
    let of_third = report.diagnoses.iter().find(|found| found.workload.name == "bert").unwrap();
    assert_eq!((of_third.code.code(), of_third.recovery), ("GangPartlyScheduled", Recovery::WaitsForCapacity));
    let first = report
        .diagnoses
        .iter()
        .find(|found| found.code.code() == "GangPartlyScheduled" && found.workload.name == "gpt");
    assert!(first.unwrap().finding.fix.unwrap().starts_with("see GangsDeadlocked"), "{first:?}");
}

/// Returns a job of three pods in a `PodGroup` with this minimum, of which one has no node.
fn partly_in_group(patch: Value, minimum: u64) -> Vec<Value> {
    let mut pods = job_with(3, unscheduled(&ago(900)));
    for pod in &mut pods {
        *pod = with(pod.clone(), patch.clone());
    }
    pods.push(json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"namespace": "team-a", "name": "llama", "creationTimestamp": START}, "spec": {"minMember": minimum}}));
    pods
}

fn volcano_key() -> Value {
    json!({"metadata": {"annotations": {"scheduling.k8s.io/group-name": "llama"}}})
}

#[rstest]
#[case::a_part_may_start(
    partly_in_group(volcano_key(), 1),
    "raise the minimum in the evidence",
    "1, of 3 pods that name it"
)]
#[case::almost_all(partly_in_group(volcano_key(), 2), "raise the minimum in the evidence", "2, of 3 pods that name it")]
#[case::all(partly_in_group(volcano_key(), 3), "free the missing capacity: the pods are in a gang", "")]
#[case::unknown_minimum(partly_in_group(volcano_key(), 1)[..3].to_vec(), "free the missing capacity: the pods are in a gang", "")]
#[case::no_gang(partly_in_group(json!({}), 1), "schedule the pods as a gang", "")]
fn the_fix_depends_on_the_gang(#[case] objects: Vec<Value>, #[case] fix: &str, #[case] minimum: &str) {
    check(&objects, &[PARTLY]);
    let found = report(&objects).diagnoses.remove(0);
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
    let first = &found.evidence[0];
    let group = if first.object == "PodGroup team-a/llama" { &*first.value } else { "" };
    assert_eq!(group, minimum, "{found:?}");
}

/// No scheduler matters for a gang that needs more pods than there are.
#[rstest]
#[case::too_large(3, &["E PodGroupTooLarge no"])]
#[case::fits(2, &["W SchedulingNotAttempted unknown"])]
fn a_gang_that_is_never_complete_waits_for_no_scheduler(#[case] minimum: u64, #[case] expected: &[&str]) {
    let objects = in_group(json!({"spec": {"minMember": minimum}}), vec![pytorchjob(1)]);
    check(&objects, expected);
}

#[test]
fn a_gang_that_makes_progress_is_not_deadlocked() {
    let mut objects = two_gangs(0);
    let condition = json!([{"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(299)}]);
    objects[0]["status"]["conditions"] = condition;
    check(&objects, &[PARTLY, PARTLY]);
}

/// KAI reports each pool of nodes in a list of its own.
#[rstest]
#[case::over_limit("Workload requested 32 GPUs, but team-a queue limit is 16 GPUs", "W PodsUnschedulable no")]
#[case::no_capacity("no node has 8 free GPUs", "W PodsUnschedulable unknown")]
fn conditions_of_kai(#[case] message: &str, #[case] expected: &str) {
    let condition = json!({"type": "UnschedulableOnNodePool", "nodePool": "default", "status": "True",
        "reason": "OverLimit", "message": message, "lastTransitionTime": ago(600)});
    let key = json!({"metadata": {"annotations": {"pod-group-name": "llama"}}});
    let mut objects = pending(with(not_attempted("kai-scheduler"), key));
    objects.push(json!({"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup",
        "metadata": {"namespace": "team-a", "name": "llama", "creationTimestamp": ago(900)},
        "spec": {"minMember": 2}, "status": {"schedulingConditions": [condition]}}));
    check(&objects, &[expected]);
    let found = report(&objects).diagnoses.remove(0);
    assert_eq!(found.evidence[0].field, "status.schedulingConditions[UnschedulableOnNodePool]");
}

/// Returns the patch for a pod without a node and a condition.
fn ignored() -> Value {
    let mut patch = unscheduled(&ago(900));
    patch["spec"]["schedulerName"] = "gang".into();
    patch["status"]["conditions"] = Value::Null;
    patch
}

/// One of two pods has no node.
#[rstest]
#[case::ignored(
    ignored(),
    Recovery::SchedulerAwaited,
    "gang, without a condition PodScheduled",
    "check that the scheduler"
)]
#[case::tried(unscheduled(&ago(900)), Recovery::WaitsForCapacity, "Unschedulable: 0/4 nodes are available: 4 Insufficient nvidia.com/gpu.", "schedule the pods as a gang")]
fn a_pod_beside_pods_with_a_node(
    #[case] patch: Value,
    #[case] recovery: Recovery,
    #[case] value: &str,
    #[case] fix: &str,
) {
    let found = report(&job_with(2, patch)).diagnoses.remove(0);
    assert_eq!((found.code.code(), found.recovery), ("GangPartlyScheduled", recovery));
    assert_eq!(found.evidence[0].value, value);
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
}

#[rstest]
#[case::selector(json!({"spec": {"nodeSelector": {"kubernetes.io/hostname": "node-9"}}}), "spec.nodeSelector[kubernetes.io/hostname]")]
#[case::affinity(affinity("matchFields", "metadata.name"), "spec.affinity.nodeAffinity")]
fn the_field_with_the_missing_node_is_evidence(#[case] patch: Value, #[case] field: &str) {
    let objects = [job_with(2, with(unscheduled(&ago(900)), patch)), vec![node("node-0")]].concat();
    let found = report(&objects).diagnoses.remove(0);
    assert_eq!((found.code.code(), &*found.evidence[0].field), ("PinnedNodeMissing", field));
}
