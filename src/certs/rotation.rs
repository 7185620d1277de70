//! The loop that takes one step after the other, on whoever leads.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use futures::StreamExt as _;
use thiserror::Error;
use tokio::pin;
use tokio_util::sync::CancellationToken;

use super::mint::MintError;
use super::state::State;
use super::store::Store;
use crate::telemetry::Metrics;
use trainmesh_core::certs::Schedule;
use trainmesh_core::certs::step::{Facts, Id, Step};
use trainmesh_core::error::chain;
use trainmesh_core::objects::{CA_SECRET, SERVING_SECRET, WriteOutcome};

/// Steps without a pause: from nothing to a leaf takes three. Whoever needs more fights with somebody.
const STEPS: u32 = 8;

/// Keeps certificates good for as long as it runs. Two at once, or none, do no harm.
pub struct Rotation<S> {
    store: S,
    schedule: Schedule,
    host: String,
    metrics: Arc<Metrics>,
    /// Since when each authority has been seen in the `caBundle` at every look. A leader knows only what it has seen.
    trusted_since: BTreeMap<Id, Instant>,
    missing: Vec<Missing>,
}

/// What others must make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    Record,
    Serving,
    WebhookConfiguration,
}

/// A step that was not taken.
#[derive(Debug, Error)]
enum StepError<E: Error + 'static> {
    #[error(transparent)]
    Store(E),
    #[error(transparent)]
    Mint(#[from] MintError),
}

impl<S: Store> Rotation<S> {
    /// For the Service that the apiserver calls by the name `host`. Nothing is asked or written before [`Self::run`].
    #[must_use]
    pub fn new(store: S, host: String, schedule: Schedule, metrics: Arc<Metrics>) -> Self {
        Self { store, schedule, host, metrics, trusted_since: BTreeMap::new(), missing: Vec::new() }
    }

    /// Looks at every change and after every [`Schedule::look`], until `stop`. Dropping it anywhere is as good: the next
    /// leader finds every step where it was left.
    pub async fn run(mut self, stop: CancellationToken) {
        let changes = self.store.changes();
        pin!(changes);
        let rounds = async {
            loop {
                if let Err(error) = self.round().await {
                    tracing::error!("certificates are left as they are: {}", chain(&error));
                }
                tokio::select! {
                    biased;
                    // Nothing is lost by the other branch: a change stays in the stream.
                    _ = changes.next() => {}
                    () = tokio::time::sleep(self.schedule.look()) => {}
                }
            }
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = rounds => {}
        }
    }

    /// Takes steps until there is none to take.
    async fn round(&mut self) -> Result<(), StepError<S::Error>> {
        for _ in 0..STEPS {
            let asked = Instant::now();
            let stored = self.store.read().await.map_err(StepError::Store)?;
            let mut state = State::read(&stored, &self.host);
            let established = self.see(state.facts(), asked);
            let step = state.next(established, &self.schedule);
            self.tell(state.facts());
            let Some(write) = state.write(&step, &self.schedule, &self.host)? else { return Ok(()) };
            match self.store.write(&stored, write).await.map_err(StepError::Store)? {
                WriteOutcome::Written => told(&step),
                WriteOutcome::Conflict => tracing::info!("somebody else has written in the meantime: looking again"),
            }
        }
        Ok(())
    }

    /// Remembers what is trusted, and returns what has been for long. The time runs from the end of the first look that
    /// saw it to the begin of the last.
    fn see(&mut self, facts: &Facts, asked: Instant) -> BTreeSet<Id> {
        let (before, now) = (std::mem::take(&mut self.trusted_since), Instant::now());
        let since = |id| (id, before.get(&id).copied().unwrap_or(now));
        self.trusted_since = facts.trusted_ids().map(since).collect();
        let long = |since: &Instant| asked.saturating_duration_since(*since) >= self.schedule.overlap();
        self.trusted_since.iter().filter(|(_, since)| long(since)).map(|(id, _)| *id).collect()
    }

    /// Tells when what others must make is missing or found again.
    fn tell(&mut self, facts: &Facts) {
        let there = [
            (Missing::Record, facts.record.is_some()),
            (Missing::Serving, facts.serving.is_some()),
            (Missing::WebhookConfiguration, facts.trusted.is_some()),
        ];
        let missing: Vec<Missing> = there.into_iter().filter(|(_, there)| !there).map(|(what, _)| what).collect();
        for what in missing.iter().filter(|what| !self.missing.contains(what)) {
            tracing::error!("{}", what.cure());
        }
        self.missing = missing;
        if let Some(leaf) = facts.serving.as_ref().and_then(|serving| serving.leaf) {
            self.metrics.certificates.leaf_expires(leaf.dates.not_after.as_second());
        }
        let signing = facts.record.iter().flat_map(|set| &set.authorities).filter(|it| it.keyed);
        if let Some(last) = signing.map(|it| it.dates.not_after).max() {
            self.metrics.certificates.authority_expires(last.as_second());
        }
    }
}

impl Missing {
    fn cure(self) -> String {
        let secret =
            |name| format!("there is no Secret {name}: the chart makes it, empty; until then nothing is renewed in it");
        match self {
            Self::Record => secret(CA_SECRET),
            Self::Serving => secret(SERVING_SECRET),
            Self::WebhookConfiguration => "the webhook is not registered: no apiserver calls it".to_owned(),
        }
    }
}

fn told(step: &Step) {
    match step {
        Step::Record { keep, mint: true } => tracing::info!(beside = ?ids(keep), "a new CA is made"),
        Step::Record { keep, mint: false } => tracing::info!(left = ?ids(keep), "the CAs are put in order"),
        Step::Trust(ids) => tracing::info!(?ids, "caBundle is written"),
        Step::Issue { signer, .. } => tracing::info!(%signer, "a new certificate is made"),
        Step::Bundle(ids) => tracing::info!(?ids, "the CAs beside the certificate are written"),
        Step::Rest => {}
    }
}

fn ids(authorities: &[trainmesh_core::certs::step::Authority]) -> Vec<Id> {
    authorities.iter().map(|authority| authority.id).collect()
}
