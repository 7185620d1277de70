//! Background tasks that run as long as the process.

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Named tasks that must not exit on their own. Dropping the value aborts the tasks.
#[derive(Debug, Default)]
pub(super) struct BackgroundTasks {
    tasks: JoinSet<&'static str>,
    stop: CancellationToken,
}

impl BackgroundTasks {
    /// Spawns `task`, which must run until the token that it receives is canceled.
    pub(super) fn spawn<F>(&mut self, name: &'static str, task: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let task = task(self.stop.clone());
        self.tasks.spawn(async move {
            task.await;
            name
        });
    }

    /// Waits until a task exits unexpectedly. Waits forever if there is none.
    pub(super) async fn task_exited(&mut self) -> anyhow::Error {
        match self.tasks.join_next().await {
            Some(Ok(name)) => anyhow::anyhow!("background task {name} exited unexpectedly"),
            Some(Err(error)) => anyhow::Error::new(error).context("a background task failed"),
            None => std::future::pending().await,
        }
    }

    /// Stops all tasks and waits for them.
    pub(super) async fn shutdown(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}
