//! The shared context of all reconciliations.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use tokio::sync::Semaphore;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::gangs::Gangs;
use super::histories::PodHistories;
use super::inventory::WatchedInventory;
use super::limiter::ActionLimiter;
use super::publish::Publisher;
use super::suspects::Suspects;
use crate::bucket::Bucket;
use crate::cluster::namespaces::NamespaceCache;
use crate::reload::{Active, Settings};
use crate::telemetry::Metrics;
use trainmesh_core::lifecycle::{self, Decision, DecisionInput, History, PodFacts};
use trainmesh_core::scope::Installation;

/// Time limit for reading one pod.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of concurrent reads of pods. The JSON of a pod has up to 9 MiB: etcd stores 1.5 MiB, and control
/// characters are escaped with six bytes each. A read takes milliseconds, so a few at a time exceed the rate of
/// actions.
pub(super) const MAX_CONCURRENT_READS: usize = 8;

/// Shared context of all reconciliations.
pub(super) struct Context {
    pub(super) client: Client,
    pub(super) namespaces: Arc<NamespaceCache>,
    pub(super) installation: Installation,
    pub(super) settings: Arc<Settings>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) publisher: Arc<Publisher>,
    pub(super) histories: PodHistories,
    /// Pods with a fabric.
    pub(super) gangs: Arc<Gangs>,
    /// Pods that may have a problem.
    pub(super) suspects: Arc<Suspects>,
    pub(super) inventory: WatchedInventory,
    pub(super) limiter: ActionLimiter,
    /// Rate limit of events about refused rules.
    pub(super) refusal_events: Bucket,
    /// Rate limit of checks for pods that the webhook missed.
    pub(super) webhook_checks: Bucket,
    /// Limits concurrent reads of pods to [`MAX_CONCURRENT_READS`].
    pub(super) reads: Semaphore,
    /// No new action starts once this token is canceled.
    pub(super) stop: CancellationToken,
}

impl Context {
    /// Decides about the pod of `facts` now; `None` if its namespace is not known yet. See [`PodHistories::decide`].
    pub(super) fn decide(
        &self,
        facts: &PodFacts,
        active: &Active,
        in_flight_until: Option<Timestamp>,
    ) -> Option<Decision> {
        let (labels, _) = self.namespaces.cached_since(&facts.namespace)?;
        let settings = &active.config.termination;
        let (mode, now) = (self.installation.namespace_mode(&facts.namespace, &labels), Timestamp::now());
        let decide = |history: &History| {
            lifecycle::decide(&DecisionInput { facts, mode, settings, catalog: &active.catalog, history, now })
        };
        Some(self.histories.decide(&facts.uid, now, in_flight_until, decide))
    }

    /// Waits for a permit and runs `read` within [`READ_TIMEOUT`].
    pub(super) async fn read<T>(&self, read: impl Future<Output = T>) -> Result<T, Elapsed> {
        // The semaphore is never closed.
        let _permit = self.reads.acquire().await.ok();
        timeout(READ_TIMEOUT, read).await
    }
}
