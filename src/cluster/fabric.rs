//! What fabrics need to know of the cluster, watched: nodes, quotas, the objects that profiles name, the network
//! resources injector, and what living gangs carry.
//!
//! Everything is brought into its light form as it comes, and kept as one immutable [`ClusterFacts`] that is swapped whole.
//! What may not be read stays unknown: fabrics go on without it. With fabrics switched off nothing is watched.

mod slim;
mod sources;

pub mod pins;
pub mod survey;

use std::sync::Arc;

use arc_swap::ArcSwap;
use futures::StreamExt as _;
use kube::Client;
use tokio_util::sync::CancellationToken;

use crate::reload::Settings;
use trainmesh_core::cluster_facts::ClusterFacts;
use trainmesh_core::cluster_facts::ReferencedObjects;

/// The facts as they are known at any time.
pub type SharedFacts = Arc<ArcSwap<ClusterFacts>>;

/// The facts, kept by watches.
pub struct FactCache {
    client: Client,
    /// The namespace of our own objects.
    home: String,
    facts: SharedFacts,
}

impl FactCache {
    /// Nothing is known; [`Self::run`] changes that.
    #[must_use]
    pub fn new(client: Client, home: &str) -> Self {
        Self { client, home: home.to_owned(), facts: Arc::default() }
    }

    /// What is known, now and later.
    #[must_use]
    pub fn facts(&self) -> SharedFacts {
        Arc::clone(&self.facts)
    }

    /// Watches what the configuration asks for, and something else when it does, until `stop`.
    pub async fn run(&self, settings: Arc<Settings>, stop: CancellationToken) {
        let mut configured = settings.subscribe();
        while !stop.is_cancelled() {
            let named = named(&settings);
            let updates = named.as_ref().map(|named| sources::updates(&self.client, &self.home, named));
            let mut updates = updates.unwrap_or_default();
            loop {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => break,
                    changed = configured.changed() => {
                        if changed.is_err() || self::named(&settings) != named {
                            break;
                        }
                    }
                    // Nothing is lost by the other branches: an update stays in its stream.
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

/// The objects to watch for; `None` where fabrics are off, or nothing is configured yet.
fn named(settings: &Settings) -> Option<ReferencedObjects> {
    let active = settings.active()?;
    let fabric = &active.config.fabric;
    fabric.enabled.then(|| ReferencedObjects::of(&fabric.profiles))
}
