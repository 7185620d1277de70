//! A server of its own for each test, and the facts that it works with.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::CertificateDer;
use rustls::version::{TLS12, TLS13};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use trainmesh::cluster::namespaces::{Labels, LookupError, Namespaces};
use trainmesh::reload::Settings;
use trainmesh::telemetry::{Metrics, Readiness};
use trainmesh::webhook::{Certificate, ClientVerifier, Drain, Parts, Served, Webhook};
use trainmesh_core::config::ConfigUpdate;
use trainmesh_core::webhook::review::DEFAULT_NODES;

use crate::client::{self, Tls};

/// A server that runs, and what a test moves it by.
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) root: CertificateDer<'static>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) served: Arc<Served>,
    pub(crate) facts: Arc<Facts>,
    pub(crate) filled: Arc<AtomicBool>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) ended: JoinHandle<()>,
}

/// Namespaces by name: `team-a` is known, `slow` waits for [`Self::answers`], `broken` fails, `panic` panics.
pub(crate) struct Facts {
    /// Lookups so far.
    pub(crate) lookups: AtomicUsize,
    pub(crate) answers: Semaphore,
    /// Lookups that have begun to wait.
    pub(crate) waiting: Semaphore,
}

/// A self-signed certificate.
pub(crate) struct Pair {
    pub(crate) der: CertificateDer<'static>,
    pub(crate) chain: String,
    pub(crate) key: String,
}

impl Pair {
    /// Valid from an hour ago for `days`; expired when that is less than nothing.
    pub(crate) fn lasting(days: i64) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["webhook.test".to_owned()]).unwrap();
        let now = time::OffsetDateTime::now_utc();
        let end = now + time::Duration::days(days);
        params.not_before = now.min(end) - time::Duration::hours(1);
        params.not_after = end;
        let certificate = params.self_signed(&key).unwrap();
        Self { der: certificate.der().clone(), chain: certificate.pem(), key: key.serialize_pem() }
    }

    pub(crate) fn certificate(&self) -> Certificate {
        Certificate::parse(self.chain.as_bytes(), self.key.as_bytes()).unwrap()
    }
}

impl World {
    /// A server that is ready.
    pub(crate) async fn ready() -> Self {
        Self::draining(Drain { wait: Duration::ZERO, grace: Duration::from_secs(10) }).await
    }

    /// A server that is ready, and serves clients that `verifier` accepts.
    pub(crate) async fn verifying(verifier: ClientVerifier) -> Self {
        Self::with_clients(Some(Arc::new(verifier))).await
    }

    /// A server that is ready, and serves clients that `clients` accepts, or all.
    pub(crate) async fn with_clients(clients: Option<Arc<ClientVerifier>>) -> Self {
        let drain = Drain { wait: Duration::ZERO, grace: Duration::from_secs(10) };
        let pair = Pair::lasting(1);
        let world = Self::build(&pair, Arc::new(Served::new(pair.certificate())), clients, drain).await;
        world.settings.apply(&ConfigUpdate::Absent, "test").unwrap();
        world.filled.store(true, Ordering::Relaxed);
        world
    }

    /// A server that is ready, and ends as `drain` says.
    pub(crate) async fn draining(drain: Drain) -> Self {
        let pair = Pair::lasting(1);
        let world = Self::start(&pair, Arc::new(Served::new(pair.certificate())), drain).await;
        world.settings.apply(&ConfigUpdate::Absent, "test").unwrap();
        world.filled.store(true, Ordering::Relaxed);
        world
    }

    /// A server without configuration and namespaces.
    pub(crate) async fn start(pair: &Pair, served: Arc<Served>, drain: Drain) -> Self {
        Self::build(pair, served, None, drain).await
    }

    async fn build(pair: &Pair, served: Arc<Served>, clients: Option<Arc<ClientVerifier>>, drain: Drain) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let admin_listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, admin) = (listener.local_addr().unwrap(), admin_listener.local_addr().unwrap());
        let metrics = Arc::new(Metrics::default());
        let settings = Arc::new(Settings::new(Arc::clone(&metrics)));
        let facts =
            Arc::new(Facts { lookups: AtomicUsize::new(0), answers: Semaphore::new(0), waiting: Semaphore::new(0) });
        let filled = Arc::new(AtomicBool::new(false));
        let shutdown = CancellationToken::new();
        let condition = Arc::clone(&filled);
        let parts = Parts {
            listener,
            admin: admin_listener,
            served: Arc::clone(&served),
            clients,
            namespaces: Arc::clone(&facts) as _,
            facts: Arc::default(),
            settings: Arc::clone(&settings),
            max_review_nodes: DEFAULT_NODES,
            metrics: Arc::clone(&metrics),
            readiness: Readiness::default().with("namespaces", move || condition.load(Ordering::Relaxed)),
            clock: SystemTime::now,
            drain,
        };
        let ended = tokio::spawn(Webhook::new(parts, shutdown.clone()).unwrap().run());
        let root = pair.der.clone();
        Self { address, admin, root, metrics, settings, served, facts, filled, shutdown, ended }
    }

    pub(crate) async fn connect(&self) -> Tls {
        client::connect(self.address, &self.root, &[&TLS12, &TLS13]).await.unwrap()
    }

    /// The status of `/readyz` and what it waits for.
    pub(crate) async fn readiness(&self) -> (u16, String) {
        let reply = client::get(self.admin, "/readyz").await.unwrap();
        (reply.status, reply.body)
    }

    /// Whether `/metrics` holds `line`.
    pub(crate) fn counts(&self, line: &str) -> bool {
        self.metrics.encode().lines().any(|found| found == line)
    }
}

impl Namespaces for Facts {
    fn known(&self, namespace: &str) -> Option<Arc<Labels>> {
        assert_ne!(namespace, "panic", "asked for");
        (namespace == "team-a").then(labels)
    }

    fn look_up<'a>(&'a self, namespace: &'a str) -> BoxFuture<'a, Result<Arc<Labels>, LookupError>> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        async move {
            if namespace == "slow" {
                self.waiting.add_permits(1);
                self.answers.acquire().await.unwrap().forget();
                return Ok(labels());
            }
            Err(LookupError::TimedOut(namespace.to_owned()))
        }
        .boxed()
    }
}

fn labels() -> Arc<Labels> {
    Arc::new(BTreeMap::from([("istio-injection".to_owned(), "enabled".to_owned())]))
}

/// The review of a new pod in `namespace`.
pub(crate) fn review(namespace: &str) -> Vec<u8> {
    review_of(namespace, &json!({"metadata": {}, "spec": {"containers": [{"name": "train", "image": "i"}]}}))
}

/// The review of `pod`, new in `namespace`.
pub(crate) fn review_of(namespace: &str, pod: &Value) -> Vec<u8> {
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "0b4c", "operation": "CREATE", "namespace": namespace,
        "resource": {"group": "", "version": "v1", "resource": "pods"}, "object": pod}});
    serde_json::to_vec(&review).unwrap()
}
