//! Publishes the fabric assignments and the modes of active gangs to the webhook.
//!
//! Only the leader writes, and only on top of the version it has read. It also keeps the previous configuration,
//! because a pod may be observed only after the configuration that assigned its fabric was replaced.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::{sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::gangs::Gangs;
use super::retained::RetainedGangs;
use crate::cluster::fabric::pins::{PinStore, StoredPins};
use crate::cluster::request::RequestError;
use crate::reload::{Active, Settings};
use crate::telemetry::Metrics;
use trainmesh_core::error::chain;
use trainmesh_core::gang::GangId;
use trainmesh_core::gang::pins::Dropped;
use trainmesh_core::objects::{FABRIC_CONFIG_MAP, WriteOutcome};

/// Minimum time between two writes: the pods of a gang are created together.
const INTERVAL: Duration = Duration::from_secs(1);
/// Delay before a failed step is retried.
const RETRY: Duration = Duration::from_secs(10);

/// Result of [`PinWriter::sync`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SyncOutcome {
    /// No write was necessary, or none is possible.
    Unchanged,
    /// The pins were written.
    Written,
    /// Another client wrote the `ConfigMap` since it was read.
    Conflict,
}

/// Maintains the `ConfigMap` with the pins of active gangs.
pub(super) struct PinWriter {
    store: PinStore,
    settings: Arc<Settings>,
    gangs: Arc<Gangs>,
    metrics: Arc<Metrics>,
    /// The active configuration and the previous one.
    configured: Vec<Arc<Active>>,
    /// The stored pins; `None` if another version may have been written since.
    stored: Option<StoredPins>,
    retained: RetainedGangs,
    unpinned: Unpinned,
}

/// Pins that were dropped because a limit was reached.
#[derive(Debug, Default, PartialEq, Eq)]
struct Unpinned {
    fabric: Dropped,
    /// Number of gangs whose modes were dropped.
    modes: usize,
}

impl PinWriter {
    pub(super) fn new(store: PinStore, settings: Arc<Settings>, gangs: Arc<Gangs>, metrics: Arc<Metrics>) -> Self {
        let (configured, stored) = (Vec::new(), None);
        let (retained, unpinned) = (RetainedGangs::default(), Unpinned::default());
        Self { store, settings, gangs, metrics, configured, stored, retained, unpinned }
    }

    /// Maintains the pins until `stop`.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let (mut gangs, mut updates) = (self.gangs.changes(), self.settings.subscribe());
        loop {
            gangs.mark_unchanged();
            updates.mark_unchanged();
            let result = self.sync().await;
            if let Err(error) = &result {
                tracing::warn!("{}", chain(error));
            }
            let retry = !matches!(result, Ok(SyncOutcome::Unchanged | SyncOutcome::Written));
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = sleep(if result.is_ok() { INTERVAL } else { RETRY }) => {}
            }
            if retry {
                continue;
            }
            let removal = self.retained.next_removal();
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = gangs.changed() => {}
                // The sender outlives all receivers.
                _ = updates.changed() => {}
                () = wait_until(removal) => {}
            }
        }
    }

    /// Writes the pins if they have changed. Returns [`SyncOutcome::Conflict`] if they must be computed again.
    async fn sync(&mut self) -> Result<SyncOutcome, RequestError> {
        let Some(active) = self.settings.active() else { return Ok(SyncOutcome::Unchanged) };
        if self.configured.first().is_none_or(|first| !Arc::ptr_eq(first, &active)) {
            self.configured.insert(0, Arc::clone(&active));
            self.configured.truncate(2);
        }
        let (fabric, gang) = (&active.config.fabric, &active.config.gang);
        if !fabric.enabled && !gang.enabled {
            self.retained = RetainedGangs::default();
            return Ok(SyncOutcome::Unchanged);
        }
        // Without a feature, its pins are removed.
        let assigned = if fabric.enabled { self.gangs.assigned_pods() } else { Some(BTreeMap::new()) };
        let scheduled = if gang.enabled { self.gangs.scheduled_pods(gang.default) } else { Some(BTreeMap::new()) };
        let (Some(assigned), Some(scheduled)) = (assigned, scheduled) else { return Ok(SyncOutcome::Unchanged) };
        if self.stored.is_none() {
            self.stored = self.store.read().await?;
        }
        let Some(stored) = &self.stored else {
            if assigned.is_empty() && scheduled.is_empty() {
                return Ok(SyncOutcome::Unchanged);
            }
            tracing::warn!(
                "ConfigMap {FABRIC_CONFIG_MAP} does not exist: pods of one gang can get different fabric settings or keys when a profile or gang mode changes; upgrade the Helm release, which creates it"
            );
            return Ok(SyncOutcome::Unchanged);
        };
        let profiles: Vec<_> = self.configured.iter().map(|active| &active.config.fabric.profiles).collect();
        let (next, fabric) = stored.pins.reconcile(&assigned, &profiles);
        self.retained.update(&stored.modes, &scheduled, Instant::now());
        let is_retained = |id: &GangId| gang.enabled && self.retained.contains(id);
        let (next_modes, modes) = stored.modes.reconcile(&scheduled, is_retained);
        let unpinned = Unpinned { fabric, modes };
        if unpinned != self.unpinned {
            let Dropped { gangs, bodies, namespace } = &unpinned.fabric;
            self.metrics.fabric.set_unpinned(*gangs, *bodies, modes);
            // The metric follows every change. The log does not, because any user who creates pods could flood it.
            let complete = |unpinned: &Unpinned| *unpinned == Unpinned::default();
            match (complete(&self.unpinned), complete(&unpinned)) {
                (false, true) => tracing::info!("all gangs are pinned again"),
                (true, false) => tracing::warn!(
                    gangs,
                    profiles = bodies,
                    modes,
                    namespace,
                    "too many gangs or profiles: the youngest gangs are not pinned"
                ),
                _ => {}
            }
            self.unpinned = unpinned;
        }
        if next == stored.pins && next_modes == stored.modes {
            return Ok(SyncOutcome::Unchanged);
        }
        let written = self.store.write(stored, &next, &next_modes).await;
        // The new resourceVersion is not known.
        self.stored = None;
        Ok(match written? {
            WriteOutcome::Written => SyncOutcome::Written,
            WriteOutcome::Conflict => SyncOutcome::Conflict,
        })
    }
}

/// Waits until `time`; forever if there is none.
async fn wait_until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}
