//! No pod is blocked: the apiserver accepts the same pods with and without trainmesh, and rejects the others for the
//! same reason. Only a pod that trainmesh excludes from injection may get another verdict than that of Istio's injector.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_admission corpus::
//! ```
//!
//! `CORPUS=10000` creates more pods (`make soak`), `FIRST=…` starts at another number. A failure names the pod's
//! number; reproduce it with `FIRST=number CORPUS=1`.

#![allow(clippy::print_stderr, reason = "`make soak` shows a summary of the run")]

mod apiserver;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use apiserver::{PodResponse, Verdict, post};
use serde_json::Value;
use tokio::runtime::Runtime;
use trainmesh_testing::cluster::Cluster;
use trainmesh_testing::mutations::MutatedPods;
use trainmesh_testing::webhook::{Certificate, Options, Process, Scope, WebhookConfiguration, manifest};

/// Default number of pods.
const DEFAULT_PODS: u64 = 600;
/// One in this many pods must be accepted, and one patched; otherwise the corpus proves nothing.
const MIN_RATIO: usize = 5;

#[test]
fn no_pod_is_blocked() {
    let labels = [("trainmesh.dev/inject", "enabled"), ("istio-injection", "enabled")];
    let home = Cluster::get().namespace(&[]);
    let process = Process::start(&home.name, Arc::new(Certificate::new()), &Options::default());
    let [ignore, fail] = ["Ignore", "Fail"].map(|policy| {
        let webhooks = manifest(Some(policy), process.listen, &process.certificate.pem);
        WebhookConfiguration::new(Scope::new(), "0-trainmesh", webhooks)
    });
    let without = Cluster::get().namespace(&labels);
    let [ignore, fail] = [&ignore, &fail].map(|configuration| configuration.namespace(&labels));

    let pods = MutatedPods::new();
    let first = number("FIRST", 0);
    let numbers = first..first + number("CORPUS", DEFAULT_PODS);
    let mut tally = Tally::default();
    let began = Instant::now();
    Runtime::new().unwrap().block_on(async {
        let client = trainmesh::cluster::client::connect(None, None).await.unwrap();
        let namespaces = [&without, &ignore, &fail].map(|namespace| namespace.name.as_str());
        let corpus = numbers.clone().map(|number| pods.pod(number));
        post(&client, namespaces, corpus, |index, responses| {
            let number = first + index as u64;
            tally.record(number, &pods.pod(number), responses);
        })
        .await;
    });
    // Outcomes caused by the pod itself are counted separately.
    let [not_a_pod, too_large, withheld] = ["not_a_pod", "annotations_too_large", "withheld"]
        .map(|outcome| process.metric(&format!("trainmesh_admission_reviews_total{{outcome=\"{outcome}\"}}")));
    tally.print(began.elapsed(), &format!("{not_a_pod:?} invalid pods, {too_large:?} with too large annotations"));
    let held_back = process.logged("patch withheld");
    let counted = process.metric("trainmesh_patch_verification_failures_total");
    assert_eq!((withheld, counted), (None, Some(0)), "patches failed verification: {held_back:#?}");
    assert!(tally.broken.is_empty(), "{} pods have another outcome:\n{}", tally.broken.len(), tally.broken.join("\n"));
    let failed = process.logged("review failed");
    assert!(failed.is_empty(), "{} reviews failed: {failed:#?}", failed.len());
    if numbers.end - numbers.start >= DEFAULT_PODS {
        let enough = |count: usize| count * MIN_RATIO >= tally.pods;
        assert!(enough(tally.accepted) && enough(tally.patched), "the corpus proves nothing: {tally:?}");
    }
}

#[derive(Debug, Default)]
struct Tally {
    pods: usize,
    accepted: usize,
    patched: usize,
    verdicts: BTreeMap<String, usize>,
    broken: Vec<String>,
}

impl Tally {
    fn record(&mut self, number: u64, pod: &Value, [without, ignore, fail]: &[PodResponse; 3]) {
        let Verdict { status, reason } = &without.verdict;
        self.pods += 1;
        self.accepted += usize::from(without.accepted());
        self.patched += usize::from(fail.patched());
        *self.verdicts.entry(format!("{status} {reason}")).or_default() += 1;
        for (policy, with) in [("Ignore", ignore), ("Fail", fail)] {
            if with.verdict != without.verdict && !(is_denied_by_injector(without) && disables_injection(pod)) {
                let [message, expected] = [with, without].map(|response| &response.body["message"]);
                let (found, verdict) = (&with.verdict, &without.verdict);
                self.broken
                    .push(format!("pod {number}, {policy}: {found:?} for {verdict:?}: {message} for {expected}"));
            }
        }
        if ignore.patched() != fail.patched() {
            self.broken.push(format!("pod {number}: patched under one failure policy only"));
        }
    }

    fn print(&self, took: Duration, without_patch: &str) {
        let Self { pods, accepted, patched, verdicts, broken } = self;
        eprintln!(
            "{pods} pods in {took:.1?}: {accepted} accepted, {patched} patched, {} with another outcome; \
             {without_patch}; {verdicts:?}",
            broken.len()
        );
    }
}

/// Returns true if Istio's injector rejected the pod, for example because of an invalid `proxy.istio.io/config`.
fn is_denied_by_injector(response: &PodResponse) -> bool {
    let message = response.body["message"].as_str().unwrap_or_default();
    message.starts_with("admission webhook \"namespace.sidecar-injector.istio.io\" denied")
}

/// Returns true if trainmesh excludes the pod from injection, so that the injector does not read its annotations.
fn disables_injection(pod: &Value) -> bool {
    pod.pointer("/metadata/labels/trainmesh.dev~1mesh-traffic").is_some_and(|mode| mode == "disableInjection")
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a number of pods"))
}
