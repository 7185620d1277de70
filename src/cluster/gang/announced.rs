//! The announcement of the leading controller on its Lease, as the webhook reads it.
//!
//! The Lease counts as fresh only after it was seen to change, because its timestamps are from another machine's clock.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::StreamExt as _;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::super::index::{self, Index, Options};
use super::super::lease::Timing;
use crate::reload::Settings;
use crate::telemetry::Metrics;
use trainmesh_core::gang::GangFacts;
use trainmesh_core::gang::object::{Announcement, GANG_APIS, GANG_DENIED};
use trainmesh_core::objects::LEASE;

/// Handle to the current facts.
pub type SharedGangFacts = Arc<ArcSwap<GangFacts>>;

/// Facts from the Lease, maintained by a watch.
pub struct AnnouncementReader {
    client: Client,
    namespace: String,
    metrics: Arc<Metrics>,
    facts: SharedGangFacts,
    /// Time after its last change for which a Lease is fresh.
    lease_duration: Duration,
}

#[derive(Clone, Debug, PartialEq)]
struct LeaseRecord {
    holder: String,
    apis: String,
    denied: String,
    renewed: Option<jiff::Timestamp>,
}

impl AnnouncementReader {
    /// Creates a reader of the Lease in `namespace`; [`Self::run`] maintains the facts.
    #[must_use]
    pub fn new(client: Client, namespace: &str, metrics: Arc<Metrics>) -> Self {
        let lease_duration = Timing::default().lease_duration;
        Self { client, namespace: namespace.to_owned(), metrics, facts: Arc::default(), lease_duration }
    }

    /// Returns a handle to the facts.
    #[must_use]
    pub fn facts(&self) -> SharedGangFacts {
        Arc::clone(&self.facts)
    }

    /// Maintains the facts until `stop`. No watch is open while gang scheduling is disabled.
    pub async fn run(&self, settings: Arc<Settings>, stop: CancellationToken) {
        let mut configured = settings.subscribe();
        while !stop.is_cancelled() {
            if is_enabled(&settings) {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => {}
                    () = disabled(&settings) => {}
                    () = self.follow() => {}
                }
                self.publish(GangFacts::default());
            } else {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => {}
                    // The sender outlives all receivers.
                    _ = configured.changed() => {}
                }
            }
        }
    }

    async fn follow(&self) {
        let index = Arc::new(Index::default());
        let api: Api<Lease> = Api::namespaced(self.client.clone(), &self.namespace);
        let options = Options::optional("the Lease of the controller").with_debounce(Duration::ZERO);
        let reduce = |lease: &Lease, _: Option<&LeaseRecord>| Some(LeaseRecord::read(lease));
        let mut changes = index::watch(api, index::named(LEASE), Arc::clone(&index), options, reduce).boxed();
        let key = format!("{}/{LEASE}", self.namespace);
        let mut last: Option<LeaseRecord> = None;
        let mut expires = None;
        loop {
            tokio::select! {
                biased;
                event = changes.next() => if event.is_none() { return },
                () = sleep_until(expires.unwrap_or_else(Instant::now)), if expires.is_some() => {
                    expires = None;
                    tracing::warn!("the Lease of the controller has expired: pods get no gang key that needs a PodGroup");
                    self.publish(GangFacts::default());
                    continue;
                }
            }
            let current = index.get(&key);
            let is_renewed = last.is_some() && current.is_some() && last != current;
            if is_renewed {
                expires = Some(Instant::now() + self.lease_duration);
            } else if current.is_none() {
                expires = None;
            }
            let facts = current.as_ref().filter(|_| expires.is_some()).map(LeaseRecord::facts).unwrap_or_default();
            if **self.facts.load() != facts {
                self.publish(facts);
            }
            last = current;
        }
    }
}

impl AnnouncementReader {
    fn publish(&self, facts: GangFacts) {
        self.metrics.gang.set_announced(facts.controller_alive);
        self.facts.store(Arc::new(facts));
    }
}

impl LeaseRecord {
    fn read(lease: &Lease) -> Self {
        let spec = lease.spec.as_ref();
        let annotation = |key: &str| lease.metadata.annotations.as_ref()?.get(key).cloned();
        Self {
            holder: spec.and_then(|spec| spec.holder_identity.clone()).unwrap_or_default(),
            apis: annotation(GANG_APIS).unwrap_or_default(),
            denied: annotation(GANG_DENIED).unwrap_or_default(),
            renewed: spec.and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0),
        }
    }

    fn facts(&self) -> GangFacts {
        let Announcement { apis, alive, denied } = Announcement::parse(&self.apis, &self.denied, &self.holder);
        GangFacts {
            controller_alive: !self.holder.is_empty() && !apis.is_empty(),
            apis: apis.into_iter().map(|api| (api.mode(), api.api_version())).collect(),
            alive,
            denied,
            ..GangFacts::default()
        }
    }
}

fn is_enabled(settings: &Settings) -> bool {
    settings.active().is_some_and(|active| active.config.gang.enabled)
}

/// Waits until gang scheduling is disabled.
async fn disabled(settings: &Settings) {
    let mut updates = settings.subscribe();
    // The sender outlives all receivers.
    while is_enabled(settings) && updates.changed().await.is_ok() {}
}
