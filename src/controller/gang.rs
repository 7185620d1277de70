//! Creates, changes and deletes the `PodGroups` of gangs.
//!
//! The pure module [`object`](trainmesh_core::gang::object) decides about a gang; this module watches the pods that the webhook
//! gave a key, their workloads and `PodGroups`, and carries out the decisions. It runs only while gang scheduling is enabled
//! and a namespace selects a mode, and announces on the Lease which objects it can create, so that the webhook never names
//! one that nobody creates.

mod apply;
mod gangs;
mod members;
mod pod;
mod session;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::publish::Publisher;
use crate::cluster::gang::served_apis;
use crate::cluster::lease::SharedAnnouncement;
use crate::cluster::namespaces::NamespaceCache;
use crate::reload::Settings;
use crate::telemetry::Metrics;
use session::Session;
use trainmesh_core::error::chain;
use trainmesh_core::gang::GangMode;
use trainmesh_core::gang::object::GroupApi;
use trainmesh_core::keys;

/// Interval at which the served APIs are read again: an administrator may install a scheduler later.
const DISCOVERY_INTERVAL: Duration = Duration::from_secs(30);

/// Manages the `PodGroups` of gangs.
pub(super) struct GangController {
    pub(super) client: Client,
    pub(super) namespaces: Arc<NamespaceCache>,
    pub(super) settings: Arc<Settings>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) publisher: Arc<Publisher>,
    pub(super) announcement: SharedAnnouncement,
}

impl GangController {
    /// Manages objects until `stop`.
    pub(super) async fn run(self, stop: CancellationToken) {
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = self.run_sessions() => {}
        }
        // The next leader announces what it can create.
        self.announcement.store(Arc::default());
    }

    /// Runs one session after another: each for the APIs that the cluster serves at its start.
    async fn run_sessions(&self) {
        let (mut updates, mut labels) = (self.settings.subscribe(), self.namespaces.changes());
        let mut last_error = String::new();
        loop {
            updates.mark_unchanged();
            labels.mark_unchanged();
            if self.is_needed() {
                match served_apis(&self.client).await {
                    Ok(apis) => {
                        last_error.clear();
                        tracing::info!(apis = ?apis.iter().map(|api| api.api_version()).collect::<Vec<_>>(), "managing the PodGroups of gangs");
                        let mut session = Session::new(self, &apis);
                        tokio::select! {
                            biased;
                            () = self.outdated(&apis) => {}
                            () = session.run() => {}
                        }
                    }
                    Err(error) => {
                        let error = chain(&error);
                        if error != last_error {
                            tracing::warn!("could not determine the gang schedulers of the cluster: {error}");
                            last_error = error;
                        }
                        sleep(DISCOVERY_INTERVAL).await;
                    }
                }
                self.announcement.store(Arc::default());
                self.metrics.gang.set_groups(0);
                self.metrics.gang.set_missing(0);
            } else {
                tokio::select! {
                    // The senders outlive all receivers.
                    _ = updates.changed() => {}
                    _ = labels.changed() => {}
                }
            }
        }
    }

    /// Waits until no gang needs an object any more, or the cluster serves other APIs.
    async fn outdated(&self, apis: &[GroupApi]) {
        loop {
            sleep(DISCOVERY_INTERVAL).await;
            let served = served_apis(&self.client).await;
            if !self.is_needed() || served.is_ok_and(|served| served != apis) {
                return;
            }
        }
    }

    /// Returns true if gang scheduling is enabled, and the default or a namespace selects a mode.
    fn is_needed(&self) -> bool {
        let Some(active) = self.settings.active() else { return false };
        let selects = |name: &str| GangMode::parse(name).is_some_and(|mode| mode != GangMode::None);
        active.config.gang.enabled
            && (active.config.gang.default != GangMode::None
                || self.namespaces.any(|labels| labels.get(keys::GANG).is_some_and(|mode| selects(mode))))
    }
}
