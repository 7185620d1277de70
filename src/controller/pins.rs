//! Keeps what living gangs carry where the webhook finds it.
//!
//! Only the leader writes, and only over what it has read. It also knows the configuration that was in force before the
//! present one: a pod may have been given its fabric by that one, and be seen only now.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::gangs::Gangs;
use crate::cluster::fabric::pins::{PinStore, Stored};
use crate::cluster::request::RequestError;
use crate::reload::{Active, Settings};
use crate::telemetry::Metrics;
use trainmesh_core::error::chain;
use trainmesh_core::gang::pins::Dropped;
use trainmesh_core::objects::{FABRIC_CONFIG_MAP, WriteOutcome};

/// The shortest time between two writes: pods of a gang come together.
const INTERVAL: Duration = Duration::from_secs(1);
/// When to try again what has failed.
const RETRY: Duration = Duration::from_secs(10);

/// Keeps what living gangs carry in a `ConfigMap`.
pub(super) struct PinKeeper {
    store: PinStore,
    settings: Arc<Settings>,
    gangs: Arc<Gangs>,
    metrics: Arc<Metrics>,
    /// The configuration in force and the one before.
    configured: Vec<Arc<Active>>,
    /// What is stored, as long as nobody has written since.
    stored: Option<Stored>,
    dropped: Dropped,
}

impl PinKeeper {
    pub(super) fn new(store: PinStore, settings: Arc<Settings>, gangs: Arc<Gangs>, metrics: Arc<Metrics>) -> Self {
        let (configured, stored, dropped) = (Vec::new(), None, Dropped::default());
        Self { store, settings, gangs, metrics, configured, stored, dropped }
    }

    /// Keeps them until `stop`.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let (mut gangs, mut updates) = (self.gangs.changes(), self.settings.subscribe());
        loop {
            gangs.mark_unchanged();
            updates.mark_unchanged();
            let done = self.step().await;
            if let Err(error) = &done {
                tracing::warn!("{}", chain(error));
            }
            let again = !matches!(done, Ok(WriteOutcome::Written));
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = sleep(if done.is_ok() { INTERVAL } else { RETRY }) => {}
            }
            if again {
                continue;
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = gangs.changed() => {}
                // The settings outlive all who wait for them.
                _ = updates.changed() => {}
            }
        }
    }

    /// Writes what is to be kept, if that has changed; [`WriteOutcome::Conflict`]: to be done anew.
    async fn step(&mut self) -> Result<WriteOutcome, RequestError> {
        let Some(active) = self.settings.active() else { return Ok(WriteOutcome::Written) };
        if self.configured.first().is_none_or(|first| !Arc::ptr_eq(first, &active)) {
            self.configured.insert(0, Arc::clone(&active));
            self.configured.truncate(2);
        }
        let living = if active.config.fabric.enabled { self.gangs.living() } else { None };
        let Some(living) = living else { return Ok(WriteOutcome::Written) };
        if self.stored.is_none() {
            self.stored = self.store.read().await?;
        }
        let Some(stored) = &self.stored else {
            if living.is_empty() {
                return Ok(WriteOutcome::Written);
            }
            tracing::warn!(
                "there is no ConfigMap {FABRIC_CONFIG_MAP}: nothing keeps the pods of a job alike when its profile changes"
            );
            return Ok(WriteOutcome::Written);
        };
        let profiles: Vec<_> = self.configured.iter().map(|active| &active.config.fabric.profiles).collect();
        let (next, dropped) = stored.pins.follow(&living, &profiles);
        if dropped != self.dropped {
            let Dropped { gangs, bodies, namespace } = &dropped;
            self.metrics.fabric.dropped(*gangs, *bodies);
            // The metric follows every change. The log does not: whoever creates pods would write it.
            let complete = |dropped: &Dropped| *dropped == Dropped::default();
            match (complete(&self.dropped), complete(&dropped)) {
                (false, true) => tracing::info!("the revisions of all gangs are kept again"),
                (true, false) => tracing::warn!(
                    gangs,
                    bodies,
                    namespace,
                    "too many gangs or profiles: the revisions of the youngest gangs are not kept"
                ),
                _ => {}
            }
            self.dropped = dropped;
        }
        if next == stored.pins {
            return Ok(WriteOutcome::Written);
        }
        let written = self.store.write(stored, &next).await;
        // Of its next version only the apiserver knows.
        self.stored = None;
        written
    }
}
