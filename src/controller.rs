//! The controller: terminates the sidecars of pods whose main containers have completed, and maintains the `PodGroups` and
//! fabric pins of gangs.
//!
//! The pure module [`lifecycle`](trainmesh_core::lifecycle) decides about a pod; this module watches pods, performs the
//! actions, verifies their effect and publishes events. One replica holds a lease and acts; the others stand by and are
//! equally ready. A leader that loses its lease exits, so that no action in flight overlaps with the next leader's.

pub mod action;
mod context;
mod diagnosis;
mod gang;
mod gangs;
mod histories;
mod inventory;
mod leader;
mod limiter;
mod member;
mod missed;
mod mixed;
mod pins;
mod pod;
mod publish;
mod reconcile;
mod refused;
mod rejected;
mod retained;
mod schedule;
mod selection;
mod supervise;
mod suspects;
pub mod sweep;
mod text;
mod watch;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kube::Client;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub use member::GangPod;
pub use pod::WatchedPod;

use context::{Context, MAX_CONCURRENT_READS};
use diagnosis::Diagnoser;
use gang::GangController;
use gangs::Gangs;
use histories::PodHistories;
use inventory::WatchedInventory;
use leader::Task;
use limiter::ActionLimiter;
use mixed::MixedGangDetector;
use pins::PinWriter;
use publish::Publisher;
use supervise::supervise;
use suspects::Suspects;

use crate::bucket::Bucket;
use crate::certs::Rotation;
use crate::cluster::CertificateStore;
use crate::cluster::events::EventRecorder;
use crate::cluster::fabric::pins::PinStore;
use crate::cluster::lease::{Candidate, LeadershipLost};
use crate::cluster::namespaces::NamespaceCache;
use crate::reload::Settings;
use crate::serve::{Server, Shutdown};
use crate::telemetry::{self, LISTENING, Metrics, Readiness};
use trainmesh_core::scope::Installation;

/// Rate per second and burst of checks for pods that the webhook missed. The checks are informational, and no pod waits
/// for them.
const WEBHOOK_CHECKS: (u32, u32) = (5, 20);

/// Dependencies of a [`Controller`].
pub struct Dependencies {
    /// Listener for health, readiness and metrics.
    pub admin: TcpListener,
    /// Client for the apiserver.
    pub client: Client,
    /// Namespace labels.
    pub namespaces: Arc<NamespaceCache>,
    /// The configuration.
    pub settings: Arc<Settings>,
    /// Metrics of the process.
    pub metrics: Arc<Metrics>,
    /// Readiness checks in addition to the controller's own.
    pub readiness: Readiness,
    /// Recorder of events.
    pub events: EventRecorder,
    /// Rotation of the webhook's certificates, if the leader manages them.
    pub certificates: Option<Rotation<CertificateStore>>,
    /// Store of the fabric pins of running gangs.
    pub pins: PinStore,
    /// Participant in the leader election.
    pub candidate: Candidate,
    /// The installation, whose own pods are exempt.
    pub installation: Installation,
    /// Namespace of the `ConfigMap`, if the configuration is read from one.
    pub config_map_namespace: Option<String>,
    /// Time that actions in flight have to complete on shutdown.
    pub grace: Duration,
}

/// A controller that has not started yet.
pub struct Controller {
    admin: Server,
    candidate: Candidate,
    /// Tasks that run while this replica leads.
    tasks: Vec<Task>,
    metrics: Arc<Metrics>,
    grace: Duration,
    stop: CancellationToken,
}

/// The address of the listener cannot be read.
#[derive(Debug, Error)]
#[error("could not read the address of the listener")]
pub struct BuildError(#[source] std::io::Error);

impl Controller {
    /// Creates the controller and logs the bound address. Cancel `shutdown` to stop [`Self::run`].
    pub fn new(dependencies: Dependencies, shutdown: CancellationToken) -> Result<Self, BuildError> {
        let Dependencies {
            admin,
            client,
            namespaces,
            settings,
            metrics,
            readiness,
            events,
            certificates,
            pins,
            candidate,
            installation,
            config_map_namespace,
            grace,
        } = dependencies;
        let address = admin.local_addr().map_err(BuildError)?;
        tracing::info!(target: LISTENING, admin = %address, "listening");
        let readiness = {
            let (settings, shutdown) = (Arc::clone(&settings), shutdown.clone());
            let namespace_missing = candidate.namespace_missing();
            readiness
                .with("no valid configuration", move || settings.active().is_some())
                .with("the namespace of the lease does not exist", move || !namespace_missing.load(Ordering::Relaxed))
                .with("shutting down", move || !shutdown.is_cancelled())
        };
        let admin = Server::plain(admin, telemetry::router(readiness, Arc::clone(&metrics)), Arc::clone(&metrics));
        let gangs = Arc::new(Gangs::new(Arc::clone(&namespaces), installation.clone()));
        let suspects = Arc::new(Suspects::new(Arc::clone(&namespaces), installation.clone()));
        let inventory = WatchedInventory::new(Arc::clone(&namespaces), installation.clone(), Arc::clone(&metrics));
        let publisher = Arc::new(Publisher::new(events, Arc::clone(&metrics)));
        let pin_writer = PinWriter::new(pins, Arc::clone(&settings), Arc::clone(&gangs), Arc::clone(&metrics));
        let mixed = MixedGangDetector::new(
            client.clone(),
            Arc::clone(&settings),
            Arc::clone(&gangs),
            Arc::clone(&suspects),
            Arc::clone(&metrics),
            Arc::clone(&publisher),
        );
        let diagnoser = Diagnoser::new(
            client.clone(),
            Arc::clone(&settings),
            Arc::clone(&suspects),
            Arc::clone(&metrics),
            Arc::clone(&publisher),
        );
        let rejected = config_map_namespace.map(|namespace| {
            rejected::publish(
                client.clone(),
                namespace,
                Arc::clone(&settings),
                Arc::clone(&publisher),
                shutdown.clone(),
            )
        });
        let gang_controller = GangController {
            client: client.clone(),
            namespaces: Arc::clone(&namespaces),
            settings: Arc::clone(&settings),
            metrics: Arc::clone(&metrics),
            publisher: Arc::clone(&publisher),
            gangs: Arc::clone(&gangs),
            announcement: candidate.announcement(),
        };
        let context = Context {
            client,
            namespaces,
            installation,
            settings,
            histories: PodHistories::new(Arc::clone(&metrics)),
            gangs,
            suspects,
            inventory,
            metrics: Arc::clone(&metrics),
            publisher,
            limiter: ActionLimiter::new(),
            refusal_events: refused::events(),
            webhook_checks: Bucket::new(WEBHOOK_CHECKS.0, WEBHOOK_CHECKS.1),
            reads: Semaphore::new(MAX_CONCURRENT_READS),
            stop: shutdown.clone(),
        };
        let tasks = [
            Some(Task::new("pods", supervise(Arc::new(context)))),
            Some(Task::new("pins", pin_writer.run(shutdown.clone()))),
            Some(Task::new("mixed gangs", mixed.run(shutdown.clone()))),
            Some(Task::new("gangs", gang_controller.run(shutdown.clone()))),
            Some(Task::new("diagnosis", diagnoser.run(shutdown.clone()))),
            rejected.map(|rejected| Task::new("rejected configuration", rejected)),
            certificates.map(|certificates| Task::new("certificates", certificates.run(shutdown.clone()))),
        ];
        Ok(Self { admin, candidate, tasks: tasks.into_iter().flatten().collect(), metrics, grace, stop: shutdown })
    }

    /// Waits for the lease, leads, and returns on shutdown or when the lease is lost.
    pub async fn run(self) -> Result<(), LeadershipLost> {
        let Self { admin, mut candidate, tasks, metrics, grace, stop } = self;
        let stop_admin = Shutdown::default();
        let work = async {
            let result = tokio::select! {
                biased;
                () = stop.cancelled() => Ok(()),
                // A canceled `acquire` may hold the lease; `release` covers that.
                () = candidate.acquire() => {
                    metrics.lifecycle.set_leader(true);
                    let result = leader::run(&mut candidate, tasks, &stop, grace).await;
                    metrics.lifecycle.set_leader(false);
                    result
                }
            };
            candidate.release().await;
            stop_admin.close();
            result
        };
        // The admin port is served until all other work has completed.
        let (result, ()) = tokio::join!(work, admin.run(stop_admin.clone(), Duration::ZERO));
        result
    }
}
