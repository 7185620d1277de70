//! Installs the chart on the test cluster.

pub mod doctor;
mod version;

use std::process::Command;

use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard};

use crate::cluster::{Cluster, Namespace, TIMEOUT, eventually};
pub use version::Version;

/// Path of the chart.
pub const CHART: &str = "charts/trainmesh";
/// Environment variable with the path of the binary to install instead of the one under test. `make attack` sets it to
/// the released binary.
pub const PROGRAM: &str = "TRAINMESH_PROGRAM";
const NAME: &str = "trainmesh";
/// Labels of a namespace that enforces the Pod Security level `restricted`.
const RESTRICTED: [(&str, &str); 2] =
    [("pod-security.kubernetes.io/enforce", "restricted"), ("pod-security.kubernetes.io/warn", "restricted")];

/// A Helm release of the chart; uninstalled when it is dropped.
pub struct Release {
    /// Program to run: Helm 3 or 4.
    helm: &'static str,
    /// Namespace of the release.
    pub namespace: Namespace,
    /// Allows one release at a time.
    _lock: MutexGuard<'static, ()>,
}

impl Release {
    /// Installs the chart with these values, without waiting for its pods.
    pub fn install(helm: &'static str, values: &[&str]) -> Self {
        Self::install_version(helm, Version::Tested, values)
    }

    fn install_version(helm: &'static str, version: Version, values: &[&str]) -> Self {
        // Unlike the guard of std, that of tokio is Send, so that tests can share a release.
        static LOCK: Mutex<()> = Mutex::const_new(());
        let release = Self { helm, namespace: Cluster::get().namespace(&RESTRICTED), _lock: LOCK.blocking_lock() };
        release.helm("install", version, values);
        release
    }

    /// Installs the binary under test and waits until all pods are ready.
    pub fn start(values: &[&str]) -> Self {
        let release = Self::start_without_waiting(values);
        release.wait_until_ready();
        release
    }

    /// As [`Release::start`], without waiting for the pods.
    pub fn start_without_waiting(values: &[&str]) -> Self {
        Self::start_version(Version::Tested, values)
    }

    /// Installs the previous release and waits until all pods are ready. [`Release::upgrade`] upgrades it.
    pub fn start_previous() -> Self {
        Version::Tested.build_image();
        let release = Self::start_version(Version::Previous, &[]);
        release.wait_until_ready();
        release
    }

    fn start_version(version: Version, values: &[&str]) -> Self {
        version.build_image();
        let [image, policy] = version.values();
        Self::install_version("helm", version, &[&[&*image, &*policy], values].concat())
    }

    /// Upgrades the release to the binary under test, with these values.
    pub fn upgrade(&self, values: &[&str]) {
        let version = Version::Tested;
        let [image, policy] = version.values();
        self.helm("upgrade", version, &[&[&*image, &*policy], values].concat());
    }

    /// Returns to the first revision of the release.
    pub fn roll_back(&self) {
        self.run(&["rollback", NAME, "1"]);
    }

    /// Waits until the rollout of both Deployments is complete.
    pub fn wait_until_ready(&self) {
        for name in ["deployment/trainmesh-controller", "deployment/trainmesh-webhook"] {
            let rollout = self.namespace.kubectl(&["rollout", "status", name, "--timeout=300s"], "");
            assert!(rollout.status.success(), "{} {}\n{}", rollout.stdout, rollout.stderr, self.state());
        }
    }

    /// As [`Release::wait_until_ready`], and waits until the replaced pods, which drain, are deleted.
    pub fn wait_until_rolled_out(&self) {
        self.wait_until_ready();
        eventually(TIMEOUT, "the replaced pods are deleted", || {
            let pods = self.namespace.pods("app.kubernetes.io/name=trainmesh");
            let terminating = pods.iter().filter(|pod| !pod["metadata"]["deletionTimestamp"].is_null()).count();
            if terminating == 0 { Ok(()) } else { Err(format!("{terminating} pods are terminating")) }
        });
    }

    /// Lists the pods of a component.
    pub fn pods(&self, component: &str) -> Vec<Value> {
        self.namespace.pods(&format!("app.kubernetes.io/component={component}"))
    }

    /// Runs `helm test`.
    pub fn test(&self) {
        self.run(&["test", NAME, "--timeout=300s"]);
    }

    /// Uninstalls the release.
    pub fn uninstall(&self) {
        self.run(&["uninstall", NAME]);
    }

    /// Returns the user name of a component's service account, for `kubectl --as`.
    pub fn account(&self, component: &str) -> String {
        format!("system:serviceaccount:{}:trainmesh-{component}", self.namespace.name)
    }

    fn helm(&self, command: &str, version: Version, values: &[&str]) {
        let (sets, chart) = (values.iter().flat_map(|value| ["--set", value]), version.chart());
        let chart = chart.to_str().expect("the path is UTF-8");
        self.run(&[&[command, NAME, chart], &sets.collect::<Vec<_>>()[..]].concat());
    }

    fn run(&self, arguments: &[&str]) {
        let output = helm(self.helm, &[arguments, &["--namespace", &self.namespace.name]].concat());
        let _ = output.unwrap_or_else(|error| panic!("{} {arguments:?}: {error}", self.helm));
    }

    /// Returns pods, events and logs, for the message of a failed test.
    fn state(&self) -> String {
        let pods = self.namespace.kubectl(&["get", "pods,events"], "").stdout;
        let logs = ["controller", "webhook"].map(|component| {
            let selector = format!("app.kubernetes.io/component={component}");
            self.namespace.kubectl(&["logs", "--prefix", "--tail=20", "-l", &selector], "").stdout
        });
        pods + &logs.concat()
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        // The test may have uninstalled the release, and an error here must not replace the failure of the test.
        let _ = helm(self.helm, &["uninstall", NAME, "--ignore-not-found", "--namespace", &self.namespace.name]);
    }
}

/// Runs Helm and returns its standard output, or its standard error if it fails.
pub fn helm(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        // Ignores the repositories and plugins of the user.
        .envs(["HELM_CONFIG_HOME", "HELM_DATA_HOME", "HELM_CACHE_HOME"].map(|name| (name, crate::scratch())))
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}: run this under `tests/cluster/cluster with chart --`"));
    let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}
