use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::workload::template::testing::{check, error, render, with};

fn job() -> Value {
    json!({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
    "metadata": {"name": "llama", "uid": "u1", "labels": {"volcano.sh/preemptable": "true"}, "annotations": {"volcano.sh/jdb-max-unavailable": "1"}},
    "spec": {"queue": "research", "tasks": [
        {"name": "master", "replicas": 1, "template": {"spec": {"containers": [{"name": "train"}]}}},
        {"name": "worker", "replicas": 3, "template": {"metadata": {"labels": {"app": "llama"}, "finalizers": ["dropped"]},
            "spec": {"initContainers": [{"name": "fetch"}], "containers": [{"name": "train", "env": [{"name": "A", "value": "1"}]}]}}},
    ]}})
}

#[test]
fn pods_have_position_labels_and_annotations() {
    check(
        &job(),
        "worker",
        3,
        &json!({
            "/metadata": {
                "name": "llama-worker-0",
                "namespace": "team",
                "labels": {
                    "app": "llama",
                    "volcano.sh/task-index": "0",
                    "volcano.sh/task-spec": "worker",
                    "volcano.sh/job-name": "llama",
                    "volcano.sh/job-namespace": "team",
                    "volcano.sh/queue-name": "research",
                    "volcano.sh/preemptable": "true",
                },
                "annotations": {
                    "volcano.sh/task-index": "0",
                    "volcano.sh/task-spec": "worker",
                    "volcano.sh/job-name": "llama",
                    "volcano.sh/queue-name": "research",
                    "volcano.sh/job-version": "0",
                    "volcano.sh/job-retry-count": "0",
                    "volcano.sh/template-uid": "llama-worker",
                    "volcano.sh/jdb-max-unavailable": "1",
                    "scheduling.k8s.io/group-name": "llama-u1",
                },
                "ownerReferences": [{
                    "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "llama", "uid": "u1",
                    "controller": true, "blockOwnerDeletion": true,
                }],
            },
            "/spec/schedulerName": "volcano",
            "/spec/containers/0/env": [{"name": "A", "value": "1"}],
        }),
    );
}

#[rstest]
#[case::env(json!({"env": []}), json!({
    "/spec/containers/0/env": [{"name": "A", "value": "1"}, {"name": "VK_TASK_INDEX", "value": "0"}, {"name": "VC_TASK_INDEX", "value": "0"}],
    "/spec/initContainers/0/env/1/name": "VC_TASK_INDEX",
    "/spec/hostname": null,
}))]
#[case::svc(json!({"svc": []}), json!({
    "/spec/hostname": "llama-worker-0",
    "/spec/subdomain": "llama",
    "/spec/containers/0/env/1": {"name": "VC_MASTER_HOSTS", "valueFrom": {"configMapKeyRef": {"name": "llama-svc", "key": "VC_MASTER_HOSTS"}}},
    "/spec/initContainers/0/env/3/name": "VC_WORKER_NUM",
    "/spec/volumes": [{"name": "llama-svc", "configMap": {"name": "llama-svc"}}],
    "/spec/containers/0/volumeMounts": [{"name": "llama-svc", "mountPath": "/etc/volcano"}],
}))]
#[case::svc_without_variables(json!({"svc": ["--inject-hosts-env=false"]}), json!({
    "/spec/containers/0/env/1": null,
    "/spec/volumes/0/name": "llama-svc",
}))]
#[case::ssh(json!({"ssh": []}), json!({
    "/spec/volumes/0/secret/secretName": "llama-ssh",
    "/spec/volumes/0/secret/defaultMode": 384,
    "/spec/containers/0/volumeMounts": [{"name": "llama-ssh", "mountPath": "/root/.ssh", "subPath": ".ssh"}],
}))]
#[case::pytorch(json!({"pytorch": ["--port=2222"]}), json!({
    "/spec/subdomain": "llama",
    "/spec/containers/0/ports": [{"name": "pytorchjob-port", "containerPort": 2222}],
    "/spec/containers/0/env/5": {"name": "MASTER_ADDR", "value": "llama-master-0.llama"},
    "/spec/containers/0/env/6": {"name": "MASTER_PORT", "value": "2222"},
    "/spec/containers/0/env/7": {"name": "WORLD_SIZE", "value": "4"},
    "/spec/containers/0/env/8": {"name": "RANK", "value": "1"},
}))]
#[case::pytorch_without_master(json!({"pytorch": ["--master=chief"]}), json!({"/spec/containers/0/ports": null}))]
fn plugins_change_the_pod(#[case] plugins: Value, #[case] expected: Value) {
    check(&with(job(), "/spec/plugins", plugins), "worker", 3, &expected);
}

#[test]
fn an_unsupported_plugin_has_a_note() {
    let roles = render(&with(job(), "/spec/plugins", json!({"hcclrank": []}))).unwrap();
    assert_eq!(roles[0].notes, ["changes by Volcano's hcclrank plugin are not shown"]);
    let roles = render(&with(job(), "/spec/plugins", json!({"sshh": []}))).unwrap();
    assert!(roles[0].notes.is_empty(), "{:?}", roles[0].notes);
}

#[test]
fn volumes_of_the_job_are_mounted_into_every_container() {
    let raw =
        with(job(), "/spec/volumes", json!([{"mountPath": "/data", "volumeClaimName": "data"}, {"mountPath": "/out"}]));
    check(
        &raw,
        "master",
        1,
        &json!({
            "/spec/volumes/0": {"name": "llama-000000000000", "persistentVolumeClaim": {"claimName": "data"}},
            "/spec/volumes/1": {"name": "llama-000000000001", "persistentVolumeClaim": {"claimName": "llama-volume-000000000000"}},
            "/spec/containers/0/volumeMounts/1": {"name": "llama-000000000001", "mountPath": "/out"},
        }),
    );
}

#[rstest]
#[case::host_network("/spec/tasks/0/template/spec/hostNetwork", json!(true), json!({"/spec/dnsPolicy": "ClusterFirstWithHostNet"}))]
#[case::scheduler("/spec/schedulerName", json!("mine"), json!({"/spec/schedulerName": "mine"}))]
#[case::priority("/spec/priorityClassName", json!("high"), json!({"/spec/priorityClassName": "high"}))]
#[case::numa("/spec/tasks/0/topologyPolicy", json!("best-effort"), json!({"/metadata/annotations/volcano.sh~1numa-topology-policy": "best-effort"}))]
fn options_change_the_pod(#[case] pointer: &str, #[case] value: Value, #[case] expected: Value) {
    check(&with(job(), pointer, value), "master", 1, &expected);
}

#[test]
fn a_task_without_a_name_has_a_default_name() {
    let mut raw = job();
    raw["spec"]["tasks"][1]["name"] = Value::Null;
    raw["spec"]["tasks"][1]["replicas"] = Value::Null;
    check(&raw, "default1", 0, &json!({"/metadata/name": "llama-default1-0"}));
}

#[rstest]
#[case::no_tasks("/spec/tasks", Value::Null, "spec.tasks is missing")]
#[case::no_template("/spec/tasks/1/template", Value::Null, "spec.tasks[1].template is missing")]
#[case::plugins_not_an_object("/spec/plugins", json!("svc"), "spec.plugins is \"svc\": expected an object")]
#[case::negative("/spec/tasks/1/replicas", json!(-3), "spec.tasks[1].replicas is -3: expected a whole number from 0 to 2147483647")]
fn an_invalid_spec_is_rejected(#[case] pointer: &str, #[case] value: Value, #[case] expected: &str) {
    assert_eq!(error(&with(job(), pointer, value)), expected);
}

#[test]
fn pods_are_identified_by_labels() {
    let labels =
        json!({"volcano.sh/job-name": "llama", "volcano.sh/task-spec": "worker", "volcano.sh/task-index": "2"});
    let raw = json!({"metadata": {"labels": labels}});
    let expected = PodIdentity { kind: &KIND, workload: "llama", role: Some("worker"), index: Some(2), training: true };
    assert_eq!(crate::workload::identify(Pod::new(&raw)), Some(expected));
}
