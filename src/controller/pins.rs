//! Keeps what living gangs carry where the webhook finds it.
//!
//! Only the leader writes, and only over what it has read. It also knows the configuration that was in force before the
//! present one: a pod may have been given its fabric by that one, and be seen only now.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::gangs;
use super::reconcile::Context;
use crate::cluster::fabric::pins::{PinStore, Stored};
use crate::cluster::request::RequestError;
use crate::error::chain;
use crate::gang::pins::Dropped;
use crate::objects::{FABRIC_CONFIG_MAP, WriteOutcome};
use crate::reload::Active;

/// The shortest time between two writes: pods of a gang come together.
const INTERVAL: Duration = Duration::from_secs(1);
/// When to try again what has failed.
const RETRY: Duration = Duration::from_secs(10);

/// Keeps them until told to end.
pub(super) async fn keep(context: Arc<Context>, store: PinStore) {
    let mut keeper = Keeper {
        context: Arc::clone(&context),
        store,
        configured: Vec::new(),
        stored: None,
        dropped: Dropped::default(),
    };
    let (mut gangs, mut updates) = (context.gangs.changes(), context.settings.subscribe());
    let mut namespaces = context.namespaces.changes();
    loop {
        gangs.mark_unchanged();
        namespaces.mark_unchanged();
        updates.mark_unchanged();
        let done = keeper.step().await;
        if let Err(error) = &done {
            tracing::warn!("{}", chain(error));
        }
        let again = !matches!(done, Ok(WriteOutcome::Written));
        tokio::select! {
            biased;
            () = context.stop.cancelled() => return,
            () = sleep(if done.is_ok() { INTERVAL } else { RETRY }) => {}
        }
        if again {
            continue;
        }
        tokio::select! {
            biased;
            () = context.stop.cancelled() => return,
            // The senders live as long as the context.
            _ = gangs.changed() => {}
            _ = namespaces.changed() => {}
            _ = updates.changed() => {}
        }
    }
}

struct Keeper {
    context: Arc<Context>,
    store: PinStore,
    /// The configuration in force and the one before.
    configured: Vec<Arc<Active>>,
    /// What is stored, as long as nobody has written since.
    stored: Option<Stored>,
    dropped: Dropped,
}

impl Keeper {
    /// Writes what is to be kept, if that has changed; [`WriteOutcome::Conflict`]: to be done anew.
    async fn step(&mut self) -> Result<WriteOutcome, RequestError> {
        let Some(active) = self.context.settings.active() else { return Ok(WriteOutcome::Written) };
        if self.configured.first().is_none_or(|first| !Arc::ptr_eq(first, &active)) {
            self.configured.insert(0, Arc::clone(&active));
            self.configured.truncate(2);
        }
        let living = if active.config.fabric.enabled { gangs::living(&self.context) } else { None };
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
            self.context.metrics.fabric.dropped(*gangs, *bodies);
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
