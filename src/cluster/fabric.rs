//! Watches the cluster state that fabric profiles depend on: nodes, quotas, the objects that profiles reference, claims and
//! device classes, the network resources injector, and the pins of running gangs.
//!
//! Objects are reduced on arrival and published as one immutable [`ClusterFacts`], swapped as a whole. What is not
//! readable stays unknown, and fabrics work without it. While fabrics are disabled, only the pins are watched, for gang modes,
//! and while these are disabled, too, nothing is.

mod claims;
mod partial_object;
mod sources;

pub mod pins;
pub mod survey;
mod update;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::StreamExt as _;
use kube::Client;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::reload::Settings;
use trainmesh_core::cluster_facts::{ClusterFacts, ReferencedObjects};
use trainmesh_core::config::Fabric;
use trainmesh_core::dra::ClaimFacts;

/// Handle to the current facts.
pub type SharedFacts = Arc<ArcSwap<ClusterFacts>>;

/// Cluster facts, maintained by watches.
pub struct FactCache {
    client: Client,
    /// Namespace that trainmesh is installed in.
    namespace: String,
    facts: SharedFacts,
    is_settled: AtomicBool,
}

/// Maximum time for the first list of claims. The other facts only add warnings; without claims, pods of a job would
/// start without their profile.
const FIRST_LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// Objects that the configuration depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedObjects {
    references: ReferencedObjects,
    /// True if claims, templates and device classes are watched.
    claims: bool,
}

/// Facts that are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WatchedFacts {
    /// `None` if fabrics are disabled: then only the pins are watched.
    fabric: Option<WatchedObjects>,
}

impl FactCache {
    /// Creates an empty cache; [`Self::run`] fills it.
    #[must_use]
    pub fn new(client: Client, namespace: &str) -> Self {
        Self { client, namespace: namespace.to_owned(), facts: Arc::default(), is_settled: AtomicBool::new(false) }
    }

    /// Returns a handle to the current facts.
    #[must_use]
    pub fn facts(&self) -> SharedFacts {
        Arc::clone(&self.facts)
    }

    /// Returns true once the first list of claims is complete or rejected, or after 10 seconds, and if the
    /// configuration needs no claims. It stays true.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.is_settled.load(Ordering::Acquire)
    }

    /// Watches what the configuration references, and restarts the watches when that changes, until `stop`.
    pub async fn run(&self, settings: Arc<Settings>, stop: CancellationToken) {
        let mut configured = settings.subscribe();
        while !stop.is_cancelled() {
            let watched = watched_facts(&settings);
            let updates = watched
                .as_ref()
                .map(|watched| sources::updates(&self.client, &self.namespace, watched.fabric.as_ref()));
            let mut updates = updates.unwrap_or_default();
            self.facts.store(Arc::new(initial_facts(watched.as_ref().and_then(|watched| watched.fabric.as_ref()))));
            let timeout = Instant::now() + FIRST_LIST_TIMEOUT;
            loop {
                if settings.active().is_some() && self.facts.load().claims.is_listed() {
                    self.is_settled.store(true, Ordering::Release);
                }
                tokio::select! {
                    biased;
                    () = stop.cancelled() => break,
                    changed = configured.changed() => {
                        if changed.is_err() || watched_facts(&settings) != watched {
                            break;
                        }
                    }
                    () = sleep_until(timeout), if watched.is_some() && !self.is_settled() => {
                        tracing::warn!(timeout = ?FIRST_LIST_TIMEOUT, "claims are not listed yet: serving without them");
                        self.is_settled.store(true, Ordering::Release);
                    }
                    // Cancel-safe: an update stays in its stream.
                    Some(update) = updates.next() => {
                        let mut facts = ClusterFacts::clone(&self.facts.load());
                        update(&mut facts);
                        self.facts.store(Arc::new(facts));
                    }
                }
            }
            self.facts.store(Arc::default());
        }
    }
}

/// Returns the facts before the first list.
fn initial_facts(watched: Option<&WatchedObjects>) -> ClusterFacts {
    let claims =
        if watched.is_some_and(|watched| watched.claims) { ClaimFacts::not_listed() } else { ClaimFacts::default() };
    ClusterFacts { claims, ..ClusterFacts::default() }
}

/// Returns what to watch; `None` if fabrics and gangs are disabled or nothing is configured yet.
fn watched_facts(settings: &Settings) -> Option<WatchedFacts> {
    let active = settings.active()?;
    let fabric = WatchedObjects::new(&active.config.fabric);
    (fabric.is_some() || active.config.gang.enabled).then_some(WatchedFacts { fabric })
}

impl WatchedObjects {
    /// Returns the objects that `fabric` depends on; `None` if fabrics are disabled.
    #[must_use]
    pub fn new(fabric: &Fabric) -> Option<Self> {
        let Fabric { enabled, resource_claims, profiles, .. } = fabric;
        enabled.then(|| Self { references: ReferencedObjects::from_profiles(profiles), claims: *resource_claims })
    }
}
