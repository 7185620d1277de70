use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::workload::template::testing::{check, error, render, with};

/// Returns a JobSet with a driver, and two Jobs of four workers each in a separate group.
fn set() -> Value {
    let template =
        json!({"spec": {"containers": [{"name": "train", "volumeMounts": [{"name": "ckpt", "mountPath": "/ckpt"}]}]}});
    json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "llama", "uid": "u1"}, "spec": {
        "replicatedJobs": [
            {"name": "driver", "template": {"spec": {"template": {"spec": {"containers": [], "restartPolicy": "Never"}}}}},
            {"name": "workers", "groupName": "gpu", "replicas": 2, "dependsOn": [{"name": "driver", "status": "Ready"}],
             "template": {"spec": {"parallelism": 4, "completions": 4, "template": template}}},
        ],
    }})
}

fn key(name: &str) -> String {
    format!("jobset.sigs.k8s.io/{name}")
}

#[test]
fn pods_have_position_labels_and_annotations() {
    let metadata = |entries: &[(&str, &str)]| -> Map<String, Value> {
        entries.iter().map(|(name, value)| (key(name), (*value).into())).collect()
    };
    let mut annotations = metadata(&[
        ("jobset-name", "llama"),
        ("jobset-uid", "u1"),
        ("replicatedjob-name", "workers"),
        ("restart-attempt", "0"),
        ("replicatedjob-replicas", "2"),
        ("global-replicas", "3"),
        ("job-index", "0"),
        // printf team/llama-workers-0 | sha1sum
        ("job-key", "94da500d8e431f4a4d93f2f22f780e00b5fba8fc"),
        ("job-global-index", "1"),
        ("group-name", "gpu"),
        ("group-replicas", "2"),
        ("job-group-index", "0"),
    ]);
    annotations.insert("batch.kubernetes.io/job-completion-index".into(), "0".into());
    let mut labels = annotations.clone();
    for (name, value) in [("job-name", "llama-workers-0"), ("controller-uid", "00000000-0000-0000-0000-000000000000")] {
        labels.insert(name.into(), value.into());
        labels.insert(format!("batch.kubernetes.io/{name}"), value.into());
    }
    check(
        &set(),
        "workers",
        8,
        &json!({
            "/metadata/generateName": "llama-workers-0-0-",
            "/metadata/annotations": annotations,
            "/metadata/labels": labels,
            "/metadata/ownerReferences/0/apiVersion": "batch/v1",
            "/metadata/ownerReferences/0/name": "llama-workers-0",
            "/metadata/finalizers": ["batch.kubernetes.io/job-tracking"],
            "/spec/restartPolicy": "OnFailure",
            "/spec/subdomain": "llama",
            "/spec/hostname": "llama-workers-0-0",
            "/spec/containers/0/env/0/name": "JOB_COMPLETION_INDEX",
            "/spec/volumes": null,
        }),
    );
    check(
        &set(),
        "driver",
        1,
        &json!({
            "/metadata/labels/jobset.sigs.k8s.io~1group-name": "default",
            "/metadata/labels/jobset.sigs.k8s.io~1job-global-index": "0",
            "/spec/restartPolicy": "Never",
        }),
    );
}

#[rstest]
#[case::no_dns("/spec/network", json!({"enableDNSHostnames": false}), json!({"/spec/subdomain": null}))]
#[case::own_subdomain("/spec/network", json!({"subdomain": "net"}), json!({"/spec/subdomain": "net"}))]
#[case::coordinator("/spec/coordinator", json!({"replicatedJob": "driver"}), json!({
    "/metadata/labels/jobset.sigs.k8s.io~1coordinator": "llama-driver-0-0.llama",
    "/metadata/annotations/jobset.sigs.k8s.io~1coordinator": "llama-driver-0-0.llama",
}))]
#[case::claims(
    "/spec/volumeClaimPolicies",
    json!([{"templates": [{"metadata": {"name": "ckpt"}}, {"metadata": {"name": "unused"}}]}]),
    json!({"/spec/volumes": [{"name": "ckpt", "persistentVolumeClaim": {"claimName": "ckpt-llama"}}]})
)]
#[case::not_indexed("/spec/replicatedJobs/1/template/spec/completionMode", json!("NonIndexed"), json!({
    "/metadata/generateName": "llama-workers-0-",
    "/spec/hostname": null,
}))]
#[case::exclusive_by_affinity(
    "/metadata/annotations",
    json!({"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}),
    json!({
        "/metadata/annotations/alpha.jobset.sigs.k8s.io~1exclusive-topology": "rack",
        "/spec/nodeSelector": null,
        "/spec/tolerations": null,
    })
)]
#[case::exclusive_by_selector(
    "/spec/replicatedJobs/1/template/metadata",
    json!({"annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack", "alpha.jobset.sigs.k8s.io/node-selector": "x"}}),
    json!({
        "/metadata/annotations/alpha.jobset.sigs.k8s.io~1node-selector": "x",
        "/spec/nodeSelector": {"alpha.jobset.sigs.k8s.io/namespaced-job": "team_llama-workers-0"},
        "/spec/tolerations": [{"key": "alpha.jobset.sigs.k8s.io/no-schedule", "operator": "Exists", "effect": "NoSchedule"}],
    })
)]
#[case::selector_alone(
    "/metadata/annotations",
    json!({"alpha.jobset.sigs.k8s.io/node-selector": "x"}),
    json!({"/metadata/annotations/alpha.jobset.sigs.k8s.io~1node-selector": null, "/spec/nodeSelector": null})
)]
fn options_change_the_pod(#[case] pointer: &str, #[case] value: Value, #[case] expected: Value) {
    check(&with(set(), pointer, value), "workers", 8, &expected);
}

#[test]
fn a_node_selector_strategy_applies_to_the_topology_of_the_set() {
    let exclusive = json!({"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"});
    let own = json!({"annotations": {"alpha.jobset.sigs.k8s.io/node-selector": "x"}});
    let raw = with(set(), "/metadata/annotations", exclusive);
    check(
        &with(raw, "/spec/replicatedJobs/1/template/metadata", own),
        "workers",
        8,
        &json!({
            "/metadata/annotations/alpha.jobset.sigs.k8s.io~1exclusive-topology": "rack",
            "/metadata/annotations/alpha.jobset.sigs.k8s.io~1node-selector": null,
            "/spec/nodeSelector": {"alpha.jobset.sigs.k8s.io/namespaced-job": "team_llama-workers-0"},
        }),
    );
}

#[test]
fn dependent_roles_have_a_note() {
    let roles = render(&set()).unwrap();
    assert_eq!(roles[0].notes, [""; 0]);
    assert_eq!(roles[1].notes, ["these pods are created only after driver is ready or complete"]);
}

#[rstest]
#[case::no_roles(json!({}), "spec.replicatedJobs is missing")]
#[case::roles_not_a_list(json!({"replicatedJobs": {}}), "spec.replicatedJobs is {}: expected a list")]
#[case::no_name(json!({"replicatedJobs": [{}]}), "spec.replicatedJobs[0].name is missing")]
#[case::no_template(json!({"replicatedJobs": [{"name": "a"}]}), "spec.replicatedJobs[0].template.spec.template is missing")]
#[case::no_completions(
    json!({"replicatedJobs": [{"name": "a", "template": {"spec": {"parallelism": 2, "template": {"spec": {}}}}}]}),
    "spec.replicatedJobs[0].template.spec.completions is missing: the completion mode is Indexed by default here: set completions to the value of parallelism, or completionMode to NonIndexed"
)]
#[case::negative(json!({"replicatedJobs": [{"name": "a", "replicas": -2}]}), "spec.replicatedJobs[0].replicas is -2: expected a whole number from 0 to 2147483647")]
fn an_invalid_spec_is_rejected(#[case] spec: Value, #[case] expected: &str) {
    assert_eq!(error(&with(set(), "/spec", spec)), expected);
}

#[rstest]
#[case::one_job("1", Some(3))]
#[case::several_jobs("2", None)]
fn pods_are_identified_by_labels(#[case] jobs: &str, #[case] index: Option<u64>) {
    let raw = json!({"metadata": {"labels": {
        "jobset.sigs.k8s.io/jobset-name": "llama",
        "jobset.sigs.k8s.io/replicatedjob-name": "workers",
        "jobset.sigs.k8s.io/replicatedjob-replicas": jobs,
        "batch.kubernetes.io/job-completion-index": "3",
    }}});
    let expected = PodIdentity { kind: &KIND, workload: "llama", role: Some("workers"), index, training: true };
    assert_eq!(identify(Pod::new(&raw)), Some(expected));
    assert_eq!(crate::workload::identify(Pod::new(&raw)), Some(expected));
}
