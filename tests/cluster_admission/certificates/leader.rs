//! A leader of the rotation, in the test's own process.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::Stream;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use trainmesh::certs::{Rotation, Store, Stored, Write};
use trainmesh::cluster::request::RequestError;
use trainmesh::cluster::{CertificateStore, client};
use trainmesh::telemetry::Metrics;
use trainmesh_core::certs::Schedule;
use trainmesh_core::objects::WriteOutcome;

use super::installation::Installation;

/// A leader, until it is dropped: then it is gone between two instructions.
pub struct Leader {
    task: JoinHandle<()>,
    runtime: Runtime,
}

/// A store whose user hangs for ever after so many writes: it is to be dropped there.
struct Deadly {
    store: CertificateStore,
    writes: AtomicU32,
    dead: CancellationToken,
}

impl Leader {
    /// Leads for good; lifetimes of CA and leaf in seconds.
    pub fn start(installation: &Installation, lifetimes: (u64, u64)) -> Self {
        Self::lead(installation, lifetimes, u32::MAX, None).0
    }

    /// Ends right after so many writes, and tells when that has happened.
    pub fn mortal(installation: &Installation, lifetimes: (u64, u64), writes: u32) -> (Self, CancellationToken) {
        Self::lead(installation, lifetimes, writes, None)
    }

    /// Leads as whom `kubeconfig` names.
    pub fn named(installation: &Installation, lifetimes: (u64, u64), kubeconfig: &Path) -> Self {
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
        let store = CertificateStore::new(client, &installation.home.name, &installation.registration.name);
        let dead = CancellationToken::new();
        let store = Deadly { store, writes: AtomicU32::new(writes), dead: dead.clone() };
        let rotation = Rotation::new(store, installation.host(), schedule, Arc::new(Metrics::default()));
        let task = runtime.spawn(rotation.run(CancellationToken::new()));
        (Self { task, runtime }, dead)
    }

    /// Waits until it has died of its writes, and ends it there.
    pub fn die(self, dead: &CancellationToken, patience: Duration) {
        let died = self.runtime.block_on(async { tokio::time::timeout(patience, dead.cancelled()).await });
        assert!(died.is_ok(), "there was nothing to write in {patience:?}");
    }
}

/// Lifetimes of CA and leaf, in seconds.
pub fn schedule((authority, leaf): (u64, u64)) -> Schedule {
    Schedule::new(Duration::from_secs(authority), Duration::from_secs(leaf)).unwrap()
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Store for Deadly {
    type Error = RequestError;

    async fn read(&self) -> Result<Stored, RequestError> {
        self.store.read().await
    }

    async fn write(&self, stored: &Stored, write: Write) -> Result<WriteOutcome, RequestError> {
        let written = self.store.write(stored, write).await?;
        if written == WriteOutcome::Written && self.writes.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.dead.cancel();
            std::future::pending::<()>().await;
        }
        Ok(written)
    }

    fn changes(&self) -> impl Stream<Item = ()> + Send + use<> {
        self.store.changes()
    }
}
