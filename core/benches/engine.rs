//! Time of the engine for one pod.

#![expect(clippy::unwrap_used, reason = "a failed benchmark has no result")]

mod common;

use divan::Bencher;
use divan::counter::BytesCount;
use serde_json::{Value, json};
use trainmesh_core::config::Configuration;
use trainmesh_core::mutate::{Snapshot, draft, mutate};

use common::{injection_labels, snapshot};

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
