//! `trainmesh preview --cluster --quota`: its verdicts compared with the pods that a Job creates within the quota.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_testing::cli::trainmesh;
use trainmesh_testing::cluster::{Namespace, TIMEOUT, eventually};
use trainmesh_testing::webhook::{Scope, WebhookConfiguration};

use super::faulty_webhook::{Fault, FaultyWebhook};

/// Number of pods of the job.
const PODS: u64 = 2;

/// Adds a sidecar, as Istio does, that requests CPU and has no limits.
fn sidecar(_: &Value) -> Value {
    let container = json!({"name": "proxy", "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never",
        "command": ["sleep", "1h"], "resources": {"requests": {"cpu": "100m"}}});
    json!([{"op": "add", "path": "/spec/containers/-", "value": container}])
}

/// Returns a job whose pods request 500m CPU each. None is placed, so that they take none from other tests.
fn job() -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"},
        "spec": {"completionMode": "Indexed", "completions": PODS, "parallelism": PODS, "template": {
            "spec": {"schedulerName": "nobody", "restartPolicy": "Never", "containers": [{"name": "train",
                "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never", "command": ["sleep", "1h"],
                "resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "500m"}}}]}}}})
}

/// Creates an object in `namespace`, and waits until the apiserver uses it.
fn create_constraint(namespace: &Namespace, kind: &str, spec: &Value) {
    let object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "team"}, "spec": spec});
    let _ = namespace.create(&object).success();
    eventually(TIMEOUT, "the controller counts the quota", || match namespace.get("resourcequota", "team") {
        Some(quota) if !quota["status"]["used"].is_object() => Err("no status".to_owned()),
        _ => Ok(()),
    });
}

/// Returns the result of the preview for the constraint.
fn preview(namespace: &Namespace, kind: &str) -> Value {
    let arguments = ["preview", "-f", "-", "--cluster", "--quota", "-n", &namespace.name, "-o", "json"];
    let run = trainmesh(&arguments, &job().to_string());
    let output: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:#?}"));
    let constraints = output["results"][0]["quota"]["constraints"].as_array().cloned().unwrap_or_default();
    let found = constraints.into_iter().find(|found| found["kind"] == kind);
    found.unwrap_or_else(|| panic!("no {kind} in {output}"))
}

/// Creates the job, and returns the number of its pods when all exist or the apiserver has rejected one.
fn created_pods(namespace: &Namespace) -> usize {
    let _ = namespace.create(&job()).success();
    // Not a failed call of the webhook.
    let is_rejection = |event: &Value| {
        event["reason"] == "FailedCreate" && event["note"].as_str().is_some_and(|note| note.contains("is forbidden"))
    };
    eventually(TIMEOUT, "pods exist or are rejected", || {
        // Read first: the controller creates the other pods before the one that is rejected.
        let rejected = namespace.events().iter().any(is_rejection);
        let count = namespace.pods("").len();
        if rejected || count == 2 { Ok(count) } else { Err(format!("{count} pods")) }
    })
}

#[rstest]
#[case::all_fit("ResourceQuota", json!({"hard": {"requests.cpu": "1200m", "pods": 2}}), "fits", 2)]
#[case::without_the_sidecars("ResourceQuota", json!({"hard": {"requests.cpu": "1150m"}}), "fitsWithoutAdditions", 1)]
#[case::templates_for_one("ResourceQuota", json!({"hard": {"cpu": "700m"}}), "doesNotFit", 1)]
// The apiserver rejects the dry run, too.
#[case::less_than_one_pod("ResourceQuota", json!({"hard": {"cpu": "550m"}}), "doesNotFit", 0)]
#[case::sidecar_without_a_limit("ResourceQuota", json!({"hard": {"limits.cpu": 2}}), "fitsWithoutAdditions", 0)]
#[case::memory_that_no_container_requests("ResourceQuota", json!({"hard": {"memory": "1Gi"}}), "doesNotFit", 0)]
#[case::range("LimitRange", json!({"limits": [{"type": "Pod", "max": {"cpu": 1}}]}), "fits", 2)]
#[case::range_without_the_sidecar("LimitRange", json!({"limits": [{"type": "Pod", "max": {"cpu": "550m"}}]}), "fitsWithoutAdditions", 0)]
#[case::lower_range("LimitRange", json!({"limits": [{"type": "Pod", "max": {"cpu": "400m"}}]}), "doesNotFit", 0)]
fn verdicts_agree_with_the_apiserver(
    #[case] kind: &str,
    #[case] spec: Value,
    #[case] verdict: &str,
    #[case] pods: usize,
) {
    let server = FaultyWebhook::start(Fault::Patch(sidecar));
    let webhook = server.webhook("sidecars.example.com", &json!({"failurePolicy": "Fail"}));
    let configuration = WebhookConfiguration::new(Scope::new(), "sidecars", vec![webhook]);
    let namespace = configuration.namespace(&[("trainmesh.dev/inject", "enabled")]);
    create_constraint(&namespace, kind, &spec);
    let found = preview(&namespace, kind);
    assert_eq!((&found["verdict"], &found["admits"]), (&json!(verdict), &json!(pods == 2)), "{found}");
    assert_eq!(created_pods(&namespace), pods, "{found}");
}

/// A single pod is rejected by the quota, so that only the message of the apiserver contains what others have injected.
#[test]
fn a_rejected_dry_run_contains_the_sidecar() {
    let server = FaultyWebhook::start(Fault::Patch(sidecar));
    let webhook = server.webhook("sidecars.example.com", &json!({"failurePolicy": "Fail"}));
    let configuration = WebhookConfiguration::new(Scope::new(), "sidecars", vec![webhook]);
    let namespace = configuration.namespace(&[("trainmesh.dev/inject", "enabled")]);
    create_constraint(&namespace, "ResourceQuota", &json!({"hard": {"requests.cpu": "500m"}}));
    let mut pod = job()["spec"]["template"].take();
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"] = json!({"name": "train"});
    let arguments = ["preview", "-f", "-", "--cluster", "--quota", "-n", &namespace.name, "-o", "json"];
    let run = trainmesh(&arguments, &pod.to_string());
    assert_eq!(run.code, Some(2), "{run:#?}");
    let output: Value = serde_json::from_str(&run.stdout).unwrap();
    let quota = &output["results"][0]["quota"];
    assert_eq!(quota["constraints"][0]["verdict"], "fitsWithoutAdditions", "{quota}");
    assert_eq!(quota["roles"][0]["additions"], json!([{"container": "unknown", "requests": {"cpu": "100m"}}]));
    assert!(namespace.create_pod(&pod).unwrap_err().to_string().contains("exceeded quota: team"));
}
