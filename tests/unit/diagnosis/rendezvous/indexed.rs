//! Indexed Jobs, whose Service, subdomain and number of nodes no operator sets.

use rstest::rstest;
use serde_json::{Value, json};

use super::super::objects::{START, ago, main_container, with};
use super::super::{check, report};
use super::{job_with, set};

const HOST: &str = "ij-0.ij";

/// Returns the running pods of an Indexed Job with this command, its object and its headless Service.
fn job(command: &[&str]) -> Vec<Value> {
    let container = with(main_container(), json!({"command": command}));
    let template = json!({"spec": {"subdomain": "ij", "containers": [container]}});
    let pod = |index: usize| {
        let (name, position) = (format!("ij-{index}-x"), index.to_string());
        let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": START});
        let scheduled = json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": START});
        with(
            template.clone(),
            json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"namespace": "team-a", "name": name, "uid": name, "creationTimestamp": START,
                    "labels": {"job-name": "ij", "batch.kubernetes.io/job-name": "ij", "batch.kubernetes.io/job-completion-index": position},
                    "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "ij", "controller": true}]},
                "spec": {"nodeName": format!("node-{index}"), "hostname": format!("ij-{index}"), "restartPolicy": "Never"},
                "status": {"phase": "Running", "startTime": START, "podIP": format!("10.0.0.{index}"), "conditions": [scheduled, ready],
                    "containerStatuses": [{"name": "pytorch", "ready": true, "state": {"running": {"startedAt": START}}}]}}),
        )
    };
    let object = json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"namespace": "team-a", "name": "ij", "creationTimestamp": START},
        "spec": {"completionMode": "Indexed", "completions": 4, "parallelism": 4, "template": template}});
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "team-a", "name": "ij"},
        "spec": {"clusterIP": "None", "selector": {"job-name": "ij"}}});
    (0..4).map(pod).chain([object, service]).collect()
}

/// Returns the Job with this address of rank 0.
fn at(host: &str) -> Vec<Value> {
    job(&[
        "torchrun",
        "--nnodes=4",
        &format!("--master-addr={host}"),
        "--node-rank=$(JOB_COMPLETION_INDEX)",
        "train.py",
    ])
}

/// Changes the pods of a Job.
fn change(mut objects: Vec<Value>, patch: &Value) -> Vec<Value> {
    for pod in &mut objects[..4] {
        *pod = with(pod.clone(), patch.clone());
    }
    objects
}

fn in_subdomain(host: &str, subdomain: Value) -> Vec<Value> {
    change(at(host), &json!({"spec": {"subdomain": subdomain}}))
}

/// Changes the name of the Service.
fn with_service(mut objects: Vec<Value>, name: &str) -> Vec<Value> {
    objects[5]["metadata"]["name"] = name.into();
    objects
}

#[rstest]
#[case::subdomain(at(HOST), &[])]
#[case::complete_name(at("ij-0.ij.team-a.svc.cluster.local"), &[])]
#[case::no_subdomain(in_subdomain(HOST, json!(null)), &["E ServiceMissesMaster no"])]
#[case::another_subdomain(in_subdomain(HOST, json!("other")), &["E ServiceMissesMaster no"])]
#[case::no_subdomain_of_the_complete_name(in_subdomain("ij-0.ij.team-a.svc", json!(null)), &["E ServiceMissesMaster no"])]
#[case::another_host_name(at("ij-1.ij"), &["E ServiceMissesMaster no"])]
#[case::neither_subdomain_nor_service(with_service(in_subdomain(HOST, json!(null)), "other"), &["E MasterUnresolvable no"])]
#[case::no_service(with_service(at(HOST), "other"), &["E MasterUnresolvable no"])]
#[case::no_services_in_the_snapshot(in_subdomain(HOST, json!(null))[..5].to_vec(), &[])]
#[case::service_without_a_record_of_the_pod(in_subdomain("ij", json!(null)), &[])]
#[case::address_as_name(in_subdomain("10-0-0-0.ij", json!(null)), &[])]
#[case::another_domain(in_subdomain("ij-0.example", json!(null)), &["E MasterUnresolvable no"])]
#[case::host_outside(in_subdomain("master.example", json!(null)), &[])]
fn names_of_pods(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

#[test]
fn the_subdomain_is_evidence() {
    let found = report(&in_subdomain(HOST, json!(null))).diagnoses.remove(0);
    let message = "Service team-a/ij has no record for ij-0-x: its subdomain is not ij";
    assert_eq!(found.finding.message, message);
    assert_eq!(found.finding.fix, Some("set subdomain in the pod template to the name of the Service"));
    assert_eq!((&*found.evidence[0].field, &*found.evidence[0].value), ("spec.subdomain", "not set"));
}

fn nodes(options: &str) -> Vec<Value> {
    job(&["sh", "-c", &format!("torchrun {options} --master-addr=ij-0.ij --node-rank=$JOB_COMPLETION_INDEX train.py")])
}

/// A condition selects one of two commands.
fn either(first: &str, second: &str) -> Vec<Value> {
    let run = |count: &str| format!("torchrun --nnodes={count} --master-addr=ij-0.ij train.py");
    job(&["sh", "-c", &format!("if a; then {}; else {}; fi", run(first), run(second))])
}

/// Returns a `PyTorchJob` of three pods with this setting.
fn of_operator(command: &[&str], count: &str) -> Vec<Value> {
    let mut objects = job_with(0, json!({}));
    for pod in &mut objects[..3] {
        *pod = set(pod.clone(), &[("PET_NNODES", count)]);
        pod["spec"]["containers"][0]["command"] = json!(command);
    }
    objects
}

#[rstest]
#[case::too_many(nodes("--nnodes=8"), &["E NodesExceedPods no"])]
#[case::minimum(nodes("--nnodes 6:8"), &["E NodesExceedPods no"])]
#[case::all(nodes("--nnodes=4"), &[])]
#[case::too_few(nodes("--nnodes=2"), &[])]
#[case::elastic(nodes("--nnodes=2:8"), &[])]
#[case::computed(nodes("--nnodes=$NODES"), &[])]
#[case::a_condition_selects_one(either("8", "4"), &[])]
#[case::either_is_too_many(either("8", "8"), &["E NodesExceedPods no"])]
#[case::just_created(change(nodes("--nnodes=8"), &json!({"metadata": {"creationTimestamp": ago(119)}})), &[])]
#[case::without_the_object([&nodes("--nnodes=8")[..4], &nodes("--nnodes=8")[5..]].concat(), &[])]
#[case::a_pod_is_missing(nodes("--nnodes=8")[1..].to_vec(), &["E RankMissing unknown"])]
#[case::flag_of_a_job_of_an_operator(of_operator(&["torchrun", "--nnodes=8", "train.py"], "3"), &["E NodesExceedPods no"])]
#[case::limits_of_an_elastic_job(of_operator(&["torchrun", "train.py"], "4:8"), &[])]
fn nodes_and_pods(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

#[test]
fn nodes_and_pods_are_evidence() {
    let found = report(&nodes("--nnodes=8")).diagnoses.remove(0);
    assert_eq!(found.finding.message, "torchrun waits for 8 nodes, and the job has 4 pods");
    let evidence: Vec<(&str, &str)> = found.evidence.iter().map(|found| (&*found.field, &*found.value)).collect();
    assert_eq!(evidence, [("--nnodes in the command of container pytorch", "8"), ("spec: pods", "4")]);
    assert_eq!(found.waste.map(|waste| waste.accelerators), Some(32));
}
