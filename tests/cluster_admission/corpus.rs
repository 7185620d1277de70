//! No pod is blocked: what the apiserver accepts without trainmesh it accepts with it, and what it refuses it refuses
//! in the same way.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_admission corpus::
//! ```
//!
//! `CORPUS=10000` makes more pods (`make soak`), `FIRST=…` starts with another number. A failure names the pod's
//! number: `FIRST=number CORPUS=1` has it alone.

#![allow(clippy::print_stderr, reason = "`make soak` shows what a run has come to")]

mod apiserver;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use apiserver::{Answer, Verdict, post};
use tokio::runtime::Runtime;
use trainmesh_testing::cluster::Cluster;
use trainmesh_testing::mutations::Pods;
use trainmesh_testing::webhook::{Certificate, Options, Process, Registration, Scope, manifest};

/// Pods in a usual run.
const SHORT: u64 = 600;
/// Of this many pods at least one must be accepted, and at least one changed: else the corpus tells nothing.
const WORTH: usize = 5;

#[test]
fn no_pod_is_blocked() {
    let labels = [("trainmesh.dev/inject", "enabled"), ("istio-injection", "enabled")];
    let home = Cluster::get().namespace(&[]);
    let process = Process::start(&home.name, Arc::new(Certificate::new()), &Options::default());
    let [ignore, fail] = ["Ignore", "Fail"].map(|policy| {
        let webhooks = manifest(Some(policy), process.listen, &process.certificate.pem);
        Registration::new(Scope::new(), "0-trainmesh", webhooks)
    });
    let without = Cluster::get().namespace(&labels);
    let [ignore, fail] = [&ignore, &fail].map(|registration| registration.namespace(&labels));

    let pods = Pods::new();
    let first = number("FIRST", 0);
    let numbers = first..first + number("CORPUS", SHORT);
    let mut tally = Tally::default();
    let began = Instant::now();
    Runtime::new().unwrap().block_on(async {
        let client = trainmesh::cluster::client::connect(None, None).await.unwrap();
        let namespaces = [&without, &ignore, &fail].map(|namespace| namespace.name.as_str());
        let corpus = numbers.clone().map(|number| pods.pod(number));
        post(&client, namespaces, corpus, |index, answers| tally.judge(first + index as u64, answers)).await;
    });
    // Those whose pod is to blame are counted apart.
    let [not_a_pod, no_room, withheld] = ["not_a_pod", "annotations_too_large", "withheld"]
        .map(|outcome| process.metric(&format!("trainmesh_admission_reviews_total{{outcome=\"{outcome}\"}}")));
    tally.tell(began.elapsed(), &format!("{not_a_pod:?} no pods, {no_room:?} without room for annotations"));
    let held_back = process.told("patch held back");
    let counted = process.metric("trainmesh_patch_verification_failures_total");
    assert_eq!((withheld, counted), (None, Some(0)), "patches of ours failed their check: {held_back:#?}");
    assert!(tally.broken.is_empty(), "{} pods were judged otherwise:\n{}", tally.broken.len(), tally.broken.join("\n"));
    let failed = process.told("review failed");
    assert!(failed.is_empty(), "{} reviews failed: {failed:#?}", failed.len());
    if numbers.end - numbers.start >= SHORT {
        let enough = |count: usize| count * WORTH >= tally.pods;
        assert!(enough(tally.accepted) && enough(tally.patched), "the corpus tells nothing: {tally:?}");
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
    fn judge(&mut self, number: u64, [without, ignore, fail]: &[Answer; 3]) {
        let Verdict { status, reason } = &without.verdict;
        self.pods += 1;
        self.accepted += usize::from(without.accepted());
        self.patched += usize::from(fail.patched());
        *self.verdicts.entry(format!("{status} {reason}")).or_default() += 1;
        for (policy, with) in [("Ignore", ignore), ("Fail", fail)] {
            if with.verdict != without.verdict {
                let message = &with.body["message"];
                self.broken
                    .push(format!("pod {number}, {policy}: {:?} for {:?}: {message}", with.verdict, without.verdict));
            }
        }
        if ignore.patched() != fail.patched() {
            self.broken.push(format!("pod {number}: changed under one failure policy only"));
        }
    }

    fn tell(&self, took: Duration, without_patch: &str) {
        let Self { pods, accepted, patched, verdicts, broken } = self;
        eprintln!(
            "{pods} pods in {took:.1?}: {accepted} accepted, {patched} changed, {} judged otherwise; \
             {without_patch}; {verdicts:?}",
            broken.len()
        );
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a number of pods"))
}
