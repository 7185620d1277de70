//! Devices and fabric profiles.

use rstest::rstest;
use serde_json::{Value, json};

use super::objects::{NOW, ago, job_with, node, rank, unscheduled, with};
use super::{check, report};

/// Returns a node that offers an adapter.
fn node_with_adapter(count: &str) -> Value {
    with(node("node-0"), json!({"status": {"allocatable": {"rdma/ib": count}}}))
}

/// Returns a pod without a node that requests an adapter, after a change.
fn waiting(message: Option<&str>, age: i64) -> Value {
    let mut pod = with(rank(0), unscheduled(&ago(age)));
    pod["spec"]["containers"][0]["resources"]["limits"]["rdma/ib"] = 1.into();
    pod["status"]["conditions"][0]["message"] = message.into();
    pod
}

const INSUFFICIENT: Option<&str> = Some("0/1 nodes are available: 1 Insufficient rdma/ib.");
const PENDING: &str = "W PodsUnschedulable unknown";

#[rstest]
#[case::no_node(waiting(INSUFFICIENT, 600), vec![node("node-0")], &["E DeviceOnNoNode unknown"])]
#[case::offered(waiting(INSUFFICIENT, 600), vec![node_with_adapter("1")], &[PENDING])]
#[case::none_left(waiting(INSUFFICIENT, 600), vec![node_with_adapter("0")], &["E DeviceOnNoNode unknown"])]
#[case::no_nodes_in_the_snapshot(waiting(INSUFFICIENT, 600), vec![], &[PENDING])]
#[case::a_moment(waiting(INSUFFICIENT, 299), vec![node("node-0")], &[])]
#[case::class_of_devices(waiting(Some("cannot allocate all claims"), 600), vec![node("node-0")], &[PENDING])]
#[case::no_message(waiting(None, 600), vec![node("node-0")], &["E DeviceOnNoNode unknown"])]
#[case::scheduled(with(rank(0), json!({"spec": {"nodeName": "node-0"}})), vec![node("node-0")], &[])]
fn devices(#[case] pod: Value, #[case] nodes: Vec<Value>, #[case] expected: &[&str]) {
    check(&[vec![pod], nodes].concat(), expected);
}

/// Returns a pod without a node that claims a device by this entry, and the claims that exist, each with its allocation.
fn claiming(claim: Value, created: Value, message: Option<&str>, claims: &[(&str, Value)]) -> Vec<Value> {
    let mut pod = with(rank(0), unscheduled(&ago(600)));
    pod["spec"]["resourceClaims"] = json!([with(claim, json!({"name": "gpu"}))]);
    pod["status"]["resourceClaimStatuses"] = created;
    pod["status"]["conditions"][0]["message"] = message.into();
    let claims = claims.iter().map(|(name, allocation)| {
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"namespace": "team-a", "name": name}, "status": {"allocation": allocation}})
    });
    claims.chain([pod]).collect()
}

const NO_DEVICE: Option<&str> = Some("0/1 nodes are available: 1 cannot allocate all claims.");
const NO_CPU: Option<&str> = Some("0/1 nodes are available: 1 Insufficient cpu.");

fn named() -> Value {
    json!({"resourceClaimName": "a"})
}

fn template() -> Value {
    json!({"resourceClaimTemplateName": "t"})
}

fn created(name: Option<&str>) -> Value {
    json!([{"name": "gpu", "resourceClaimName": name}])
}

fn free(name: &str) -> (&str, Value) {
    (name, Value::Null)
}

fn allocated(name: &str) -> (&str, Value) {
    (name, json!({"devices": {}}))
}

const UNKNOWN_CLAIM: &str = "E ClaimNotAllocated unknown";

#[rstest]
#[case::no_such_claim(claiming(named(), json!(null), NO_CPU, &[free("b")]), &[UNKNOWN_CLAIM])]
#[case::no_claims_in_the_snapshot(claiming(named(), json!(null), NO_DEVICE, &[]), &[PENDING])]
#[case::not_created(claiming(template(), json!(null), None, &[]), &[UNKNOWN_CLAIM])]
#[case::not_needed(claiming(template(), created(None), NO_CPU, &[]), &[PENDING])]
#[case::no_device(claiming(template(), created(Some("a")), NO_DEVICE, &[free("a")]), &["W ClaimNotAllocated unknown"])]
#[case::no_class(claiming(named(), json!(null), Some("request gpu: device class x does not exist"), &[free("a")]), &["W ClaimNotAllocated unknown"])]
#[case::volume(
    claiming(named(), json!(null), Some("0/1 nodes are available: persistentvolumeclaim \"data\" not found."), &[free("a")]), &[PENDING]
)]
#[case::claim_in_use(
    claiming(named(), json!(null), Some("0/1 nodes are available: 1 resourceclaim in use."), &[free("a")]),
    &["W ClaimNotAllocated unknown"]
)]
#[case::another_cause(claiming(named(), json!(null), NO_CPU, &[free("a")]), &[PENDING])]
#[case::allocated(claiming(named(), json!(null), NO_DEVICE, &[allocated("a")]), &[PENDING])]
#[case::a_peer_has_a_device(
    [claiming(named(), json!(null), NO_DEVICE, &[free("a")]), vec![rank(1)]].concat(), &["E GangPartlyScheduled unknown"]
)]
#[case::a_peer_has_a_device_and_the_claim_is_missing(
    [claiming(named(), json!(null), NO_DEVICE, &[free("b")]), vec![rank(1)]].concat(), &[UNKNOWN_CLAIM]
)]
#[case::the_launcher_has_a_node(launched(), &["W ClaimNotAllocated unknown"])]
fn claims(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

#[test]
fn a_claim_of_several_pods_is_evidence_once() {
    let mut objects = claiming(named(), json!(null), NO_DEVICE, &[free("a")]);
    objects.push(with(objects[1].clone(), json!({"metadata": rank(1)["metadata"]})));
    let found = report(&objects).diagnoses.remove(0);
    let is_claim = |object: &str| object.starts_with("ResourceClaim ");
    assert_eq!(found.evidence.iter().filter(|evidence| is_claim(&evidence.object)).count(), 1, "{found:?}");
}

/// The pods of a job may wait for different claims.
#[test]
fn each_pod_waits_for_its_own_claim() {
    let message = |names: [&str; 2], existing: &[&str]| {
        let claims: Vec<_> = existing.iter().map(|name| free(name)).collect();
        let mut objects = claiming(json!({"resourceClaimName": names[0]}), json!(null), NO_DEVICE, &claims);
        let mut peer = with(objects[existing.len()].clone(), json!({"metadata": rank(1)["metadata"]}));
        peer["spec"]["resourceClaims"][0]["resourceClaimName"] = names[1].into();
        objects.push(peer);
        let report = report(&objects);
        assert_eq!(report.diagnoses[0].evidence[0].field, "status.conditions[PodScheduled]");
        report.diagnoses[0].finding.message.to_string()
    };
    assert_eq!(message(["a", "a"], &["c"]), "master-0, worker-0 wait for ResourceClaim a, which does not exist");
    assert_eq!(message(["a", "b"], &["c"]), "master-0, worker-0 wait for ResourceClaims that do not exist");
    assert_eq!(message(["a", "b"], &["b"]), "master-0 waits for ResourceClaim a, which does not exist");
    assert_eq!(message(["a", "b"], &["a", "b"]), "master-0, worker-0 wait for ResourceClaims that have no device");
}

/// An MPI job whose launcher, which claims no device, has a node.
fn launched() -> Vec<Value> {
    let mut objects = claiming(named(), json!(null), NO_DEVICE, &[free("a")]);
    let of_job = |pod: Value, role: &str| {
        let labels = json!({"training.kubeflow.org/operator-name": "mpi-operator", "training.kubeflow.org/job-role": role,
            "training.kubeflow.org/replica-type": null});
        let owner =
            json!([{"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "name": "llama", "controller": true}]);
        with(pod, json!({"metadata": {"name": format!("llama-{role}"), "labels": labels, "ownerReferences": owner}}))
    };
    let worker = objects.pop().unwrap();
    objects.extend([of_job(rank(1), "launcher"), of_job(worker, "worker")]);
    objects
}

/// Returns three ranks of which rank 1 has another revision.
fn revisions(of_job: Option<&str>, of_rank: Option<&str>) -> Vec<Value> {
    let annotated = |pod: &Value, revision: Option<&str>| {
        with(pod.clone(), json!({"metadata": {"annotations": {"trainmesh.dev/fabric-revision": revision}}}))
    };
    let pods = job_with(3, json!({}));
    pods.iter().enumerate().map(|(index, pod)| annotated(pod, if index == 1 { of_rank } else { of_job })).collect()
}

#[rstest]
#[case::same(revisions(Some("aaaaaaaaaaaa"), Some("aaaaaaaaaaaa")), &[])]
#[case::another(revisions(Some("aaaaaaaaaaaa"), Some("bbbbbbbbbbbb")), &["E FabricMixed no"])]
#[case::missing(revisions(Some("aaaaaaaaaaaa"), None), &["E FabricMixed no"])]
#[case::none(revisions(None, None), &[])]
#[case::finished(finished(), &[])]
fn profiles(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

/// Returns two ranks, of which rank 1 has this annotation `trainmesh.dev/refused`, after a change.
fn refused(annotation: &str, change: &Value) -> Vec<Value> {
    let mut pods = job_with(2, json!({}));
    pods[1] = with(pods[1].clone(), json!({"metadata": {"annotations": {"trainmesh.dev/refused": annotation}}}));
    pods[1] = with(pods[1].clone(), change.clone());
    pods
}

#[rstest]
#[case::fabric(refused("fabric=FabricContradicted", &json!({})), &["W FabricRefused no"])]
#[case::with_another_rule(refused("mesh.hold=HoldInvalid,fabric=UnknownFabric", &json!({})), &["W FabricRefused no"])]
#[case::another_rule(refused("gang=GangNotPossible", &json!({})), &[])]
#[case::not_written_by_the_webhook(refused("fabric=Because", &json!({})), &[])]
#[case::profile_without_rdma(refused("fabric=FabricContradicted", &json!({"metadata": {"labels": {"trainmesh.dev/fabric": "tcp"}}})), &[])]
#[case::profile_of_the_configuration(refused("fabric=FabricContradicted", &json!({"metadata": {"labels": {"trainmesh.dev/fabric": "own"}}})), &["W FabricRefused no"])]
#[case::device_of_the_user(refused("fabric=FabricContradicted", &json!({"spec": {"containers": [{"name": "pytorch", "resources": {"limits": {"nvidia.com/gpu": "8", "rdma/ib": "1"}}}]}})), &[])]
#[case::finished(refused("fabric=FabricContradicted", &json!({"status": {"phase": "Succeeded"}})), &[])]
#[case::being_deleted(refused("fabric=FabricContradicted", &json!({"metadata": {"deletionTimestamp": NOW}})), &[])]
fn refused_profiles(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

fn finished() -> Vec<Value> {
    let mut objects = revisions(Some("aaaaaaaaaaaa"), Some("bbbbbbbbbbbb"));
    objects[1]["status"]["phase"] = "Succeeded".into();
    objects
}
