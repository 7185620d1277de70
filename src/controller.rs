//! The controller: watches pods, ends the proxy and the helpers of those whose payload has ended, and keeps what gangs
//! with a fabric carry.
//!
//! What is to be done about a pod is decided by [`lifecycle`](trainmesh_core::lifecycle), which is pure; here it is watched,
//! done, verified and told. One replica leads by a lease and acts; the others stand by and are as ready as it is. A
//! leader that loses its lease ends its process, so that nothing is left in flight that another does too.

mod act;
mod gangs;
mod leader;
mod limiter;
mod member;
mod memory;
mod missed;
mod mixed;
mod pins;
mod pod;
mod publish;
pub mod quit;
mod reconcile;
mod rejected;
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

pub use member::Member;
pub use pod::Watched;

use act::act;
use gangs::Gangs;
use leader::Task;
use limiter::ActionLimiter;
use memory::Memory;
use mixed::MixedGangs;
use pins::PinKeeper;
use publish::Publisher;
use reconcile::{Context, READS};

use crate::bucket::Bucket;
use crate::certs::Rotation;
use crate::cluster::CertificateStore;
use crate::cluster::events::Events;
use crate::cluster::fabric::pins::PinStore;
use crate::cluster::lease::{Candidate, Lost};
use crate::cluster::namespaces::NamespaceCache;
use crate::reload::Settings;
use crate::serve::{Server, Stop};
use crate::telemetry::{self, LISTENING, Metrics, Readiness};
use trainmesh_core::scope::Installation;

/// Pods a second whose creation is looked at, and how many may come at once: a look is for the record, and no pod waits
/// for it.
const LOOKS: (u32, u32) = (5, 20);

/// What a controller is made of.
pub struct Parts {
    /// Where health, readiness and metrics are asked for.
    pub admin: TcpListener,
    /// The apiserver.
    pub client: Client,
    /// The labels of namespaces.
    pub namespaces: Arc<NamespaceCache>,
    /// The configuration.
    pub settings: Arc<Settings>,
    /// What counts.
    pub metrics: Arc<Metrics>,
    /// What must hold before work is taken, beside what the controller knows itself.
    pub readiness: Readiness,
    /// Who tells of pods.
    pub events: Events,
    /// Who makes the certificates of the webhook, if the leader does.
    pub certificates: Option<Rotation<CertificateStore>>,
    /// Where what living gangs carry is kept.
    pub pins: PinStore,
    /// Who leads.
    pub candidate: Candidate,
    /// The installation, whose own pods are left alone.
    pub installation: Installation,
    /// The namespace of the `ConfigMap`, where the configuration comes from one.
    pub configured_in: Option<String>,
    /// How long actions in flight may take to finish at the end.
    pub grace: Duration,
}

/// A controller that is built and does not run yet.
pub struct Controller {
    admin: Server,
    candidate: Candidate,
    /// What the leader does.
    tasks: Vec<Task>,
    metrics: Arc<Metrics>,
    grace: Duration,
    stop: CancellationToken,
}

/// The listener has no address.
#[derive(Debug, Error)]
#[error("could not read the address of the listener")]
pub struct BuildError(#[source] std::io::Error);

impl Controller {
    /// Puts the parts together and tells the address. `shutdown` ends [`Self::run`].
    pub fn new(parts: Parts, shutdown: CancellationToken) -> Result<Self, BuildError> {
        let Parts {
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
            configured_in,
            grace,
        } = parts;
        let address = admin.local_addr().map_err(BuildError)?;
        tracing::info!(target: LISTENING, admin = %address, "listening");
        let readiness = {
            let (settings, shutdown) = (Arc::clone(&settings), shutdown.clone());
            let namespace_missing = candidate.namespace_missing();
            readiness
                .with("configuration", move || settings.active().is_some())
                .with("the namespace of the lease does not exist", move || !namespace_missing.load(Ordering::Relaxed))
                .with("shutting down", move || !shutdown.is_cancelled())
        };
        let admin = Server::plain(admin, telemetry::router(readiness, Arc::clone(&metrics)), Arc::clone(&metrics));
        let gangs = Arc::new(Gangs::new(Arc::clone(&namespaces), installation.clone()));
        let publisher = Arc::new(Publisher::new(events, Arc::clone(&metrics)));
        let keeper = PinKeeper::new(pins, Arc::clone(&settings), Arc::clone(&gangs), Arc::clone(&metrics));
        let mixed = MixedGangs::new(
            client.clone(),
            Arc::clone(&settings),
            Arc::clone(&gangs),
            Arc::clone(&metrics),
            Arc::clone(&publisher),
        );
        let rejected = configured_in.map(|namespace| {
            rejected::publish(
                client.clone(),
                namespace,
                Arc::clone(&settings),
                Arc::clone(&publisher),
                shutdown.clone(),
            )
        });
        let context = Context {
            client,
            namespaces,
            installation,
            settings,
            memory: Memory::new(Arc::clone(&metrics)),
            gangs,
            metrics: Arc::clone(&metrics),
            publisher,
            limiter: ActionLimiter::new(),
            looks: Bucket::new(LOOKS.0, LOOKS.1),
            reads: Semaphore::new(READS),
            stop: shutdown.clone(),
        };
        let tasks = [
            Some(Task::new("pods", act(Arc::new(context)))),
            Some(Task::new("pins", keeper.run(shutdown.clone()))),
            Some(Task::new("mixed gangs", mixed.run(shutdown.clone()))),
            rejected.map(|rejected| Task::new("rejected configuration", rejected)),
            certificates.map(|certificates| Task::new("certificates", certificates.run(shutdown.clone()))),
        ];
        Ok(Self { admin, candidate, tasks: tasks.into_iter().flatten().collect(), metrics, grace, stop: shutdown })
    }

    /// Stands by, leads, and ends when told to, or when the lease is lost.
    pub async fn run(self) -> Result<(), Lost> {
        let Self { admin, mut candidate, tasks, metrics, grace, stop } = self;
        let stop_admin = Stop::default();
        let work = async {
            let ended = tokio::select! {
                biased;
                () = stop.cancelled() => Ok(()),
                // Cancelled, it may have won without knowing; giving up what one has covers that.
                () = candidate.lead() => {
                    metrics.lifecycle.leader(true);
                    let ended = leader::run(&mut candidate, tasks, &stop, grace).await;
                    metrics.lifecycle.leader(false);
                    ended
                }
            };
            candidate.release().await;
            stop_admin.close();
            ended
        };
        // The admin port answers as long as there is something to ask about.
        let (ended, ()) = tokio::join!(work, admin.run(stop_admin.clone(), Duration::ZERO));
        ended
    }
}
