//! A leader of the certificate rotation in the test process.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::Stream;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use trainmesh::certs::{Rotation, Store, StoreWrite, StoredCertificates};
use trainmesh::cluster::request::RequestError;
use trainmesh::cluster::{CertificateStore, client};
use trainmesh::telemetry::Metrics;
use trainmesh_core::certs::Schedule;
use trainmesh_core::objects::WriteOutcome;

use super::installation::Installation;

/// A leader that runs until it is dropped, and then stops at its next await point.
pub struct Leader {
    task: JoinHandle<()>,
    runtime: Runtime,
}

/// A store that never returns after a number of writes, so that the leader can be dropped there.
struct StoppingStore {
    store: CertificateStore,
    writes: AtomicU32,
    stop: CancellationToken,
}

impl Leader {
    /// Starts a leader that runs until dropped; lifetimes of CA and serving certificate in seconds.
    pub fn start(installation: &Installation, lifetimes: (u64, u64)) -> Self {
        Self::lead(installation, lifetimes, u32::MAX, None).0
    }

    /// Starts a leader that stops right after this many writes; the token is cancelled when it has.
    pub fn stopping_after(
        installation: &Installation,
        lifetimes: (u64, u64),
        writes: u32,
    ) -> (Self, CancellationToken) {
        Self::lead(installation, lifetimes, writes, None)
    }

    /// Starts a leader with the identity in `kubeconfig`.
    pub fn with_kubeconfig(installation: &Installation, lifetimes: (u64, u64), kubeconfig: &Path) -> Self {
        Self::lead(installation, lifetimes, u32::MAX, Some(kubeconfig)).0
    }

    fn lead(
        installation: &Installation,
        lifetimes: (u64, u64),
        writes: u32,
        kubeconfig: Option<&Path>,
    ) -> (Self, CancellationToken) {
        let runtime = Runtime::new().unwrap();
        let schedule = schedule(lifetimes);
        let client = runtime.block_on(client::connect(kubeconfig, None)).unwrap();
        let store = CertificateStore::new(client, &installation.home.name, &installation.configuration.name);
        let stop = CancellationToken::new();
        let store = StoppingStore { store, writes: AtomicU32::new(writes), stop: stop.clone() };
        let rotation = Rotation::new(store, installation.host(), schedule, Arc::new(Metrics::default()));
        let task = runtime.spawn(rotation.run(CancellationToken::new()));
        (Self { task, runtime }, stop)
    }

    /// Waits until the leader has stopped after its writes, and drops it.
    pub fn wait_stopped(self, stop: &CancellationToken, timeout: Duration) {
        let stopped = self.runtime.block_on(async { tokio::time::timeout(timeout, stop.cancelled()).await });
        assert!(stopped.is_ok(), "nothing was written within {timeout:?}");
    }
}

/// Creates the schedule for lifetimes of CA and serving certificate, in seconds.
pub fn schedule((ca, serving): (u64, u64)) -> Schedule {
    Schedule::new(Duration::from_secs(ca), Duration::from_secs(serving)).unwrap()
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Store for StoppingStore {
    type Error = RequestError;

    async fn read(&self) -> Result<StoredCertificates, RequestError> {
        self.store.read().await
    }

    async fn write(&self, stored: &StoredCertificates, write: StoreWrite) -> Result<WriteOutcome, RequestError> {
        let written = self.store.write(stored, write).await?;
        if written == WriteOutcome::Written && self.writes.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.stop.cancel();
            std::future::pending::<()>().await;
        }
        Ok(written)
    }

    fn changes(&self) -> impl Stream<Item = ()> + Send + use<> {
        self.store.changes()
    }
}
