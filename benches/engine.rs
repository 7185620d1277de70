//! How long the engine takes for one pod.

mod common;

use std::collections::BTreeMap;

use divan::Bencher;
use divan::counter::BytesCount;
use serde_json::Value;
use trainmesh::config::Configuration;
use trainmesh::fabric::Site;
use trainmesh::mutate::{Mode, Snapshot, draft, mutate};

fn main() {
    divan::main();
}

type Named = (&'static str, fn() -> Value);

const PODS: [Named; 2] = [("plain", common::plain_pod), ("injected", common::injected_pod)];

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
    let config = Configuration::embedded();
    let config_hash = config.hash();
    let labels = BTreeMap::from([("istio-injection".to_owned(), "enabled".to_owned())]);
    let snapshot = Snapshot {
        mode: Mode::Enabled,
        namespace: "default",
        labels: &labels,
        config: &config,
        config_hash: &config_hash,
        replicas: None,
        site: Site::default(),
    };
    bencher.counter(BytesCount::new(pod.to_string().len())).bench(|| work(&pod, &snapshot));
}
