//! The controller: watches pods, and ends the proxy and the helpers of those whose payload has ended.
//!
//! What is to be done about a pod is decided by [`lifecycle`](crate::lifecycle), which is pure; here it is watched,
//! done, verified and told. One replica leads by a lease and acts; the others stand by and are as ready as it is. A
//! leader that loses its lease ends its process, so that nothing is left in flight that another does too.

mod lanes;
mod memory;
mod missed;
mod pod;
pub mod quit;
mod reconcile;
mod rejected;
pub mod sweep;
mod tell;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use lanes::{Bucket, Lanes};
use memory::Memory;
pub use pod::Watched;
use reconcile::Context;
use watch::watch;

use crate::certs::{InCluster, Rotation};
use crate::cluster::events::Events;
use crate::cluster::lease::{Candidate, Lost};
use crate::cluster::namespaces::NamespaceCache;
use crate::cluster::server;
use crate::keys;
use crate::reload::Settings;
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
    pub certificates: Option<Rotation<InCluster>>,
    /// Who leads.
    pub candidate: Candidate,
    /// The namespace of the `ConfigMap`, where the configuration comes from one.
    pub configured_in: Option<String>,
    /// How long actions in flight may take to finish at the end.
    pub grace: Duration,
}

/// A controller that is built and does not run yet.
pub struct Controller {
    admin: Server,
    context: Arc<Context>,
    certificates: Option<Rotation<InCluster>>,
    candidate: Candidate,
    configured_in: Option<String>,
    grace: Duration,
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
            candidate,
            configured_in,
            grace,
        } = parts;
        let address = admin.local_addr().map_err(BuildError)?;
        tracing::info!(target: LISTENING, admin = %address, "listening");
        let readiness = {
            let (settings, shutdown) = (Arc::clone(&settings), shutdown.clone());
            readiness
                .with("configuration", move || settings.active().is_some())
                .with("shutting down", move || !shutdown.is_cancelled())
        };
        let admin = Server::plain(admin, telemetry::router(readiness, Arc::clone(&metrics)), Arc::clone(&metrics));
        let context = Arc::new(Context {
            client,
            namespaces,
            settings,
            memory: Memory::new(Arc::clone(&metrics)),
            metrics,
            events,
            lanes: Lanes::new(),
            looks: Bucket::new(LOOKS.0, LOOKS.1),
            stop: shutdown,
        });
        Ok(Self { admin, context, certificates, candidate, configured_in, grace })
    }

    /// Stands by, leads, and ends when told to, or when the lease is lost.
    pub async fn run(self) -> Result<(), Lost> {
        let Self { admin, context, certificates, mut candidate, configured_in, grace } = self;
        let shutdown = context.stop.clone();
        let stop_admin = Stop::default();
        let work = async {
            let ended = tokio::select! {
                biased;
                () = shutdown.cancelled() => Ok(()),
                // Cancelled, it may have won without knowing; giving up what one has covers that.
                () = candidate.lead() => lead(&context, &mut candidate, certificates, configured_in, grace).await,
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
    certificates: Option<Rotation<InCluster>>,
    configured_in: Option<String>,
    grace: Duration,
) -> Result<(), Lost> {
    context.metrics.lifecycle.leader(true);
    let shutdown = context.stop.clone();
    // Apart from the lease, which must be renewed however much there is to do. Cut off when it is lost.
    let mut work = JoinSet::new();
    work.spawn(act(Arc::clone(context)));
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
        let present = selector(settings);
        if present.is_none() {
            // Nobody watches: there is nothing to count.
            memory.forget_idle(Timestamp::MAX);
        }
        let over = stop.child_token();
        let mut watches = JoinSet::new();
        if let Some(selector) = present.clone() {
            for selector in [selector, format!("{}=true", keys::MANAGED)] {
                watches.spawn(watch(Arc::clone(&context), selector, streams_lists, over.clone()));
            }
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = other_selector(settings, present.as_deref()) => over.cancel(),
        }
        while watches.join_next().await.is_some() {}
    }
}

/// Which pods are watched; none where there is no configuration, or termination is off.
fn selector(settings: &Settings) -> Option<String> {
    let active = settings.active()?;
    let termination = &active.config.termination;
    termination.enabled.then(|| termination.pod_selector.as_str().to_owned())
}

/// Waits until other pods are to be watched than those of `selector`.
async fn other_selector(settings: &Settings, present: Option<&str>) {
    let mut judged = settings.judged();
    // The settings outlive all who wait for them.
    while selector(settings).as_deref() == present && judged.changed().await.is_ok() {}
}
