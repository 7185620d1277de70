//! The real cluster of `tests/cluster`, for the tests that run inside its network.
//!
//! ```text
//! tests/cluster/cluster up
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_admission
//! ```
//!
//! What is done goes through `kubectl`, as a person would do it; one call costs 0.1 s and more, so several objects go into
//! one [`List`](list). What is asked again and again goes to the apiserver from here. Each test makes its own namespace. A
//! helper that cannot do its work fails the test; nothing is skipped.

mod api;
mod audit;
mod kubectl;
mod namespace;
pub mod server;
mod wait;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::{Value, json};

pub use audit::{AuditLog, creates_pod};
pub use kubectl::{Applied, list};
pub use namespace::Namespace;
pub use wait::{PATIENCE, eventually};

/// The two operators whose CRDs have the same name, `mpijobs.kubeflow.org`.
const RIVALS: [&str; 2] = ["training-operator", "mpi-operator"];

/// The kind of registrations.
const REGISTRATION: &str = "mutatingwebhookconfiguration";

/// What [`Cluster::devices`] offers: GPUs, adapters that pods share, and fewer adapters of another kind than GPUs.
const DEVICES: [&str; 3] = ["nvidia.com/gpu=32", "rdma/hca_shared_devices_a=63", "rdma/few=2"];

/// The running cluster.
#[derive(Debug)]
pub struct Cluster {
    logs: PathBuf,
    /// Operators that this process has started, or found started.
    operators: Mutex<BTreeSet<String>>,
}

/// The apiserver has an `AdmissionConfiguration`; it is restarted without when this is dropped.
#[derive(Debug)]
#[must_use = "the apiserver is restarted at once"]
pub struct Admission(());

/// A part of the cluster that does not run; it is started again, and waited for, when this is dropped.
#[derive(Debug)]
#[must_use = "the part is started again at once"]
pub struct Stopped(&'static str);

impl Cluster {
    /// The cluster that `tests/cluster/cluster exec` runs this test in.
    pub fn get() -> &'static Self {
        static CLUSTER: OnceLock<Cluster> = OnceLock::new();
        CLUSTER.get_or_init(|| Self { logs: variable("TRAINMESH_CLUSTER_LOGS").into(), operators: Mutex::default() })
    }

    /// A new namespace with these labels, in which pods can be made at once.
    pub fn namespace(&self, labels: &[(&str, &str)]) -> Namespace {
        Namespace::with_labels(self.audit_from_now(), labels)
    }

    /// Creates or changes objects that live in no namespace: YAML or JSON, one or many.
    pub fn apply(&self, manifest: &(impl Display + ?Sized)) -> Applied {
        self.kubectl(&["apply", "-f", "-"], manifest)
    }

    /// As [`Cluster::apply`], by `kubectl create`.
    pub fn create(&self, manifest: &(impl Display + ?Sized)) -> Applied {
        self.kubectl(&["create", "-f", "-"], manifest)
    }

    /// Has the webhooks of a `MutatingWebhookConfiguration` asked, which the apiserver learns of a moment later.
    #[allow(clippy::unused_self, reason = "whoever holds the cluster is known to be inside it")]
    pub fn register(&self, registration: &Value) {
        let _ = api::create(REGISTRATION, None, registration, false).expect("register webhooks");
    }

    /// Has them asked no more; none of this name is fine too.
    #[allow(clippy::unused_self, reason = "whoever holds the cluster is known to be inside it")]
    pub fn unregister(&self, name: &str) {
        // A test that fails must say why, not that its registration could not be deleted.
        let _ = api::delete(REGISTRATION, name);
    }

    /// An object that lives in no namespace, if there is one of this name.
    #[allow(clippy::unused_self, reason = "whoever holds the cluster is known to be inside it")]
    pub fn object(&self, kind: &str, name: &str) -> Option<Value> {
        api::get(kind, None, name)
    }

    /// Runs `kubectl` with `input` on standard input.
    #[allow(clippy::unused_self, reason = "whoever holds the cluster is known to be inside it")]
    pub fn kubectl(&self, arguments: &[&str], input: &(impl Display + ?Sized)) -> Applied {
        kubectl::run(arguments, &input.to_string())
    }

    /// Has a real operator running: one of `tests/cluster/cluster help`. The first call for each takes some 15 s.
    pub fn operator(&self, name: &str) {
        let mut started = self.operators.lock().unwrap_or_else(PoisonError::into_inner);
        if started.contains(name) {
            return;
        }
        if RIVALS.contains(&name) {
            for rival in RIVALS.into_iter().filter(|rival| *rival != name) {
                assert!(!started.contains(rival), "{name} and {rival} exclude each other: give them own test targets");
                cluster(&["operator", rival, "stop"]);
            }
        }
        cluster(&["operator", name, "start"]);
        started.insert(name.to_owned());
    }

    #[allow(clippy::unused_self, reason = "whoever holds the cluster is known to be inside it")]
    /// Has the test mesh running: pods of namespaces with `istio-injection=enabled` are injected.
    pub fn mesh(&self) {
        static STARTED: OnceLock<()> = OnceLock::new();
        STARTED.get_or_init(|| cluster(&["mesh", "start"]));
    }

    /// Has the node offer [`DEVICES`], which do not exist. One for all tests: each takes few of them, for a short time.
    #[allow(clippy::unused_self, reason = "whoever holds the cluster is known to be inside it")]
    pub fn devices(&self) {
        static STARTED: OnceLock<()> = OnceLock::new();
        STARTED.get_or_init(|| cluster(&[&["devices", "start"], &DEVICES[..]].concat()));
    }

    /// Has the node offer none of them any more: pods that ask for a GPU wait for a node again.
    #[allow(clippy::unused_self, reason = "whoever holds the cluster is known to be inside it")]
    pub fn no_devices(&self) {
        static STOPPED: OnceLock<()> = OnceLock::new();
        STOPPED.get_or_init(|| cluster(&["devices", "stop"]));
    }

    /// Ends a part of the cluster, `apiserver` or `kubelet`, for as long as the result lives.
    #[allow(clippy::unused_self, reason = "whoever holds the cluster is known to be inside it")]
    pub fn stop(&self, component: &'static str) -> Stopped {
        cluster(&["stop", component]);
        Stopped(component)
    }

    /// Restarts the apiserver with this `AdmissionConfiguration`, for as long as the result lives.
    #[allow(clippy::unused_self, reason = "whoever holds the cluster is known to be inside it")]
    pub fn admission(&self, plugins: &Value) -> Admission {
        let configuration = json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
            "plugins": plugins});
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), configuration.to_string()).expect("write the configuration");
        cluster(&["admission", file.path().to_str().expect("a path in UTF-8")]);
        Admission(())
    }

    /// The sum of one of the apiserver's own metrics over the series whose labels hold `text`.
    pub fn metric(&self, name: &str, text: &str) -> u64 {
        let metrics = self.kubectl(&["get", "--raw", "/metrics"], "").success().stdout;
        let series = metrics.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('{')?.rsplit_once("} "));
        let values = series.filter(|(labels, _)| labels.contains(text)).map(|(_, value)| value);
        values.map(|value| value.parse::<u64>().expect("a count")).sum()
    }

    /// Makes the image `trainmesh.test/NAME` of a program, for pods with `imagePullPolicy: Never`.
    #[allow(clippy::unused_self, reason = "whoever holds the cluster is known to be inside it")]
    pub fn image(&self, name: &str, program: &str) {
        cluster(&["image", name, program]);
    }

    /// What the apiserver writes into its audit log from now on.
    pub fn audit_from_now(&self) -> AuditLog {
        AuditLog::from_now(self.logs.join("audit.log"))
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        cluster(&["admission", "default"]);
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        cluster(&["start", self.0]);
    }
}

/// Runs the command that owns the cluster.
fn cluster(arguments: &[&str]) {
    let program = crate::repository().join("tests/cluster/cluster");
    let output = Command::new(program).args(arguments).output().expect("start tests/cluster/cluster");
    assert!(output.status.success(), "cluster {arguments:?} failed: {}", String::from_utf8_lossy(&output.stderr));
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!(
            "{name} is not set: this test needs the test cluster and runs inside its network:\n  \
             tests/cluster/cluster up\n  \
             tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test NAME"
        )
    })
}
