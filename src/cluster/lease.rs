//! Leader election with a `Lease`: one replica is active, and another takes over when it stops or fails to renew.
//!
//! The pure `transition` module decides; this module makes the calls, each with a timeout. A leader that cannot renew
//! gives up before another candidate may take over. For this, [`Timing::renew_deadline`] is shorter than
//! [`Timing::lease_duration`], and both count from the moment a call is sent. Every write carries the resourceVersion
//! that was read, so only one of two concurrent candidates succeeds.
//!
//! There is deliberately no way back to standby. A process that has lost the lease may have work in flight that it must
//! not complete, so it exits and restarts without any.

mod holder;
mod transition;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use kube::{Api, Client};
use thiserror::Error;

use super::request::is_not_found;
use holder::{with_announcement, with_holder};
use trainmesh_core::error::chain;
use trainmesh_core::gang::object::Announcement;
use trainmesh_core::objects::LEASE;
use transition::{Observed, Step, next_step};

/// Durations of the election. All but `renew_interval` are named as in client-go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Time after the last observed change at which the lease expires.
    pub lease_duration: Duration,
    /// Interval at which the leader renews the lease.
    pub renew_interval: Duration,
    /// Time without a renewal after which the leader gives up.
    pub renew_deadline: Duration,
    /// Interval at which a standby reads the lease, and delay before a failed call is retried.
    pub retry_period: Duration,
}

/// Announcement of the leading controller to the webhook.
pub type SharedAnnouncement = Arc<ArcSwap<Announcement>>;

/// A replica that takes part in the election.
#[derive(Debug)]
pub struct Candidate {
    api: Api<Lease>,
    identity: String,
    timing: Timing,
    /// Announced to the webhook with each renewal.
    announcement: SharedAnnouncement,
    /// Last version read or written; the base of the next write.
    lease: Option<Lease>,
    observed: Option<Observed>,
    /// Time at which the last successful write was sent.
    renewed: Instant,
    namespace: String,
    namespace_missing: Arc<AtomicBool>,
}

/// Reason why the leader has lost the lease.
#[derive(Debug, Error)]
pub enum LeadershipLost {
    /// Another candidate holds it.
    #[error("the lease {LEASE} was taken by {0}")]
    Taken(String),
    /// Another client released or deleted it.
    #[error("the lease {LEASE} was released or deleted by another client")]
    Removed,
    /// It was not renewed in time.
    #[error("the lease {LEASE} could not be renewed within {0:?}")]
    Expired(Duration),
}

/// An apiserver call that failed.
#[derive(Debug, Error)]
enum CallError {
    #[error("the request failed")]
    Failed(#[source] Box<kube::Error>),
    #[error("no response within {0:?}")]
    TimedOut(Duration),
    #[error("the lease was modified concurrently")]
    Conflict,
    #[error("namespace {0} does not exist: create it, or set --namespace to the one that trainmesh is installed in")]
    NoNamespace(String),
}

impl Default for Timing {
    /// Returns the lease duration and renew deadline of the Kubernetes components, with a shorter retry period (1 s
    /// instead of 2 s). A third of the lease duration remains between the leader's renew deadline and the next leader's
    /// start, for work in flight and for clock skew.
    fn default() -> Self {
        Self {
            lease_duration: Duration::from_secs(15),
            renew_interval: Duration::from_secs(5),
            renew_deadline: Duration::from_secs(10),
            // Each standby sends one small GET per second, so that it takes over as soon as the leader releases the
            // lease.
            retry_period: Duration::from_secs(1),
        }
    }
}

/// Returns a unique identity: `host`, which is the pod's name in a cluster, and a random suffix, because a restarted
/// container keeps the pod's name.
#[must_use]
pub fn identity(host: &str) -> String {
    format!("{host}_{:016x}", fastrand::u64(..))
}

impl Candidate {
    /// Creates a candidate with this identity for the lease in `namespace`. `client` must not retry.
    #[must_use]
    pub fn new(client: Client, namespace: &str, identity: String, timing: Timing) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            identity,
            timing,
            announcement: Arc::default(),
            lease: None,
            observed: None,
            renewed: Instant::now(),
            namespace: namespace.to_owned(),
            namespace_missing: Arc::default(),
        }
    }

    /// Returns a handle to what this candidate announces with each renewal, while it leads.
    #[must_use]
    pub fn announcement(&self) -> SharedAnnouncement {
        Arc::clone(&self.announcement)
    }

    /// Returns a flag that is set while the lease cannot be created because its namespace does not exist.
    #[must_use]
    pub fn namespace_missing(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.namespace_missing)
    }

    /// Waits until this candidate is the leader. If this future is canceled, the candidate may hold the lease; call
    /// [`Self::release`].
    pub async fn acquire(&mut self) {
        let mut standby_logged = false;
        let mut last_error = String::new();
        loop {
            match self.try_acquire().await {
                Ok(true) => {
                    tracing::info!(identity = self.identity, "leading");
                    return;
                }
                Ok(false) => {
                    last_error.clear();
                    if let Some(holder) = self.observed.as_ref().and_then(Observed::holder).filter(|_| !standby_logged)
                    {
                        tracing::info!(holder, identity = self.identity, "standing by");
                        standby_logged = true;
                    }
                }
                Err(error) => {
                    let error = chain(&error);
                    // Logged once, not at each attempt.
                    if error != last_error {
                        tracing::warn!("could not acquire the lease {LEASE}: {error}");
                        last_error = error;
                    }
                }
            }
            tokio::time::sleep(self.timing.retry_period).await;
        }
    }

    /// Renews the lease that [`Self::acquire`] has obtained. Returns when it is lost.
    pub async fn hold(&mut self) -> LeadershipLost {
        let mut pause = self.timing.renew_interval;
        loop {
            let renew_deadline = self.timing.renew_deadline.saturating_sub(self.renewed.elapsed());
            let step = async {
                tokio::time::sleep(pause).await;
                self.renew().await
            };
            match tokio::time::timeout(renew_deadline, step).await {
                Ok(Ok(Step::Renew)) => pause = self.timing.renew_interval,
                Ok(Ok(_)) => {
                    return self
                        .holder()
                        .map_or(LeadershipLost::Removed, |holder| LeadershipLost::Taken(holder.to_owned()));
                }
                Ok(Err(error)) => {
                    tracing::warn!("could not renew the lease {LEASE}: {}", chain(&error));
                    pause = self.timing.retry_period;
                }
                Err(_) => return LeadershipLost::Expired(self.timing.renew_deadline),
            }
        }
    }

    /// Releases the lease if this candidate holds it, so that a standby takes over without waiting for its expiry.
    pub async fn release(&mut self) {
        let release = async {
            self.read().await?;
            let Some(mut lease) = self.lease.take() else { return Ok(()) };
            if let Some(spec) = lease.spec.as_mut().filter(|spec| spec.holder_identity.as_ref() == Some(&self.identity))
            {
                spec.holder_identity = None;
                self.call(self.api.replace(LEASE, &PostParams::default(), &lease)).await?;
            }
            Ok::<(), CallError>(())
        };
        if let Err(error) = release.await {
            tracing::warn!("could not release the lease {LEASE}: {}", chain(&error));
        }
    }

    /// Reads the lease and, if it is free, tries to take it.
    async fn try_acquire(&mut self) -> Result<bool, CallError> {
        self.read().await?;
        match next_step(&self.identity, self.observed.as_ref(), Instant::now()) {
            Step::Wait => return Ok(false),
            Step::Create | Step::Take | Step::Renew => {}
        }
        match self.write().await {
            Ok(()) => Ok(true),
            Err(CallError::Conflict) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Renews on top of the last written version, and reads the lease again only on a conflict. Any result other than
    /// [`Step::Renew`] means that another candidate may hold it.
    async fn renew(&mut self) -> Result<Step, CallError> {
        if self.lease.is_some() {
            match self.write().await {
                Ok(()) => return Ok(Step::Renew),
                // The writer may have changed something else, such as a label.
                Err(CallError::Conflict) => {}
                Err(error) => return Err(error),
            }
        }
        self.read().await?;
        let step = next_step(&self.identity, self.observed.as_ref(), Instant::now());
        if step == Step::Renew {
            self.write().await?;
        }
        Ok(step)
    }

    async fn read(&mut self) -> Result<(), CallError> {
        self.lease = self.call(self.api.get_opt(LEASE)).await?;
        let spec = self.lease.as_ref().map(|lease| lease.spec.clone().unwrap_or_default());
        self.observed =
            spec.map(|spec| Observed::update(self.observed.take(), spec, self.timing.lease_duration, Instant::now()));
        Ok(())
    }

    /// Writes this candidate's identity into the lease, unless it has changed since it was read.
    async fn write(&mut self) -> Result<(), CallError> {
        let claimed = with_holder(self.lease.clone(), &self.identity, self.timing.lease_duration);
        let claimed = with_announcement(claimed, &self.announcement.load(), &self.identity);
        let params = PostParams::default();
        let sent = Instant::now();
        let written = if claimed.metadata.resource_version.is_some() {
            self.call(self.api.replace(LEASE, &params, &claimed)).await
        } else {
            let created = self.call(self.api.create(&params, &claimed)).await.map_err(|error| match error {
                // Creating a lease depends on nothing but its namespace.
                CallError::Failed(error) if is_missing(&error) => CallError::NoNamespace(self.namespace.clone()),
                other => other,
            });
            self.namespace_missing.store(matches!(created, Err(CallError::NoNamespace(_))), Ordering::Relaxed);
            created
        };
        // After an error the write may have succeeded nevertheless: read the lease again before the next write.
        self.lease = None;
        self.lease = Some(written.map_err(|error| match error {
            CallError::Failed(error) if is_conflict(&error) => CallError::Conflict,
            other => other,
        })?);
        self.renewed = sent;
        Ok(())
    }

    fn holder(&self) -> Option<&str> {
        self.observed.as_ref().and_then(Observed::holder)
    }

    async fn call<T>(&self, call: impl Future<Output = Result<T, kube::Error>>) -> Result<T, CallError> {
        // Two attempts fit into the renew deadline.
        let limit = self.timing.renew_deadline / 2;
        match tokio::time::timeout(limit, call).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(CallError::Failed(Box::new(error))),
            Err(_) => Err(CallError::TimedOut(limit)),
        }
    }
}

fn is_missing(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if is_not_found(status))
}

fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_conflict() || status.is_already_exists() || is_not_found(status))
}
