//! Time of the engine for one pod.

#![expect(clippy::unwrap_used, reason = "a failed benchmark has no result")]

mod common;

use divan::Bencher;
use divan::counter::BytesCount;
use serde_json::{Value, json};
use trainmesh::controller::WatchedPod;
use trainmesh_core::config::Configuration;
use trainmesh_core::lifecycle::{self, DecisionInput, History, SidecarCatalog};
use trainmesh_core::mutate::{Snapshot, draft, mutate};
use trainmesh_core::scope::Mode;
use trainmesh_testing::snapshot::{injection_labels, snapshot};

fn main() {
    divan::main();
}

type NamedPod = (&'static str, fn() -> Value);

const PODS: [NamedPod; 2] = [("plain", common::plain_pod), ("injected", common::injected_pod)];

/// The built-in profile with the most parts: nine interfaces, ten settings, two host paths.
const LARGEST: &str = "gke-rdma-gib-a3u";
/// Number of other profiles in the configuration.
const OTHERS: [usize; 2] = [0, 1_000];

/// The largest profile on eight containers that each request accelerators.
#[divan::bench(args = OTHERS)]
fn fabric_decide(bencher: Bencher<'_, '_>, others: usize) {
    fabric(bencher, others, |pod, snapshot| divan::black_box(draft(pod, snapshot)).plan.writes().len());
}

#[divan::bench(args = OTHERS)]
fn fabric_decide_build_and_verify(bencher: Bencher<'_, '_>, others: usize) {
    fabric(bencher, others, |pod, snapshot| divan::black_box(mutate(pod, snapshot)).patch.operations().len());
}

fn fabric(bencher: Bencher<'_, '_>, others: usize, work: impl Fn(&Value, &Snapshot<'_>) -> usize + Sync) {
    let profiles: Vec<Value> =
        (0..others).map(|index| json!({"name": format!("site-{index}"), "transport": "tcp"})).collect();
    let text = json!({"apiVersion": "config.trainmesh.dev/v1alpha1", "kind": "TrainmeshConfiguration",
        "fabric": {"default": LARGEST, "profiles": profiles}});
    let config = Configuration::parse(&text.to_string()).unwrap();
    let containers: Vec<Value> = (0..8)
        .map(|index| json!({"name": format!("rank-{index}"), "image": "i", "resources": {"limits": {"nvidia.com/gpu": "8"}}}))
        .collect();
    let mut pod = common::plain_pod();
    pod["spec"]["containers"] = containers.into();
    bench(bencher, &pod, &config, work);
}

#[divan::bench(args = PODS.map(|(name, _)| name))]
fn decide(bencher: Bencher<'_, '_>, name: &str) {
    run(bencher, name, |pod, snapshot| divan::black_box(draft(pod, snapshot)).plan.writes().len());
}

#[divan::bench(args = PODS.map(|(name, _)| name))]
fn decide_build_and_verify(bencher: Bencher<'_, '_>, name: &str) {
    run(bencher, name, |pod, snapshot| divan::black_box(mutate(pod, snapshot)).patch.operations().len());
}

fn run(bencher: Bencher<'_, '_>, name: &str, work: impl Fn(&Value, &Snapshot<'_>) -> usize + Sync) {
    let pod = PODS.iter().find(|(found, _)| *found == name).map(|(_, pod)| pod()).unwrap_or_default();
    bench(bencher, &pod, &Configuration::embedded(), work);
}

fn bench(
    bencher: Bencher<'_, '_>,
    pod: &Value,
    config: &Configuration,
    work: impl Fn(&Value, &Snapshot<'_>) -> usize + Sync,
) {
    let labels = injection_labels();
    let snapshot = snapshot(&labels, config);
    bencher.counter(BytesCount::new(pod.to_string().len())).bench(|| work(pod, &snapshot));
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
