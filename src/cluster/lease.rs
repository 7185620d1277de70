//! Leader election by a `Lease`: one of several replicas acts, and another takes over when it stops or falls silent.
//!
//! What to do next is decided by the pure `transition`; here are the calls, each under a time-out. A leader that
//! cannot renew gives up before anyone else may take over: [`Timing::patience`] is shorter than [`Timing::term`], and
//! both count from the moment at which a call was sent. Every write carries the resourceVersion that was read, so that
//! of two candidates one loses.
//!
//! Absent on purpose: a way back to standby. A process that has lost the lease may have work in flight that it should
//! not do any more; it ends, and starts anew with nothing in hand.

mod claim;
mod transition;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use kube::{Api, Client};
use thiserror::Error;

use claim::claim;
use trainmesh_core::error::chain;
use trainmesh_core::objects::LEASE;
use transition::{Observed, Step, next};

/// The times of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long a lease counts after it was last seen to change.
    pub term: Duration,
    /// How often its holder renews it.
    pub renewal: Duration,
    /// How long its holder goes on without having renewed it.
    pub patience: Duration,
    /// How often one who waits looks, and how soon a call that failed is made again.
    pub retry: Duration,
}

/// One who wants to lead, or does.
#[derive(Debug)]
pub struct Candidate {
    api: Api<Lease>,
    identity: String,
    timing: Timing,
    /// What to write upon.
    lease: Option<Lease>,
    observed: Option<Observed>,
    /// When the last write that succeeded was sent.
    renewed: Instant,
    namespace: String,
    namespace_missing: Arc<AtomicBool>,
}

/// Why a leader leads no longer.
#[derive(Debug, Error)]
pub enum Lost {
    /// Somebody else does.
    #[error("the lease {LEASE} was taken by {0}")]
    Taken(String),
    /// It could not be renewed in time.
    #[error("the lease {LEASE} could not be renewed within {0:?}")]
    Expired(Duration),
}

/// A call that did not do what it was made for.
#[derive(Debug, Error)]
enum CallError {
    #[error("the apiserver refused")]
    Refused(#[source] Box<kube::Error>),
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    #[error("somebody else has written it at the same moment")]
    Outrun,
    #[error("namespace {0} does not exist: create it, or set --namespace to the one that trainmesh is installed in")]
    NoNamespace(String),
}

impl Default for Timing {
    /// The usual figures of Kubernetes' own components: a third of a term is left between the end of the leader's
    /// patience and the start of another's term, for what is in flight and for clocks that run at unequal speed.
    fn default() -> Self {
        Self {
            term: Duration::from_secs(15),
            renewal: Duration::from_secs(5),
            patience: Duration::from_secs(10),
            // One small read a second for each standby, so that it takes over at once when the leader stops.
            retry: Duration::from_secs(1),
        }
    }
}

/// A name that no other process has: `host`, which is the pod's name in a cluster, and a random part, because a container
/// that is restarted keeps the name of its pod.
#[must_use]
pub fn identity(host: &str) -> String {
    format!("{host}_{:016x}", fastrand::u64(..))
}

impl Candidate {
    /// A candidate called `identity` for the lease of `namespace`. `client` must not retry by itself.
    #[must_use]
    pub fn new(client: Client, namespace: &str, identity: String, timing: Timing) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            identity,
            timing,
            lease: None,
            observed: None,
            renewed: Instant::now(),
            namespace: namespace.to_owned(),
            namespace_missing: Arc::default(),
        }
    }

    /// Whether the lease could not be created because its namespace does not exist, as of the last attempt.
    #[must_use]
    pub fn namespace_missing(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.namespace_missing)
    }

    /// Waits until this candidate leads. Cancelled, it may hold the lease without knowing: [`Self::release`] sees to it.
    pub async fn lead(&mut self) {
        let mut silent = false;
        let mut logged = String::new();
        loop {
            match self.try_to_lead().await {
                Ok(true) => {
                    tracing::info!(identity = self.identity, "leading");
                    return;
                }
                Ok(false) => {
                    logged.clear();
                    if let Some(holder) = self.observed.as_ref().and_then(Observed::holder).filter(|_| !silent) {
                        tracing::info!(holder, identity = self.identity, "standing by");
                        silent = true;
                    }
                }
                Err(error) => {
                    let error = chain(&error);
                    // Once, not at each attempt.
                    if error != logged {
                        tracing::warn!("could not stand for the lease {LEASE}: {error}");
                        logged = error;
                    }
                }
            }
            tokio::time::sleep(self.timing.retry).await;
        }
    }

    /// Keeps the lease that [`Self::lead`] has won. Returns when it is lost.
    pub async fn keep(&mut self) -> Lost {
        let mut pause = self.timing.renewal;
        loop {
            let patience = self.timing.patience.saturating_sub(self.renewed.elapsed());
            let step = async {
                tokio::time::sleep(pause).await;
                self.renew().await
            };
            match tokio::time::timeout(patience, step).await {
                Ok(Ok(Step::Renew)) => pause = self.timing.renewal,
                Ok(Ok(_)) => return Lost::Taken(self.holder().unwrap_or("nobody").to_owned()),
                Ok(Err(error)) => {
                    tracing::warn!("could not renew the lease {LEASE}: {}", chain(&error));
                    pause = self.timing.retry;
                }
                Err(_) => return Lost::Expired(self.timing.patience),
            }
        }
    }

    /// Gives the lease up if this candidate has it, so that another need not wait for its end.
    pub async fn release(&mut self) {
        let released = async {
            self.read().await?;
            let Some(mut lease) = self.lease.take() else { return Ok(()) };
            if let Some(spec) = lease.spec.as_mut().filter(|spec| spec.holder_identity.as_ref() == Some(&self.identity))
            {
                spec.holder_identity = None;
                self.call(self.api.replace(LEASE, &PostParams::default(), &lease)).await?;
            }
            Ok::<(), CallError>(())
        };
        if let Err(error) = released.await {
            tracing::warn!("could not release the lease {LEASE}: {}", chain(&error));
        }
    }

    /// One look and, where that allows it, one attempt.
    async fn try_to_lead(&mut self) -> Result<bool, CallError> {
        self.read().await?;
        match next(&self.identity, self.observed.as_ref(), Instant::now()) {
            Step::Wait => return Ok(false),
            Step::Create | Step::Take | Step::Renew => {}
        }
        match self.write().await {
            Ok(()) => Ok(true),
            Err(CallError::Outrun) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes upon what was written last; only where that is outdated it looks again. Anything but [`Step::Renew`] says
    /// that the lease is no longer ours.
    async fn renew(&mut self) -> Result<Step, CallError> {
        if self.lease.is_some() {
            match self.write().await {
                Ok(()) => return Ok(Step::Renew),
                // Perhaps by nobody who wants to lead: a label, say.
                Err(CallError::Outrun) => {}
                Err(error) => return Err(error),
            }
        }
        self.read().await?;
        let step = next(&self.identity, self.observed.as_ref(), Instant::now());
        if step == Step::Renew {
            self.write().await?;
        }
        Ok(step)
    }

    async fn read(&mut self) -> Result<(), CallError> {
        self.lease = self.call(self.api.get_opt(LEASE)).await?;
        let spec = self.lease.as_ref().map(|lease| lease.spec.clone().unwrap_or_default());
        self.observed = spec.map(|spec| Observed::update(self.observed.take(), spec, self.timing.term, Instant::now()));
        Ok(())
    }

    /// Writes this candidate's name into the lease, unless somebody has written since it was read.
    async fn write(&mut self) -> Result<(), CallError> {
        let mine = claim(self.lease.clone(), &self.identity, self.timing.term);
        let params = PostParams::default();
        let sent = Instant::now();
        let written = if mine.metadata.resource_version.is_some() {
            self.call(self.api.replace(LEASE, &params, &mine)).await
        } else {
            let created = self.call(self.api.create(&params, &mine)).await.map_err(|error| match error {
                // A lease that is to be created needs nothing else.
                CallError::Refused(error) if is_not_found(&error) => CallError::NoNamespace(self.namespace.clone()),
                other => other,
            });
            self.namespace_missing.store(matches!(created, Err(CallError::NoNamespace(_))), Ordering::Relaxed);
            created
        };
        // After an error it may have been written all the same: there is nothing to write upon before another look.
        self.lease = None;
        self.lease = Some(written.map_err(|error| match error {
            CallError::Refused(error) if was_outrun(&error) => CallError::Outrun,
            other => other,
        })?);
        self.renewed = sent;
        Ok(())
    }

    fn holder(&self) -> Option<&str> {
        self.observed.as_ref().and_then(Observed::holder)
    }

    async fn call<T>(&self, call: impl Future<Output = Result<T, kube::Error>>) -> Result<T, CallError> {
        // Two attempts fit into the leader's patience.
        let limit = self.timing.patience / 2;
        match tokio::time::timeout(limit, call).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(CallError::Refused(Box::new(error))),
            Err(_) => Err(CallError::TimedOut(limit)),
        }
    }
}

fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_not_found())
}

fn was_outrun(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_conflict() || status.is_already_exists() || status.is_not_found())
}
