//! The controller: watches pods, ends the proxy and the helpers of those whose payload has ended, and keeps what gangs
//! with a fabric carry.
//!
//! What is to be done about a pod is decided by [`lifecycle`](crate::lifecycle), which is pure; here it is watched,
//! done, verified and told. One replica leads by a lease and acts; the others stand by and are as ready as it is. A
//! leader that loses its lease ends its process, so that nothing is left in flight that another does too.

mod gangs;
mod limiter;
mod memory;
mod missed;
mod mixed;
mod pins;
mod pod;
pub mod quit;
mod reconcile;
mod rejected;
pub mod sweep;
mod tell;
mod text;
mod watch;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use gangs::Gangs;
pub use gangs::Member;
use limiter::ActionLimiter;
use memory::Memory;
pub use pod::Watched;
use reconcile::{Context, READS};
use watch::{Selection, watch};

use crate::bucket::Bucket;
use crate::certs::Rotation;
use crate::cluster::CertificateStore;
use crate::cluster::events::Events;
use crate::cluster::fabric::pins::PinStore;
use crate::cluster::lease::{Candidate, Lost};
use crate::cluster::namespaces::NamespaceCache;
use crate::cluster::server;
use crate::reload::Settings;
use crate::scope::Installation;
use crate::serve::{Server, Stop};
use crate::telemetry::{self, LISTENING, Metrics, Readiness};

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
    context: Arc<Context>,
    tasks: Tasks,
    candidate: Candidate,
    grace: Duration,
}

/// What the leader does beside acting on pods.
struct Tasks {
    certificates: Option<Rotation<CertificateStore>>,
    pins: PinStore,
    configured_in: Option<String>,
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
        let context = Arc::new(Context {
            client,
            namespaces,
            installation,
            settings,
            memory: Memory::new(Arc::clone(&metrics)),
            gangs: Gangs::default(),
            metrics,
            events,
            limiter: ActionLimiter::new(),
            looks: Bucket::new(LOOKS.0, LOOKS.1),
            reads: Semaphore::new(READS),
            stop: shutdown,
        });
        let tasks = Tasks { certificates, pins, configured_in };
        Ok(Self { admin, context, tasks, candidate, grace })
    }

    /// Stands by, leads, and ends when told to, or when the lease is lost.
    pub async fn run(self) -> Result<(), Lost> {
        let Self { admin, context, tasks, mut candidate, grace } = self;
        let shutdown = context.stop.clone();
        let stop_admin = Stop::default();
        let work = async {
            let ended = tokio::select! {
                biased;
                () = shutdown.cancelled() => Ok(()),
                // Cancelled, it may have won without knowing; giving up what one has covers that.
                () = candidate.lead() => lead(&context, &mut candidate, tasks, grace).await,
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

/// Acts until told to end, or until the lease is lost.
async fn lead(
    context: &Arc<Context>,
    candidate: &mut Candidate,
    Tasks { certificates, pins, configured_in }: Tasks,
    grace: Duration,
) -> Result<(), Lost> {
    context.metrics.lifecycle.leader(true);
    let shutdown = context.stop.clone();
    // Apart from the lease, which must be renewed however much there is to do. Cut off when it is lost.
    let mut work = JoinSet::new();
    work.spawn(act(Arc::clone(context)));
    work.spawn(pins::keep(Arc::clone(context), pins));
    work.spawn(mixed::look(Arc::clone(context)));
    work.spawn(rejected::tell(Arc::clone(context), configured_in));
    if let Some(certificates) = certificates {
        work.spawn(certificates.run(shutdown.clone()));
    }
    let out_of_time = async {
        shutdown.cancelled().await;
        tokio::time::sleep(grace).await;
    };
    let ended = tokio::select! {
        biased;
        lost = candidate.keep() => Err(lost),
        () = async { while work.join_next().await.is_some() {} } => Ok(()),
        () = out_of_time => {
            tracing::warn!(?grace, "actions did not finish in time and are cut off");
            Ok(())
        }
    };
    context.metrics.lifecycle.leader(false);
    ended
}

/// Watches and acts as the configuration says, and anew when it says something else, until told to end.
async fn act(context: Arc<Context>) {
    let Context { client, settings, memory, stop, .. } = &*context;
    let streams_lists = server::streams_lists(client).await;
    while !stop.is_cancelled() {
        let present = selections(settings);
        if present.is_empty() {
            // Nobody watches: there is nothing to count.
            memory.forget_idle(Timestamp::MAX);
        }
        let over = stop.child_token();
        let mut watches = JoinSet::new();
        for selection in present.clone() {
            watches.spawn(watch(Arc::clone(&context), selection, streams_lists, over.clone()));
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = other_selections(settings, &present) => over.cancel(),
        }
        while watches.join_next().await.is_some() {}
    }
}

/// Which pods are watched: those that may have to be ended, and those that the webhook has marked, for helpers to end or
/// for their fabric. None where there is no configuration, or both are off.
fn selections(settings: &Settings) -> Vec<Selection> {
    let Some(active) = settings.active() else { return Vec::new() };
    let (termination, fabric) = (&active.config.termination, &active.config.fabric);
    let configured = termination.enabled.then(|| Selection::Configured(termination.pod_selector.as_str().to_owned()));
    let marked = (termination.enabled || fabric.enabled).then_some(Selection::Marked);
    configured.into_iter().chain(marked).collect()
}

/// Waits until other pods are to be watched than those of `present`.
async fn other_selections(settings: &Settings, present: &[Selection]) {
    let mut updates = settings.subscribe();
    // The settings outlive all who wait for them.
    while selections(settings) == present && updates.changed().await.is_ok() {}
}
