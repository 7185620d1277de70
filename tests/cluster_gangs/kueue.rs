//! Jobs and pods in queues of Kueue, whose quota is exactly what their templates request. Sidecars request more.

use serde_json::{Value, json};
use trainmesh_testing::cli::trainmesh_with;
use trainmesh_testing::cluster::{Cluster, TIMEOUT, eventually};

use crate::fixture::{CAPACITY, Fixture};
use crate::scheduler::Scheduler;

const QUEUE_LABEL: &str = "kueue.x-k8s.io/queue-name";

/// Creates a queue with these nominal quotas, and returns its name.
fn create_queue(fixture: &Fixture, suffix: &str, quotas: &[(&str, &str)]) -> String {
    let namespace = &fixture.namespace.name;
    let name = format!("{namespace}-{suffix}");
    let covered: Vec<&str> = quotas.iter().map(|(resource, _)| *resource).collect();
    let amounts: Vec<Value> =
        quotas.iter().map(|(resource, amount)| json!({"name": resource, "nominalQuota": amount})).collect();
    let meta = |kind: &str, name: &str| json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}});
    let mut queue = meta("ClusterQueue", &name);
    queue["spec"] = json!({"namespaceSelector": {}, "resourceGroups": [
        {"coveredResources": covered, "flavors": [{"name": "default", "resources": amounts}]},
    ]});
    let mut local = meta("LocalQueue", &name);
    local["metadata"]["namespace"] = namespace.as_str().into();
    local["spec"] = json!({"clusterQueue": name});
    for object in [meta("ResourceFlavor", "default"), queue, local] {
        let _ = Cluster::get().apply(&object).success();
    }
    name
}

/// Returns a job of two pods in a queue. Its pods select another mode.
fn queued_job(fixture: &Fixture, name: &str, queue: &str) -> Value {
    let mut job = fixture.job(name, 2);
    job["metadata"]["labels"] = json!({QUEUE_LABEL: queue});
    job["spec"]["template"]["metadata"]["labels"] = json!({"trainmesh.dev/gang": "native"});
    job["spec"]["template"]["spec"]["containers"][0]["resources"] =
        json!({"requests": {"cpu": "100m", CAPACITY: 1}, "limits": {CAPACITY: 1}});
    job
}

/// Returns a pod in a queue.
fn queued_pod(fixture: &Fixture, name: &str, queue: &str) -> Value {
    let mut pod = queued_job(fixture, name, queue)["spec"]["template"].take();
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"] = json!({"name": name, "labels": {QUEUE_LABEL: queue}});
    pod
}

/// Returns the result of a preview with quotas.
fn preview(fixture: &Fixture, manifest: &Value) -> Value {
    let arguments = ["preview", "-f", "-", "--cluster", "--quota", "-n", &fixture.namespace.name, "-o", "json"];
    let run = trainmesh_with(&arguments, &manifest.to_string(), &[]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    let output: Value = serde_json::from_str(&run.stdout).unwrap();
    output["results"][0].clone()
}

/// Returns verdict, counted requests and admission of the preview for the queue.
fn verdict(fixture: &Fixture, manifest: &Value) -> (String, String, bool) {
    let result = preview(fixture, manifest);
    let quota = &result["quota"];
    assert_eq!(quota["roles"][0]["basis"], "dryRun", "{quota}");
    let found = quota["constraints"].as_array().unwrap().iter().find(|found| found["kind"] == "ClusterQueue");
    let found = found.unwrap_or_else(|| panic!("{quota}"));
    let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
    (text("verdict"), text("counts"), found["admits"] == true)
}

fn expected(verdict: &str, counts: &str, admits: bool) -> (String, String, bool) {
    (verdict.to_owned(), counts.to_owned(), admits)
}

#[test]
#[ignore = "builds Kueue: `make soak` runs it"]
fn kueue_admits_as_the_preview_shows() {
    let fixture = Fixture::in_mesh(Scheduler::KUEUE, 8);
    let exact = create_queue(&fixture, "exact", &[("cpu", "200m"), (CAPACITY, "2")]);

    let job = queued_job(&fixture, "train", &exact);
    let result = preview(&fixture, &fixture.job("unqueued", 2));
    let warning = "label the job with a queue, and enable batch/job";
    assert!(result["warnings"].to_string().contains(warning), "{result}");
    assert_eq!(verdict(&fixture, &job), expected("fitsWithoutAdditions", "templates", true));
    fixture.create(&[job]);
    fixture.wait_placed("train", 2);
    for pod in fixture.pods("train") {
        let labels = &pod["metadata"]["labels"];
        assert!(labels["kueue.x-k8s.io/podset"].is_string(), "{labels}");
        assert!(pod["spec"]["schedulingGroup"].is_null(), "{pod}");
    }
    let _ = fixture.namespace.delete("jobs.batch", "train").success();
    fixture.wait_pods("train", 0);

    // Kueue counts single pods with their sidecar, whose memory the queue does not cover.
    let pod = queued_pod(&fixture, "exact", &exact);
    assert_eq!(verdict(&fixture, &pod), expected("fitsWithoutAdditions", "pods", false));
    fixture.create(&[pod]);
    eventually(TIMEOUT, "Kueue rejects the pod", || {
        let workloads =
            fixture.namespace.kubectl(&["get", "workloads.kueue.x-k8s.io", "-o", "json"], "").success().object();
        let text = workloads["items"].to_string();
        if text.contains("resource memory unavailable in ClusterQueue") { Ok(()) } else { Err(text) }
    });
    let gates = |name: &str| fixture.namespace.get("pod", name).unwrap_or_default()["spec"]["schedulingGates"].clone();
    assert!(gates("exact").is_array(), "{}", gates("exact"));

    let enough = create_queue(&fixture, "enough", &[("cpu", "200m"), ("memory", "1Gi"), (CAPACITY, "2")]);
    let pod = queued_pod(&fixture, "enough", &enough);
    assert_eq!(verdict(&fixture, &pod), expected("fits", "pods", true));
    fixture.create(&[pod]);
    eventually(TIMEOUT, "Kueue admits the pod", || {
        let gates = gates("enough");
        if gates.is_null() { Ok(()) } else { Err(gates.to_string()) }
    });
}
