//! The real binary, `trainmesh controller`, beside a real kubelet.
//!
//! A controller sees the pods of all namespaces that its `termination.podSelector` finds. Each [`Group`] has a label of
//! its own there, and a lease of its own: groups run side by side and leave each other's pods alone. A group has no
//! controller until a test starts one, and may have several, one of which leads. (Pods with the label
//! `trainmesh.dev/managed` are seen by every controller.)

mod account;
mod asked;
mod event;
mod manifest;
pub mod seen;

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tempfile::TempDir;

pub use account::Account;
pub use asked::{ADMIN, Asked, STATUS, asked, asked_of_all};
pub use event::{Event, events, told};
pub use manifest::{Manifest, container, limited};
pub use seen::{PROXY, Seen, State, see, watch};

use crate::cluster::server::{self, Server};
use crate::cluster::{Cluster, Namespace, PATIENCE, eventually};

/// The labels of a namespace in which proxies are injected, and ended.
pub const SERVED: [(&str, &str); 2] = [("trainmesh.dev/inject", "enabled"), ("istio-injection", "enabled")];

const LABEL: &str = "test.trainmesh.dev/group";

/// Pods, and the controllers that see them.
#[derive(Debug)]
pub struct Group {
    /// The namespace of the controllers' lease.
    pub home: Namespace,
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
    /// A group whose controllers are configured as they come.
    pub fn new() -> Self {
        Self::with(&json!({}))
    }

    /// A group whose controllers have these fields in the section `termination`. Fabrics, which have tests and rights of
    /// their own, are off.
    pub fn with(termination: &Value) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is right");
        let name = format!("{:x}-{}", since.as_millis(), COUNT.fetch_add(1, Ordering::Relaxed));
        let mut termination = termination.clone();
        termination["podSelector"] = format!("{LABEL}={name}").into();
        let config = json!({"apiVersion": "config.trainmesh.dev/v1alpha1", "kind": "TrainmeshConfiguration",
            "termination": termination, "fabric": {"enabled": false}});
        Cluster::get().mesh();
        Self { home: Cluster::get().namespace(&[]), name, config, folder: server::folder() }
    }

    /// A pod that this group's controllers see.
    pub fn pod(&self, name: &str) -> Manifest {
        Manifest::new(name).label(LABEL, &self.name)
    }

    /// Their label and its value, for pods that others make.
    pub fn label(&self) -> (&str, &str) {
        (LABEL, &self.name)
    }

    /// An account that may do what `rules` of a `ClusterRole` allow, for [`Group::start_as`].
    pub fn account(&self, rules: &Value) -> Account {
        Account::new(&self.home, &format!("{LABEL}-{}", self.name).replace('/', "-"), rules, &self.folder)
    }

    /// Starts a controller and waits until it is ready. Whether it leads is another question.
    pub fn start(&self) -> Controller {
        self.start_with(&[])
    }

    /// As [`Group::start`], with more flags.
    pub fn start_with(&self, arguments: &[&str]) -> Controller {
        let folder = server::folder();
        let config = server::file(folder.path(), "config.yaml", &self.config.to_string());
        let server = Server::start(folder, |command| {
            // Certificates have tests of their own, and would need rights of their own here.
            command.args(["controller", "--certificates", "none", "--namespace", &self.home.name]);
            command.arg("--config").arg(config).args(arguments);
        });
        server.ready();
        Controller { server }
    }

    /// As [`Group::start`], as somebody else than the cluster's administrator.
    pub fn start_as(&self, account: &Account) -> Controller {
        self.start_with(&["--kubeconfig", account.kubeconfig.to_str().expect("a path of text")])
    }
}

impl Controller {
    /// Whether it holds the lease.
    pub fn leads(&self) -> bool {
        self.metric("trainmesh_leader") == Some(1)
    }

    /// Waits until it holds the lease.
    pub fn led(&self) {
        eventually(PATIENCE, "the controller leads", || if self.leads() { Ok(()) } else { Err("it does not") });
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
