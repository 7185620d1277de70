//! A webhook server for one test, with fake namespaces.

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
use trainmesh::cluster::fabric::SharedFacts;
use trainmesh::cluster::namespaces::{Labels, LookupError, Namespaces};
use trainmesh::cluster::workloads::{LookedUp, LookupKey, Workloads};
use trainmesh::reload::Settings;
use trainmesh::telemetry::{Metrics, Readiness};
use trainmesh::webhook::{Certificate, CertificateResolver, ClientVerifier, Dependencies, Drain, Webhook};
use trainmesh_core::config::ConfigUpdate;
use trainmesh_core::gang::{GangWorkload, UnknownGang};
use trainmesh_core::webhook::review::DEFAULT_NODES;

use crate::client::{self, Tls};

/// A running webhook server.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) root: CertificateDer<'static>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) served: Arc<CertificateResolver>,
    pub(crate) namespaces: Arc<FakeNamespaces>,
    pub(crate) workloads: Arc<FakeWorkloads>,
    pub(crate) facts: SharedFacts,
    pub(crate) namespaces_synced: Arc<AtomicBool>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) task: JoinHandle<()>,
}

/// Fake namespace cache: `team-a` is cached, `slow` waits for [`Self::answers`], `broken` fails, `panic` panics.
pub(crate) struct FakeNamespaces {
    /// Number of lookups.
    pub(crate) lookups: AtomicUsize,
    pub(crate) answers: Semaphore,
    /// Gains a permit when a lookup starts to wait.
    pub(crate) waiting: Semaphore,
}

/// Fake workload cache that remembers nothing: the workload `large` is a `PyTorchJob` of 4 workers, others do not exist.
#[derive(Default)]
pub(crate) struct FakeWorkloads {
    /// Number of lookups.
    pub(crate) lookups: AtomicUsize,
}

/// A self-signed certificate with its key.
pub(crate) struct CertificatePair {
    pub(crate) der: CertificateDer<'static>,
    pub(crate) chain: String,
    pub(crate) key: String,
}

impl CertificatePair {
    /// Creates a certificate that is valid from an hour ago for `days`; it has expired if `days` is negative.
    pub(crate) fn valid_for_days(days: i64) -> Self {
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

impl TestServer {
    /// Starts a server that is ready.
    pub(crate) async fn ready() -> Self {
        Self::draining(Drain { wait: Duration::ZERO, grace: Duration::from_secs(10) }).await
    }

    /// Starts a ready server that accepts the clients that `verifier` accepts.
    pub(crate) async fn verifying(verifier: ClientVerifier) -> Self {
        Self::with_clients(Some(Arc::new(verifier))).await
    }

    /// Starts a ready server that accepts the clients that `clients` accepts, or all.
    pub(crate) async fn with_clients(clients: Option<Arc<ClientVerifier>>) -> Self {
        let drain = Drain { wait: Duration::ZERO, grace: Duration::from_secs(10) };
        let pair = CertificatePair::valid_for_days(1);
        let server = Self::build(&pair, Arc::new(CertificateResolver::new(pair.certificate())), clients, drain).await;
        server.settings.apply(&ConfigUpdate::Absent, "test").unwrap();
        server.namespaces_synced.store(true, Ordering::Relaxed);
        server
    }

    /// Starts a ready server that drains according to `drain`.
    pub(crate) async fn draining(drain: Drain) -> Self {
        let pair = CertificatePair::valid_for_days(1);
        let server = Self::start(&pair, Arc::new(CertificateResolver::new(pair.certificate())), drain).await;
        server.settings.apply(&ConfigUpdate::Absent, "test").unwrap();
        server.namespaces_synced.store(true, Ordering::Relaxed);
        server
    }

    /// Starts a server without configuration and namespaces.
    pub(crate) async fn start(pair: &CertificatePair, served: Arc<CertificateResolver>, drain: Drain) -> Self {
        Self::build(pair, served, None, drain).await
    }

    async fn build(
        pair: &CertificatePair,
        served: Arc<CertificateResolver>,
        clients: Option<Arc<ClientVerifier>>,
        drain: Drain,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let admin_listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, admin) = (listener.local_addr().unwrap(), admin_listener.local_addr().unwrap());
        let metrics = Arc::new(Metrics::default());
        let settings = Arc::new(Settings::new(Arc::clone(&metrics)));
        let namespaces = Arc::new(FakeNamespaces {
            lookups: AtomicUsize::new(0),
            answers: Semaphore::new(0),
            waiting: Semaphore::new(0),
        });
        let workloads = Arc::new(FakeWorkloads::default());
        let facts = SharedFacts::default();
        let namespaces_synced = Arc::new(AtomicBool::new(false));
        let shutdown = CancellationToken::new();
        let condition = Arc::clone(&namespaces_synced);
        let parts = Dependencies {
            listener,
            admin: admin_listener,
            certificate: Arc::clone(&served),
            client_verifier: clients,
            namespaces: Arc::clone(&namespaces) as _,
            facts: Arc::clone(&facts),
            workloads: Arc::clone(&workloads) as _,
            gangs: Arc::default(),
            settings: Arc::clone(&settings),
            max_review_nodes: DEFAULT_NODES,
            metrics: Arc::clone(&metrics),
            readiness: Readiness::default().with("namespaces not synced", move || condition.load(Ordering::Relaxed)),
            clock: SystemTime::now,
            drain,
        };
        let task = tokio::spawn(Webhook::new(parts, shutdown.clone()).unwrap().run());
        let root = pair.der.clone();
        Self {
            address,
            admin,
            root,
            metrics,
            settings,
            served,
            namespaces,
            workloads,
            facts,
            namespaces_synced,
            shutdown,
            task,
        }
    }

    pub(crate) async fn connect(&self) -> Tls {
        client::connect(self.address, &self.root, &[&TLS12, &TLS13]).await.unwrap()
    }

    /// Returns the status and body of `/readyz`.
    pub(crate) async fn readiness(&self) -> (u16, String) {
        let reply = client::get(self.admin, "/readyz").await.unwrap();
        (reply.status, reply.body)
    }

    /// Returns true if `/metrics` contains `line`.
    pub(crate) fn has_metric(&self, line: &str) -> bool {
        self.metrics.encode().lines().any(|other| other == line)
    }
}

impl Namespaces for FakeNamespaces {
    fn cached(&self, namespace: &str) -> Option<Arc<Labels>> {
        assert_ne!(namespace, "panic", "requested by the test");
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

impl Workloads for FakeWorkloads {
    fn cached(&self, _: &LookupKey) -> Option<LookedUp> {
        None
    }

    fn look_up(&self, key: LookupKey) -> BoxFuture<'static, LookedUp> {
        let key = key.workload;
        self.lookups.fetch_add(1, Ordering::Relaxed);
        let template = json!({"spec": {"containers": []}});
        let job = json!({"metadata": {"uid": key.uid}, "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 4, "template": template}}}});
        let found = match key.name.as_str() {
            "large" => GangWorkload::from_object(&key, &job),
            name => Err(UnknownGang::Object(format!("{name} does not exist"))),
        };
        async move { found.map(Arc::new).map_err(Arc::new) }.boxed()
    }
}

fn labels() -> Arc<Labels> {
    Arc::new(BTreeMap::from([("istio-injection".to_owned(), "enabled".to_owned())]))
}

/// Returns a review of a new pod in `namespace`.
pub(crate) fn review(namespace: &str) -> Vec<u8> {
    review_of(namespace, &json!({"metadata": {}, "spec": {"containers": [{"name": "train", "image": "i"}]}}))
}

/// Returns a review of the creation of `pod` in `namespace`.
pub(crate) fn review_of(namespace: &str, pod: &Value) -> Vec<u8> {
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "0b4c", "operation": "CREATE", "namespace": namespace,
        "resource": {"group": "", "version": "v1", "resource": "pods"}, "object": pod}});
    serde_json::to_vec(&review).unwrap()
}
