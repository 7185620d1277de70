use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::workload::template::testing::{check, env_lines, error, render, with};

fn job() -> Value {
    let container = json!({"name": "main", "image": "i", "env": [{"name": "A", "value": "1"}], "lifecycle": {}});
    let spec = json!({"containers": [container], "restartPolicy": "Always", "priorityClassName": "p", "terminationGracePeriodSeconds": 5});
    json!({"apiVersion": API_VERSION, "kind": "ElasticJob", "metadata": {"name": "j", "uid": "u1"}, "spec": {
        "distributionStrategy": "AllreduceStrategy",
        "replicaSpecs": {"worker": {"replicas": 3, "template": {"metadata": {"labels": {"a": "b"}}, "spec": spec}}},
    }})
}

#[test]
fn workers_are_as_the_master_creates_them() {
    let expected = json!({
        "/metadata/name": "j-edljob-worker-0",
        "/metadata/namespace": "team",
        "/metadata/labels": {
            "a": "b", "app": "dlrover", "elasticjob.dlrover/name": "j", "elasticjob.dlrover/replica-type": "worker",
            "elasticjob.dlrover/replica-index": "0", "elasticjob.dlrover/rank-index": "0", "elasticjob.dlrover/relaunch-count": "0",
        },
        "/metadata/ownerReferences": [
            {"apiVersion": API_VERSION, "kind": "ElasticJob", "name": "j", "uid": "u1", "blockOwnerDeletion": true}
        ],
        "/spec/restartPolicy": "Never",
        "/spec/priorityClassName": null,
        "/spec/terminationGracePeriodSeconds": null,
        "/spec/containers/0/lifecycle": null,
    });
    check(&job(), "worker", 3, &expected);
    let roles = render(&job()).unwrap();
    let variables = [
        "A=1",
        "POD_IP<status.podIP",
        "NODE_IP<status.hostIP",
        "ELASTIC_JOB_NAME=j",
        "JOB_UID=u1",
        "GRPC_ENABLE_FORK_SUPPORT=false",
        "NODE_TYPE=worker",
        "NODE_ID=0",
        "NODE_NUM=3",
        "NODE_RANK=0",
        "WORLD_SIZE=3",
        "RANK=0",
        "DLROVER_MASTER_ADDR=elasticjob-j-dlrover-master:50001",
        "DLROVER_MASTER_SERVICE_TYPE=grpc",
        "DLROVER_TRAINING_ELASTIC_MODE=base",
        "POD_NAME<metadata.name",
        "DLROVER_EXTENSION_DYNAMIC_FAILOVER=",
        "WORKER_TYPE=worker",
        "WORKER_ID=0",
        "WORKER_NUM=3",
        "WORKER_RANK=0",
        "MONITOR_ENABLED=true",
    ];
    assert_eq!(env_lines(&roles[1], 0), variables);
}

#[test]
fn the_operator_creates_the_master() {
    let job = with(job(), "/metadata/labels", json!({"team": "x"}));
    let job = with(job, "/metadata/annotations", json!({"pending_timeout": "900", "other": "1"}));
    let command = "python -m dlrover.python.master.main --platform pyk8s --namespace team --job_name j --port 50001 --pending_timeout 900";
    let expected = json!({
        "/metadata/name": "elasticjob-j-dlrover-master-0",
        "/metadata/labels": {
            "app.kubernetes.io/name": "elasticjob", "elasticjob.dlrover/name": "j", "team": "x",
            "elasticjob.dlrover/replica-type": "dlrover-master", "elasticjob.dlrover/replica-index": "0",
        },
        "/metadata/annotations": {"pending_timeout": "900", "other": "1"},
        "/metadata/ownerReferences/0/controller": true,
        "/spec/containers/0/command": ["/bin/bash", "-c", command],
        "/spec/containers/0/env/0/name": "POD_IP",
    });
    check(&job, MASTER, 1, &expected);
}

#[rstest]
#[case::own_master("/spec/replicaSpecs/dlrover-master", json!({"template": {"spec": {"containers": [{"name": "m"}]}}}), MASTER, 1,
    json!({"/spec/containers/0/name": "m", "/spec/containers/0/env/0/name": "POD_IP"}))]
#[case::parameter_servers("/spec/replicaSpecs/ps", json!({"replicas": 2, "priority": "high", "template": {"spec": {"containers": [{"name": "p"}]}}}), "ps", 2,
    json!({"/metadata/name": "j-edljob-ps-0", "/spec/priorityClassName": "high", "/spec/containers/0/env/7": {"name": "NODE_NUM", "value": "3"}}))]
#[case::main_container(
    "/spec/replicaSpecs/worker/template/spec/containers", json!([{"name": "side"}, {"name": "main"}]), "worker", 3,
    json!({"/spec/containers/0/env": [{"name": "MONITOR_ENABLED", "value": "true"}], "/spec/containers/1/env/5/value": "worker"})
)]
#[case::undetermined("/spec/replicaSpecs/worker/replicas", json!(0), "worker", 0, json!({"/spec/containers/0/env/8/value": "0"}))]
#[case::another_strategy("/spec/distributionStrategy", json!("ParameterServerStrategy"), "worker", 3,
    json!({"/spec/containers/0/env/10/name": "DLROVER_MASTER_ADDR"}))]
fn roles_follow_the_spec(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] role: &str,
    #[case] replicas: u64,
    #[case] expected: Value,
) {
    check(&with(job(), pointer, value), role, replicas, &expected);
}

#[rstest]
#[case::no_worker("/spec/replicaSpecs", json!({}), "spec.replicaSpecs.worker is missing")]
#[case::misspelled_worker(
    "/spec/replicaSpecs",
    json!({"wokrer": {}}),
    "spec.replicaSpecs.worker is missing: replicaSpecs has no field wokrer: did you mean worker?"
)]
#[case::no_template("/spec/replicaSpecs/worker", json!({}), "spec.replicaSpecs.worker.template is missing")]
#[case::no_main_container(
    "/spec/replicaSpecs/worker/template/spec/containers", json!([{"name": "a"}, {"name": "b"}]),
    "a container named main in spec.replicaSpecs.worker.template.spec.containers is missing"
)]
#[case::empty_master("/spec/replicaSpecs/dlrover-master", json!({"template": {"spec": {}}}), "spec.replicaSpecs.dlrover-master.template.spec.containers is missing")]
fn errors_contain_the_path(#[case] pointer: &str, #[case] value: Value, #[case] message: &str) {
    assert_eq!(error(&with(job(), pointer, value)), message);
}
