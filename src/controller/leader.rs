//! What the leader does, as long as it leads: tasks by name, each with nothing but what it uses.

use std::collections::HashMap;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::cluster::lease::{Candidate, Lost};

/// What a leader does beside keeping the lease.
pub(super) struct Task {
    name: &'static str,
    work: BoxFuture<'static, ()>,
}

impl Task {
    /// `work` ends when the process is to end.
    pub(super) fn new(name: &'static str, work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { name, work: work.boxed() }
    }
}

/// Runs `tasks` until they have ended or the lease is lost; after `stop` they have `grace` to end.
///
/// They run apart from the lease, which must be renewed however much there is to do, and are cut off when it is lost.
pub(super) async fn run(
    candidate: &mut Candidate,
    tasks: Vec<Task>,
    stop: &CancellationToken,
    grace: Duration,
) -> Result<(), Lost> {
    let mut running = JoinSet::new();
    let names = tasks.into_iter().map(|Task { name, work }| (running.spawn(work).id(), name)).collect();
    let out_of_time = async {
        stop.cancelled().await;
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        biased;
        lost = candidate.keep() => Err(lost),
        () = ended(&mut running, &names) => Ok(()),
        () = out_of_time => {
            tracing::warn!(?grace, "actions did not finish in time and are cut off");
            Ok(())
        }
    }
}

/// Waits until all tasks have ended.
async fn ended(running: &mut JoinSet<()>, names: &HashMap<Id, &str>) {
    while let Some(ended) = running.join_next().await {
        if let Err(error) = ended {
            let task = names.get(&error.id()).copied().unwrap_or_default();
            tracing::error!(task, "a task of the leader failed: {error}");
        }
    }
}
