//! The reconcile loop of the leader: takes one rotation step after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use futures::StreamExt as _;
use thiserror::Error;
use tokio::pin;
use tokio_util::sync::CancellationToken;

use super::issue::IssueError;
use super::state::State;
use super::store::Store;
use crate::telemetry::Metrics;
use trainmesh_core::certs::Schedule;
use trainmesh_core::certs::step::{CertificateId, RotationFacts, RotationStep};
use trainmesh_core::error::chain;
use trainmesh_core::objects::{CA_SECRET, SERVING_SECRET, WriteOutcome};

/// Maximum number of steps per reconciliation. A new installation needs three; more indicate another client that writes
/// the same objects.
const MAX_STEPS: u32 = 8;

/// Keeps the certificates valid while it runs. Several instances may run at the same time.
pub struct Rotation<S> {
    store: S,
    schedule: Schedule,
    host: String,
    metrics: Arc<Metrics>,
    /// Time since which this instance has observed each CA in the `caBundle` without interruption.
    trusted_since: BTreeMap<CertificateId, Instant>,
    missing: Vec<Missing>,
}

/// An object that the chart has to create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    CaSecret,
    ServingSecret,
    WebhookConfiguration,
}

/// A step failed.
#[derive(Debug, Error)]
enum StepError<E: Error + 'static> {
    #[error(transparent)]
    Store(E),
    #[error(transparent)]
    Issue(#[from] IssueError),
}

impl<S: Store> Rotation<S> {
    /// Creates the rotation for a Service with the DNS name `host`. [`Self::run`] starts it.
    #[must_use]
    pub fn new(store: S, host: String, schedule: Schedule, metrics: Arc<Metrics>) -> Self {
        Self { store, schedule, host, metrics, trusted_since: BTreeMap::new(), missing: Vec::new() }
    }

    /// Reconciles after every change and every [`Schedule::resync_interval`] until `stop` is canceled. The future may
    /// be dropped at any time: the next leader continues.
    pub async fn run(mut self, stop: CancellationToken) {
        let changes = self.store.changes();
        pin!(changes);
        let reconcile = async {
            loop {
                if let Err(error) = self.reconcile().await {
                    tracing::error!("could not reconcile certificates: {}", chain(&error));
                }
                tokio::select! {
                    biased;
                    // Cancel-safe: a change stays in the stream.
                    _ = changes.next() => {}
                    () = tokio::time::sleep(self.schedule.resync_interval()) => {}
                }
            }
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = reconcile => {}
        }
    }

    /// Takes steps until none is left.
    async fn reconcile(&mut self) -> Result<(), StepError<S::Error>> {
        for _ in 0..MAX_STEPS {
            let started = Instant::now();
            let stored = self.store.read().await.map_err(StepError::Store)?;
            let mut state = State::read(&stored, &self.host);
            let established = self.observe_trusted(state.facts(), started);
            let step = state.next_step(established, &self.schedule);
            self.report(state.facts());
            let Some(write) = state.plan_write(&step, &self.schedule, &self.host)? else { return Ok(()) };
            match self.store.write(&stored, write).await.map_err(StepError::Store)? {
                WriteOutcome::Written => log_step(&step),
                WriteOutcome::Conflict => tracing::info!("write conflict: reading the certificates again"),
            }
        }
        Ok(())
    }

    /// Records the trusted CAs, and returns those that are established: in the `caBundle` for at least
    /// [`Schedule::overlap`], from the end of the first read that returned the CA to the start of the last one.
    fn observe_trusted(&mut self, facts: &RotationFacts, started: Instant) -> BTreeSet<CertificateId> {
        let (before, now) = (std::mem::take(&mut self.trusted_since), Instant::now());
        let since = |id| (id, before.get(&id).copied().unwrap_or(now));
        self.trusted_since = facts.trusted_ids().map(since).collect();
        let established = |since: &Instant| started.saturating_duration_since(*since) >= self.schedule.overlap();
        self.trusted_since.iter().filter(|(_, since)| established(since)).map(|(id, _)| *id).collect()
    }

    /// Logs objects that have gone missing, and updates the metrics.
    fn report(&mut self, facts: &RotationFacts) {
        let present = [
            (Missing::CaSecret, facts.ca_secret.is_some()),
            (Missing::ServingSecret, facts.serving_secret.is_some()),
            (Missing::WebhookConfiguration, facts.ca_bundle.is_some()),
        ];
        let missing: Vec<Missing> =
            present.into_iter().filter(|(_, present)| !present).map(|(object, _)| object).collect();
        for object in missing.iter().filter(|object| !self.missing.contains(object)) {
            tracing::error!("{}", object.message());
        }
        self.missing = missing;
        if let Some(certificate) = facts.serving_secret.as_ref().and_then(|secret| secret.certificate) {
            self.metrics.certificates.set_serving_validity(&certificate.validity.seconds());
        }
        let signing = facts.ca_secret.iter().flat_map(|set| &set.cas).filter(|ca| ca.has_key);
        if let Some(last) = signing.map(|ca| ca.validity).max_by_key(|validity| validity.not_after) {
            self.metrics.certificates.set_ca_validity(&last.seconds());
        }
    }
}

impl Missing {
    fn message(self) -> String {
        let secret = |name| {
            format!(
                "Secret {name} does not exist: upgrade the Helm release, which creates it; its certificates are not renewed"
            )
        };
        match self {
            Self::CaSecret => secret(CA_SECRET),
            Self::ServingSecret => secret(SERVING_SECRET),
            Self::WebhookConfiguration => {
                "the webhook configuration does not exist: the apiserver does not call the webhook; upgrade the Helm release, which creates it".to_owned()
            }
        }
    }
}

fn log_step(step: &RotationStep) {
    match step {
        RotationStep::StoreCas { keep, generate: true } => {
            tracing::info!(kept = ?ids(keep), "created a new CA");
        }
        RotationStep::StoreCas { keep, generate: false } => {
            tracing::info!(kept = ?ids(keep), "updated the CA Secret");
        }
        RotationStep::UpdateCaBundle(ids) => tracing::info!(?ids, "updated the caBundle"),
        RotationStep::IssueCertificate { signer, .. } => tracing::info!(%signer, "issued a new serving certificate"),
        RotationStep::UpdateServingBundle(ids) => {
            tracing::info!(?ids, "updated the CA certificates of the serving Secret");
        }
        RotationStep::Idle => {}
    }
}

fn ids(cas: &[trainmesh_core::certs::step::CaFacts]) -> Vec<CertificateId> {
    cas.iter().map(|ca| ca.id).collect()
}
