//! Tasks that must last as long as the process that they serve.

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Tasks that must last; each ends with its name. Those that are left when it is dropped are cut off.
#[derive(Debug, Default)]
pub(super) struct Background {
    tasks: JoinSet<&'static str>,
    stop: CancellationToken,
}

impl Background {
    /// Starts `task`, which is to run until the token that it is given says stop.
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

    /// Waits until a task has ended that should not have. With no task left it waits for ever.
    pub(super) async fn ended(&mut self) -> anyhow::Error {
        match self.tasks.join_next().await {
            Some(Ok(name)) => anyhow::anyhow!("the task {name} ended"),
            Some(Err(error)) => anyhow::Error::new(error).context("a task failed"),
            None => std::future::pending().await,
        }
    }

    /// Stops all tasks, and waits for them.
    pub(super) async fn end(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}
