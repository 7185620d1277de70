//! Alerts and dashboard with a Prometheus that scrapes an installation and the apiserver.

use std::fs;

use k8s_openapi::ByteString;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::lifecycle::{run_job, wait_until_called};
use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually};
use trainmesh_testing::pods::{OPTED_IN, pod};
use trainmesh_testing::prometheus::Prometheus;
use trainmesh_testing::release::{CHART, Release};

/// Panels without a series on an installation without problems, and those of series of the kubelet, which is not scraped.
const EMPTY: [&str; 4] = ["CPU", "Findings about jobs", "Firing alerts", "Memory"];
/// Fabrics of pods: a built-in profile, one that does not exist, and none.
const FABRICS: [&str; 3] = ["tcp", "unknown", "none"];
/// Alerts about the latency of reviews, which depends on the load of the machine.
const LATENCY: [&str; 2] = ["TrainmeshLatencyBudgetBurns", "TrainmeshReviewsSlow"];

/// Returns a configuration that scrapes both servers as the chart's `PodMonitor` does, and the apiserver.
fn configuration(release: &Release, folder: &TempDir) -> Value {
    let pods = ["webhook", "controller"].into_iter().flat_map(|component| release.pods(component));
    let targets: Vec<Value> = pods
        .map(|pod| {
            let address = format!("{}:8080", pod["status"]["podIP"].as_str().expect("the pod runs"));
            let labels = json!({"namespace": pod["metadata"]["namespace"], "pod": pod["metadata"]["name"]});
            json!({"targets": [address], "labels": labels})
        })
        .collect();
    let kubeconfig = Cluster::get().kubectl(&["config", "view", "--raw", "-o", "json"], "").success().object();
    let [cert, key] = ["client-certificate-data", "client-key-data"].map(|field| {
        let ByteString(pem) = serde_json::from_value(kubeconfig["users"][0]["user"][field].clone()).unwrap();
        let path = folder.path().join(field);
        fs::write(&path, pem).unwrap();
        path
    });
    let apiserver = kubeconfig["clusters"][0]["cluster"]["server"].as_str().unwrap().strip_prefix("https://").unwrap();
    json!({
        "global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "1s"},
        "rule_files": [trainmesh_testing::repository().join(CHART).join("files/alerts.yaml")],
        "scrape_configs": [
            {"job_name": "trainmesh", "static_configs": targets},
            // A response has megabytes.
            {"job_name": "apiserver", "scrape_interval": "10s", "scrape_timeout": "10s", "scheme": "https",
             "tls_config": {"cert_file": cert, "key_file": key, "insecure_skip_verify": true},
             "static_configs": [{"targets": [apiserver]}]},
        ],
    })
}

/// Causes decisions of all rules, and the termination of a proxy.
fn cause_decisions(namespace: &Namespace, job: &str) {
    for fabric in FABRICS {
        let mut pod = pod("train");
        pod["metadata"]["labels"] = json!({"trainmesh.dev/fabric": fabric});
        pod["spec"]["containers"][0]["resources"] = json!({"limits": {"nvidia.com/gpu": 8}});
        let _ = namespace.create_dry_run(&pod).unwrap();
    }
    run_job(namespace, job);
}

/// Returns title and expression of every query of the dashboard, as Grafana sends them with default variables.
fn queries() -> Vec<(String, String)> {
    let path = trainmesh_testing::repository().join(CHART).join("files/dashboard.json");
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let queries = dashboard["panels"].as_array().unwrap().iter().flat_map(|panel| {
        let targets = panel["targets"].as_array().cloned().unwrap_or_default();
        targets.into_iter().map(|target| {
            let selections = ["$cluster", "$namespace", "$job"].map(|name| (name, ".*"));
            let variables = [("$__rate_interval", "1m"), ("$__range", "5m")].into_iter().chain(selections);
            let expression = target["expr"].as_str().unwrap().to_owned();
            let expression = variables.fold(expression, |text, (name, value)| text.replace(name, value));
            (panel["title"].as_str().unwrap().to_owned(), expression)
        })
    });
    queries.collect()
}

/// Waits until the rule of every alert has been evaluated and exactly these alerts are pending or firing, apart from those about
/// latency. Returns them.
fn wait_for_alerts(prometheus: &mut Prometheus, expected: &[&str]) -> Vec<Value> {
    eventually(TIMEOUT, "the expected alerts are active", || {
        let rules = prometheus.rules();
        assert!(rules.len() > 15, "{rules:?}");
        let errors: Vec<&Value> = rules.iter().filter(|rule| !rule["error"].is_null()).collect();
        assert!(errors.is_empty(), "{errors:?}");
        let evaluated = rules.iter().all(|rule| rule["health"] == "ok");
        let is_expected = |rule: &Value| rule["name"].as_str().is_some_and(|name| !LATENCY.contains(&name));
        let active = rules.into_iter().filter(|rule| rule["state"] != "inactive" && is_expected(rule));
        let active: Vec<Value> = active.collect();
        let names: Vec<&str> = active.iter().filter_map(|rule| rule["name"].as_str()).collect();
        if evaluated && names == expected { Ok(active) } else { Err(format!("{names:?}")) }
    })
}

#[test]
fn alerts_and_panels_evaluate_on_scraped_series() {
    Cluster::get().start_mesh();
    let release = Release::start(&[]);
    let namespace = Cluster::get().namespace(&OPTED_IN);
    wait_until_called(&namespace);
    // A series that starts at 1 has not increased, so everything happens twice.
    cause_decisions(&namespace, "first");
    let folder = tempfile::tempdir().unwrap();
    let mut prometheus = Prometheus::start(&configuration(&release, &folder), folder);
    eventually(TIMEOUT, "all targets are scraped", || {
        let up = prometheus.query("sum(up)").unwrap();
        let last = up.first().and_then(|series| series["values"].as_array()?.last()).cloned().unwrap_or_default();
        if last[1] == "5" { Ok(()) } else { Err(last) }
    });
    cause_decisions(&namespace, "second");

    for (panel, expression) in queries() {
        eventually(TIMEOUT, &format!("panel {panel:?} has series"), || match prometheus.query(&expression) {
            Err(error) => panic!("{panel}: {error}: {expression}"),
            Ok(series) if series.is_empty() && !EMPTY.contains(&&*panel) => Err(expression.clone()),
            Ok(_) => Ok(()),
        });
    }
    wait_for_alerts(&mut prometheus, &[]);

    let invalid = json!({"data": {"config.yaml": "mesh: {nativeSidecar: unknown}"}}).to_string();
    let _ = release.namespace.kubectl(&["patch", "configmap", "trainmesh-config", "-p", &invalid], "").success();
    let active = wait_for_alerts(&mut prometheus, &["TrainmeshConfigRefused"]);
    let alerts = active[0]["alerts"].as_array().unwrap();
    // One for each replica that Prometheus has scraped since.
    let leads = |alert: &Value| alert["runbook_url"] == "docs/operations.md#trainmeshconfigrefused";
    assert!(active[0]["state"] == "firing" && !alerts.is_empty() && alerts.iter().all(leads), "{active:?}");
}
