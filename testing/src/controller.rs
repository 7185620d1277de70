//! Runs `trainmesh controller` against a real kubelet.
//!
//! A controller watches the pods of all namespaces that `termination.podSelector` matches. Each [`Group`] selects its
//! pods by a unique label and has its own lease, so that groups run concurrently without touching each other's pods. A
//! group has no controller until a test starts one; it may have several, one of which leads. Every controller watches
//! pods with the label `trainmesh.dev/managed`.

mod account;
mod event;
mod manifest;
pub mod observed;
mod requests;

use std::ops::{Deref, DerefMut};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tempfile::TempDir;

pub use account::ServiceAccount;
pub use event::{Event, events, wait_for_event};
pub use manifest::{PodManifest, container, container_with_memory_limit};
pub use observed::{ContainerState, ObservedPod, PROXY, observe, wait_for_pod};
pub use requests::{
    ContainerRequest, QUIT_AGENT, QUIT_ENVOY, container_requests, container_requests_by_pod, requests_until_termination,
};

use crate::cluster::server::{self, Server};
use crate::cluster::{Cluster, Namespace, TIMEOUT, eventually};

/// Labels of a namespace in which proxies are injected and terminated.
pub const OPTED_IN: [(&str, &str); 2] = [("trainmesh.dev/inject", "enabled"), ("istio-injection", "enabled")];

const LABEL: &str = "test.trainmesh.dev/group";

/// A set of pods and the controllers that watch them.
#[derive(Debug)]
pub struct Group {
    /// Namespace of the controllers' lease.
    pub lease_namespace: Namespace,
    name: String,
    config: Value,
    folder: TempDir,
}

/// A running `trainmesh controller`, killed when it is dropped.
#[derive(Debug)]
pub struct Controller {
    server: Server,
}

impl Group {
    /// Creates a group whose controllers have the default configuration.
    pub fn new() -> Self {
        Self::with_termination(&json!({}))
    }

    /// Creates a group whose controllers have these fields in the section `termination`. Fabrics are disabled: they
    /// have their own tests and need other permissions.
    pub fn with_termination(termination: &Value) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is right");
        let name = format!("{:x}-{}", since.as_millis(), COUNT.fetch_add(1, Ordering::Relaxed));
        let mut termination = termination.clone();
        termination["podSelector"] = format!("{LABEL}={name}").into();
        let config = json!({"apiVersion": "config.trainmesh.dev/v1alpha1", "kind": "TrainmeshConfiguration",
            "termination": termination, "fabric": {"enabled": false}});
        Cluster::get().start_mesh();
        Self { lease_namespace: Cluster::get().namespace(&[]), name, config, folder: server::temp_folder() }
    }

    /// Returns the manifest of a pod that the controllers of this group watch.
    pub fn pod(&self, name: &str) -> PodManifest {
        PodManifest::new(name).label(LABEL, &self.name)
    }

    /// Returns key and value of the label that selects the pods of this group.
    pub fn label(&self) -> (&str, &str) {
        (LABEL, &self.name)
    }

    /// Creates a service account with these rules of a `ClusterRole`, for [`Group::start_as`].
    pub fn account(&self, rules: &Value) -> ServiceAccount {
        ServiceAccount::new(
            &self.lease_namespace,
            &format!("{LABEL}-{}", self.name).replace('/', "-"),
            rules,
            &self.folder,
        )
    }

    /// Starts a controller and waits until it is ready, though not until it leads. If it loses its lease, it is restarted.
    pub fn start(&self) -> Controller {
        self.start_with(true, &[])
    }

    /// As [`Group::start`], without a restart.
    pub fn start_once(&self) -> Controller {
        self.start_with(false, &[])
    }

    fn start_with(&self, is_supervised: bool, arguments: &[&str]) -> Controller {
        let folder = server::temp_folder();
        let config = server::write_file(folder.path(), "config.yaml", &self.config.to_string());
        let program = |command: &mut Command| {
            // Certificates have their own tests and need other permissions.
            command.args(["controller", "--certificates", "none", "--namespace", &self.lease_namespace.name]);
            command.arg("--config").arg(config).args(arguments);
        };
        let start = if is_supervised { Server::start_supervised } else { Server::start };
        let server = start(folder, program);
        server.wait_until_ready();
        Controller { server }
    }

    /// As [`Group::start`], with the permissions of `account`.
    pub fn start_as(&self, account: &ServiceAccount) -> Controller {
        self.start_with(true, &["--kubeconfig", account.kubeconfig.to_str().expect("the path is UTF-8")])
    }
}

impl Controller {
    /// Returns true if this controller holds the lease.
    pub fn is_leader(&self) -> bool {
        self.metric("trainmesh_leader") == Some(1)
    }

    /// Waits until this controller holds the lease.
    pub fn wait_for_leadership(&self) {
        eventually(TIMEOUT, "the controller leads", || if self.is_leader() { Ok(()) } else { Err("it does not") });
    }
}

impl Deref for Controller {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl DerefMut for Controller {
    fn deref_mut(&mut self) -> &mut Server {
        &mut self.server
    }
}
