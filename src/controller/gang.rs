//! Creates, changes and deletes the `PodGroups` of gangs.
//!
//! The pure module [`object`](trainmesh_core::gang::object) decides about a gang; this module watches the pods that the webhook
//! gave a key, their workloads and `PodGroups`, and carries out the decisions. It runs only while gang scheduling is enabled,
//! and a namespace selects a mode, or pods or `PodGroups` of an earlier selection exist. It announces on the Lease which objects
//! it can create, so that the webhook never names one that nobody creates.

mod alive;
mod apply;
mod denials;
mod gangs;
mod left_out;
mod members;
mod pod;
mod retries;
mod session;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::gangs::Gangs;
use super::publish::Publisher;
use crate::cluster::gang::groups::Groups;
use crate::cluster::gang::{any_own, served_apis};
use crate::cluster::lease::SharedAnnouncement;
use crate::cluster::namespaces::NamespaceCache;
use crate::cluster::request::RequestError;
use crate::reload::Settings;
use crate::telemetry::Metrics;
use session::Session;
use trainmesh_core::error::chain;
use trainmesh_core::gang::GangMode;
use trainmesh_core::gang::object::GroupApi;
use trainmesh_core::keys;

/// Interval at which the served APIs are read again: an administrator may install a scheduler later.
const DISCOVERY_INTERVAL: Duration = Duration::from_secs(30);
/// Time for which changes of pods and namespaces are collected while no gang needs an object. Each one reads all pods.
const IDLE_DEBOUNCE: Duration = Duration::from_secs(1);

/// Manages the `PodGroups` of gangs.
pub(super) struct GangController {
    pub(super) client: Client,
    pub(super) namespaces: Arc<NamespaceCache>,
    pub(super) settings: Arc<Settings>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) publisher: Arc<Publisher>,
    /// The active pods of gangs.
    pub(super) gangs: Arc<Gangs>,
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
        let (mut updates, mut gangs) = (self.settings.subscribe(), self.gangs.changes());
        let mut last_error = String::new();
        // A previous leader may have left objects.
        let mut may_own = true;
        loop {
            updates.mark_unchanged();
            gangs.mark_unchanged();
            match self.required_apis(may_own).await {
                Ok(Some(apis)) => {
                    last_error.clear();
                    self.run_session(&apis).await;
                    may_own = true;
                }
                Ok(None) => {
                    last_error.clear();
                    may_own = !self.is_enabled();
                    tokio::select! {
                        // The sender outlives all receivers.
                        _ = updates.changed() => {}
                        () = gangs.changed() => sleep(IDLE_DEBOUNCE).await,
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
        }
    }

    /// Returns the APIs of the objects to manage; `None` if no gang needs an object. With `may_own`, objects that exist count,
    /// too.
    async fn required_apis(&self, may_own: bool) -> Result<Option<Vec<GroupApi>>, RequestError> {
        let is_needed = self.is_needed();
        if !(is_needed || may_own && self.is_enabled()) {
            return Ok(None);
        }
        let apis = served_apis(&self.client).await?;
        Ok((is_needed || any_own(&self.client, &apis).await?).then_some(apis))
    }

    /// Manages the objects of these APIs until no gang needs one, or the cluster serves other APIs.
    async fn run_session(&self, apis: &[GroupApi]) {
        tracing::info!(apis = ?apis.iter().map(|api| api.api_version()).collect::<Vec<_>>(), "managing the PodGroups of gangs");
        let groups: Vec<Arc<Groups>> =
            apis.iter().map(|api| Arc::new(Groups::new(self.client.clone(), *api))).collect();
        let mut session = Session::new(self, &groups);
        tokio::select! {
            biased;
            () = self.outdated(apis, &groups) => {}
            () = session.run() => {}
        }
        self.announcement.store(Arc::default());
        self.metrics.gang.set_groups(0);
        self.metrics.gang.set_missing(0);
    }

    /// Waits until no gang needs an object any more, or the cluster serves other APIs: according to two responses in a row, because
    /// apiservers of several versions run during an upgrade.
    async fn outdated(&self, apis: &[GroupApi], groups: &[Arc<Groups>]) {
        let mut differed_before = false;
        loop {
            sleep(DISCOVERY_INTERVAL).await;
            let differs = served_apis(&self.client).await.ok().map(|served| served != apis);
            let owns = self.is_enabled() && groups.iter().any(|groups| groups.any_own());
            if !(owns || self.is_needed()) || differs == Some(true) && differed_before {
                return;
            }
            // A failed request shows nothing.
            differed_before = differs.unwrap_or(differed_before);
        }
    }

    fn is_enabled(&self) -> bool {
        self.settings.active().is_some_and(|active| active.config.gang.enabled)
    }

    /// Returns true if gang scheduling is enabled, and the default or a namespace selects a mode, or a pod names an object. The
    /// pods of a job keep their mode after another one is selected.
    fn is_needed(&self) -> bool {
        let Some(active) = self.settings.active() else { return false };
        let selects = |name: &str| GangMode::parse(name).is_some_and(|mode| mode != GangMode::None);
        active.config.gang.enabled
            && (active.config.gang.default != GangMode::None
                || self.namespaces.any(|labels| labels.get(keys::GANG).is_some_and(|mode| selects(mode)))
                || self.gangs.any_names_group())
    }
}
