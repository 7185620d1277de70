//! Time to decode the largest pod of the controller and to decide about it.

#![expect(clippy::unwrap_used, reason = "a failed benchmark has no result")]

use divan::Bencher;
use divan::counter::BytesCount;
use serde_json::{Value, json};
use trainmesh::controller::WatchedPod;
use trainmesh_core::config::Configuration;
use trainmesh_core::lifecycle::{self, DecisionInput, History, SidecarCatalog};
use trainmesh_core::scope::Mode;

fn main() {
    divan::main();
}

/// The decision about the largest pod that the controller keeps: the maximum number of containers and names.
#[divan::bench]
fn decide_termination_of_the_largest_pod(bencher: Bencher<'_, '_>) {
    let pod: WatchedPod = serde_json::from_str(&largest_pod()).unwrap();
    let config = Configuration::embedded();
    let catalog = SidecarCatalog::new(&config.termination);
    let history = History::default();
    let input = DecisionInput {
        facts: &pod.facts,
        mode: Ok(Mode::Enabled),
        settings: &config.termination,
        catalog: &catalog,
        history: &history,
        now: "2026-01-01T00:01:00Z".parse().unwrap(),
    };
    bencher.bench(|| lifecycle::decide(divan::black_box(&input)));
}

/// Decodes the JSON of a pod with maximum content into what the controller keeps.
#[divan::bench]
fn decode_the_largest_pod(bencher: Bencher<'_, '_>) {
    let mut pod: Value = serde_json::from_str(&largest_pod()).unwrap();
    pod["metadata"]["annotations"]["team"] = "\u{1}".repeat(240 * 1024).into();
    let text = pod.to_string();
    bencher.counter(BytesCount::new(text.len())).bench(|| serde_json::from_str::<WatchedPod>(divan::black_box(&text)));
}

fn largest_pod() -> String {
    let name = |number: usize| format!("{number:0>60}");
    let list = |entry: &str| (0..63).map(|number| name(number) + entry).collect::<Vec<_>>().join(",");
    let names: Vec<String> = (0..63).map(name).chain(["istio-proxy".to_owned()]).collect();
    let containers: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    let terminated = json!({"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:00Z"}});
    let statuses: Vec<Value> =
        names.iter().map(|name| json!({"name": name, "containerID": name, "state": terminated})).collect();
    let annotations =
        json!({"trainmesh.dev/payload-containers": list(""), "trainmesh.dev/helper-containers": list("=a")});
    json!({
        "metadata": {"namespace": "team-a", "name": "a", "uid": "1", "annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": containers},
        "status": {"phase": "Running", "containerStatuses": statuses},
    })
    .to_string()
}
