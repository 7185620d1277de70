//! Effects of the webhook that users and the audit log can see, for pods created by users and by controllers.

use rstest::rstest;
use serde_json::{Value, json};

use trainmesh_testing::cluster::{Cluster, TIMEOUT, eventually};
use trainmesh_testing::pods::{OPTED_IN, creation, has_hold, pod, spec};
use trainmesh_testing::webhook::{Options, Webhook};

/// Makes the pod decline the hold, which causes a warning.
fn declining(mut pod: Value) -> Value {
    pod["metadata"]["annotations"] = json!({"proxy.istio.io/config": "holdApplicationUntilProxyStarts: false"});
    pod
}

fn workload(api_version: &str, kind: &str, spec: &Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "train"}, "spec": spec})
}

fn template() -> Value {
    json!({"metadata": {"labels": {"app": "train"}}, "spec": spec()})
}

fn deployment() -> Value {
    let mut template = template();
    template["spec"]["restartPolicy"] = "Always".into();
    workload(
        "apps/v1",
        "Deployment",
        &json!({"replicas": 2, "selector": {"matchLabels": {"app": "train"}}, "template": template}),
    )
}

fn job() -> Value {
    workload("batch/v1", "Job", &json!({"template": template()}))
}

fn indexed_job() -> Value {
    let spec = json!({"completionMode": "Indexed", "completions": 2, "parallelism": 2, "template": template()});
    workload("batch/v1", "Job", &spec)
}

fn cron_job() -> Value {
    workload(
        "batch/v1",
        "CronJob",
        &json!({"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template()}}}),
    )
}

fn generated() -> Value {
    let mut pod = pod("");
    pod["metadata"] = json!({"generateName": "train-", "labels": {"app": "train"}});
    pod
}

#[rstest]
#[case::generate_name(generated(), 1)]
#[case::deployment(deployment(), 2)]
#[case::job(job(), 1)]
#[case::indexed_job(indexed_job(), 2)]
#[case::cron_job(cron_job(), 1)]
fn pods_of_every_creator_are_patched(#[case] manifest: Value, #[case] expected: usize) {
    Cluster::get().start_mesh();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&OPTED_IN);
    let _ = namespace.create(&manifest).success();
    if manifest["kind"] == "CronJob" {
        // Waiting for the next minute would be slow: pretend that the last schedule was long ago.
        let last = json!({"lastScheduleTime": "2020-01-01T00:00:00Z"});
        let _ = namespace.set_status("cronjobs", &["train"], &last).success();
    }
    let pods = eventually(TIMEOUT, "its pods are created", || {
        let pods = namespace.pods("app=train");
        if pods.len() >= expected { Ok(pods) } else { Err(pods.len()) }
    });
    for pod in pods {
        assert!(has_hold(&pod), "{}", pod["metadata"]);
        let name = pod["metadata"]["name"].as_str().expect("a name");
        check_audit(&creation(&namespace, name), "inject.trainmesh.dev", "mesh.hold=applied:HoldAdded");
    }
}

/// Checks the audit annotations of a review in its first round.
fn check_audit(request: &Value, webhook: &str, hold: &str) {
    let annotation = |key: &str| request["annotations"][format!("{webhook}/{key}")].as_str().unwrap_or_default();
    assert!(annotation("rules").split(',').any(|rule| rule == hold), "{}", request["annotations"]);
    assert_eq!(annotation("config"), trainmesh_core::config::Configuration::embedded().hash());
}

#[test]
fn a_dry_run_shows_the_patched_pod_and_creates_none() {
    Cluster::get().start_mesh();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&OPTED_IN);
    let shown = namespace.kubectl(&["apply", "--dry-run=server", "-o", "json", "-f", "-"], &pod("train")).success();
    assert!(has_hold(&shown.object()), "{}", shown.stdout);
    assert_eq!(namespace.get("pod", "train"), None);
}

#[test]
fn warnings_reach_the_user() {
    Cluster::get().start_mesh();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&OPTED_IN);
    let created = namespace.create(&declining(pod("train"))).success();
    let warnings: Vec<&str> = created.warnings().collect();
    assert!(warnings[0].starts_with("mesh.hold: holdApplicationUntilProxyStarts is false"), "{warnings:?}");
    check_audit(&creation(&namespace, "train"), "inject.trainmesh.dev", "mesh.hold=skipped:HoldDeclined");
}

#[test]
fn audit_mode_warns_and_changes_nothing() {
    Cluster::get().start_mesh();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&[("trainmesh.dev/inject", "audit"), ("istio-injection", "enabled")]);
    let created = namespace.create(&pod("train")).success();
    let count = created.warnings().filter(|warning| warning.starts_with("audit: mesh.hold would apply")).count();
    assert_eq!(count, 1, "{}", created.stderr);
    let stored = namespace.get("pod", "train").expect("the pod was created");
    let annotations = &stored["metadata"]["annotations"];
    assert!(annotations["trainmesh.dev/applied"].is_null(), "{annotations}");
    assert!(annotations["proxy.istio.io/config"].is_null(), "{annotations}");
    check_audit(&creation(&namespace, "train"), "audit.trainmesh.dev", "mesh.hold=applied:HoldAdded");
}

/// 100 containers and a megabyte: far more than any real pod, and well within the apiserver's limit.
#[test]
fn a_huge_pod_is_patched_in_time() {
    let webhook = Webhook::with_options(&Options { policy: Some("Fail"), ..Options::default() });
    let namespace = webhook.namespace(&OPTED_IN);
    let mut huge = pod("huge");
    let container = |number: u32| {
        let entry = |place: u32| json!({"name": format!("SETTING_{place}"), "value": "x".repeat(1_100)});
        let env: Vec<Value> = (0..10).map(entry).collect();
        json!({"name": format!("train-{number}"), "image": "trainmesh.test/busybox:1", "env": env})
    };
    huge["spec"]["containers"] = (0..100).map(container).collect();
    assert!(huge.to_string().len() > 1 << 20);
    let created = namespace.kubectl(&["create", "--dry-run=server", "-o", "json", "-f", "-"], &huge).success();
    assert!(has_hold(&created.object()));
}
