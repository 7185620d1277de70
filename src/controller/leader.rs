//! Runs the leader's tasks while it holds the lease.

use std::collections::HashMap;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::cluster::lease::{Candidate, LeadershipLost};

/// A named task of the leader.
pub(super) struct Task {
    name: &'static str,
    work: BoxFuture<'static, ()>,
}

impl Task {
    /// Creates a task; `work` must return on shutdown.
    pub(super) fn new(name: &'static str, work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { name, work: work.boxed() }
    }
}

/// Runs `tasks` until they have completed or the lease is lost. After `stop` they have `grace` to complete.
///
/// They run separately from the renewal of the lease, which must not wait for them, and are canceled when the lease is
/// lost.
pub(super) async fn run(
    candidate: &mut Candidate,
    tasks: Vec<Task>,
    stop: &CancellationToken,
    grace: Duration,
) -> Result<(), LeadershipLost> {
    let mut running = JoinSet::new();
    let names = tasks.into_iter().map(|Task { name, work }| (running.spawn(work).id(), name)).collect();
    let grace_expired = async {
        stop.cancelled().await;
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        biased;
        lost = candidate.hold() => Err(lost),
        () = join_all(&mut running, &names) => Ok(()),
        () = grace_expired => {
            tracing::warn!(?grace, "actions did not complete in time and are aborted");
            Ok(())
        }
    }
}

/// Waits until all tasks have completed.
async fn join_all(running: &mut JoinSet<()>, names: &HashMap<Id, &str>) {
    while let Some(result) = running.join_next().await {
        if let Err(error) = result {
            let task = names.get(&error.id()).copied().unwrap_or_default();
            tracing::error!(task, "leader task failed: {error}");
        }
    }
}
