//! Driver for the real Kubernetes cluster of `tests/cluster`, for tests that run inside its network.
//!
//! ```text
//! tests/cluster/cluster up
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_admission
//! ```
//!
//! Changes go through `kubectl`, as users make them. One call takes 0.1 s or more, so tests apply several objects as
//! one [manifest](list). Polling uses an in-process client. Each test creates its own namespace. A step that fails
//! panics; nothing is skipped.

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
use tempfile::NamedTempFile;

pub use audit::{AuditLog, creates_pod};
pub use kubectl::{KubectlOutput, list};
pub use namespace::Namespace;
pub use wait::{TIMEOUT, eventually, within};

/// Operators that cannot run together: both install a CRD `mpijobs.kubeflow.org`.
const CONFLICTING_OPERATORS: [&str; 2] = ["training-operator", "mpi-operator"];

const WEBHOOK_CONFIGURATION: &str = "mutatingwebhookconfiguration";

/// Resources that [`Cluster::start_devices`] adds to the node: GPUs, shared RDMA adapters, and fewer adapters of
/// another kind than GPUs.
const DEVICES: [&str; 3] = ["nvidia.com/gpu=32", "rdma/hca_shared_devices_a=63", "rdma/few=2"];

/// The running test cluster.
#[derive(Debug)]
pub struct Cluster {
    logs: PathBuf,
    /// Operators that this process has started.
    operators: Mutex<BTreeSet<String>>,
}

/// Guard of an apiserver with an `AdmissionConfiguration`. Dropping it restarts the apiserver without one.
#[derive(Debug)]
#[must_use = "dropping the guard restarts the apiserver"]
pub struct AdmissionGuard(());

/// Guard of a stopped cluster component. Dropping it starts the component again and waits until it is ready.
#[derive(Debug)]
#[must_use = "dropping the guard starts the component"]
pub struct StoppedComponent(&'static str);

impl Cluster {
    /// Returns the cluster that `tests/cluster/cluster exec` runs this test in.
    pub fn get() -> &'static Self {
        static CLUSTER: OnceLock<Cluster> = OnceLock::new();
        CLUSTER.get_or_init(|| Self { logs: variable("TRAINMESH_CLUSTER_LOGS").into(), operators: Mutex::default() })
    }

    /// Creates a namespace with these labels. It accepts pods immediately.
    pub fn namespace(&self, labels: &[(&str, &str)]) -> Namespace {
        Namespace::with_labels(self.audit_from_now(), labels)
    }

    /// Applies cluster-scoped objects, in YAML or JSON, with `kubectl apply`.
    pub fn apply(&self, manifest: &(impl Display + ?Sized)) -> KubectlOutput {
        self.kubectl(&["apply", "-f", "-"], manifest)
    }

    /// Creates cluster-scoped objects, in YAML or JSON, with `kubectl create`.
    pub fn create(&self, manifest: &(impl Display + ?Sized)) -> KubectlOutput {
        self.kubectl(&["create", "-f", "-"], manifest)
    }

    /// Creates a `MutatingWebhookConfiguration`. The apiserver calls its webhooks after a short delay.
    #[allow(clippy::unused_self, reason = "a value of this type proves that the test runs inside the cluster")]
    pub fn create_webhooks(&self, configuration: &Value) {
        api::ensure(WEBHOOK_CONFIGURATION, None, configuration);
    }

    /// Deletes a `MutatingWebhookConfiguration` if it exists.
    #[allow(clippy::unused_self, reason = "a value of this type proves that the test runs inside the cluster")]
    pub fn delete_webhooks(&self, name: &str) {
        // An error here must not replace the failure of the test.
        let _ = api::delete(WEBHOOK_CONFIGURATION, name);
    }

    /// Gets a cluster-scoped object. Returns `None` if it does not exist.
    #[allow(clippy::unused_self, reason = "a value of this type proves that the test runs inside the cluster")]
    pub fn object(&self, kind: &str, name: &str) -> Option<Value> {
        api::get(kind, None, name)
    }

    /// Runs `kubectl` with `input` on standard input.
    #[allow(clippy::unused_self, reason = "a value of this type proves that the test runs inside the cluster")]
    pub fn kubectl(&self, arguments: &[&str], input: &(impl Display + ?Sized)) -> KubectlOutput {
        kubectl::run(arguments, &input.to_string())
    }

    /// Writes the cluster's kubeconfig for `user`, who has only the permissions that a test grants.
    #[must_use]
    pub fn kubeconfig_of(&self, user: &str) -> NamedTempFile {
        let mut config = self.kubectl(&["config", "view", "--raw", "-o", "json"], "").success().object();
        for entry in config["users"].as_array_mut().expect("users") {
            entry["user"]["as"] = user.into();
        }
        let file = NamedTempFile::new().expect("create a file");
        std::fs::write(file.path(), config.to_string()).expect("write the file");
        file
    }

    /// Waits until `user` may do `verb` with `resource` in `namespace`: the apiserver reads RBAC objects from watches.
    pub fn wait_until_allowed(&self, user: &str, [verb, resource]: [&str; 2], namespace: &str) {
        let question = ["auth", "can-i", verb, resource, "--as", user, "--namespace", namespace];
        eventually(TIMEOUT, &format!("{user} may {verb} {resource}"), || {
            let answer = self.kubectl(&question, "");
            if answer.stdout.trim() == "yes" { Ok(()) } else { Err(answer.stdout + &answer.stderr) }
        });
    }

    /// Starts an operator that `tests/cluster/cluster help` lists, unless it runs. The first start takes about 15 s.
    pub fn start_operator(&self, name: &str) {
        let mut started = self.operators.lock().unwrap_or_else(PoisonError::into_inner);
        if started.contains(name) {
            return;
        }
        if CONFLICTING_OPERATORS.contains(&name) {
            for other in CONFLICTING_OPERATORS.into_iter().filter(|other| *other != name) {
                assert!(!started.contains(other), "{name} conflicts with {other}: use separate test targets");
                cluster(&["operator", other, "stop"]);
            }
        }
        cluster(&["operator", name, "start"]);
        started.insert(name.to_owned());
    }

    /// Stops an operator and removes its CRDs, if it runs.
    pub fn stop_operator(&self, name: &str) {
        self.operators.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        cluster(&["operator", name, "stop"]);
    }

    /// Starts the test mesh, which injects the pods of namespaces with `istio-injection=enabled`.
    pub fn start_mesh(&self) {
        static STARTED: OnceLock<()> = OnceLock::new();
        STARTED.get_or_init(|| {
            cluster(&["mesh", "start"]);
            let namespace = self.namespace(&[("istio-injection", "enabled")]);
            let probe = crate::pods::pod("probe");
            eventually(TIMEOUT, "the apiserver calls the injector", || {
                let pod = namespace.create_dry_run(&probe).map_err(|error| error.to_string())?;
                let is_injected = pod.to_string().contains("istio-proxy");
                if is_injected { Ok(()) } else { Err("no proxy".to_owned()) }
            });
        });
    }

    /// Creates the image `trainmesh.test/torch:1`, and returns the directory with the packages of torch.
    #[allow(clippy::unused_self, reason = "a value of this type proves that the test runs inside the cluster")]
    pub fn torch(&self) -> PathBuf {
        static PACKAGES: OnceLock<PathBuf> = OnceLock::new();
        PACKAGES.get_or_init(|| cluster(&["torch"]).trim().into()).clone()
    }

    /// Starts fake kubelets for all nodes with the label `type=kwok`.
    #[allow(clippy::unused_self, reason = "a value of this type proves that the test runs inside the cluster")]
    pub fn start_kwok(&self) {
        static STARTED: OnceLock<()> = OnceLock::new();
        // The directory of programs is only for execs.
        STARTED.get_or_init(|| drop(cluster(&["kwok", "start", "/dev/null", "/nonexistent"])));
    }

    /// Adds the simulated `DEVICES` to the node. All tests share them: each allocates a few, for a short time.
    #[allow(clippy::unused_self, reason = "a value of this type proves that the test runs inside the cluster")]
    pub fn start_devices(&self) {
        static STARTED: OnceLock<()> = OnceLock::new();
        STARTED.get_or_init(|| drop(cluster(&[&["devices", "start"], &DEVICES[..]].concat())));
    }

    /// Removes the simulated devices from the node, so that pods that request a GPU stay pending.
    #[allow(clippy::unused_self, reason = "a value of this type proves that the test runs inside the cluster")]
    pub fn stop_devices(&self) {
        static STOPPED: OnceLock<()> = OnceLock::new();
        STOPPED.get_or_init(|| drop(cluster(&["devices", "stop"])));
    }

    /// Stops a component, `apiserver` or `kubelet`, until the returned guard is dropped.
    #[allow(clippy::unused_self, reason = "a value of this type proves that the test runs inside the cluster")]
    pub fn stop(&self, component: &'static str) -> StoppedComponent {
        cluster(&["stop", component]);
        StoppedComponent(component)
    }

    /// Restarts the apiserver with an `AdmissionConfiguration` of these plugins, until the returned guard is dropped.
    #[allow(clippy::unused_self, reason = "a value of this type proves that the test runs inside the cluster")]
    pub fn set_admission_configuration(&self, plugins: &Value) -> AdmissionGuard {
        let configuration = json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
            "plugins": plugins});
        let file = NamedTempFile::new().expect("create a temporary file");
        std::fs::write(file.path(), configuration.to_string()).expect("write the configuration");
        cluster(&["admission", file.path().to_str().expect("the path is UTF-8")]);
        AdmissionGuard(())
    }

    /// Returns an apiserver metric, summed over the series whose labels contain `text`.
    pub fn metric(&self, name: &str, text: &str) -> u64 {
        let metrics = self.kubectl(&["get", "--raw", "/metrics"], "").success().stdout;
        let series = metrics.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('{')?.rsplit_once("} "));
        let values = series.filter(|(labels, _)| labels.contains(text)).map(|(_, value)| value);
        values.map(|value| value.parse::<u64>().expect("a count")).sum()
    }

    /// Builds the image `trainmesh.test/NAME` of a program, for pods with `imagePullPolicy: Never`.
    #[allow(clippy::unused_self, reason = "a value of this type proves that the test runs inside the cluster")]
    pub fn build_image(&self, name: &str, program: &str) {
        cluster(&["image", name, program]);
    }

    /// Returns a reader of the audit log that starts at the current end.
    pub fn audit_from_now(&self) -> AuditLog {
        AuditLog::from_now(self.logs.join("audit.log"))
    }
}

impl Drop for AdmissionGuard {
    fn drop(&mut self) {
        cluster(&["admission", "default"]);
    }
}

impl Drop for StoppedComponent {
    fn drop(&mut self) {
        cluster(&["start", self.0]);
    }
}

/// Runs `tests/cluster/cluster`, and returns its standard output.
fn cluster(arguments: &[&str]) -> String {
    let program = crate::repository().join("tests/cluster/cluster");
    let output = Command::new(program).args(arguments).output().expect("start tests/cluster/cluster");
    assert!(output.status.success(), "cluster {arguments:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the output is UTF-8")
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!(
            "{name} is not set: this test runs inside the network of the test cluster:\n  \
             tests/cluster/cluster up\n  \
             tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test NAME"
        )
    })
}
