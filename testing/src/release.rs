//! One installation of the chart.

pub mod doctor;

use std::process::Command;
use std::sync::Once;

use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard};

use crate::cluster::{Cluster, Namespace, PATIENCE, eventually};

/// The chart.
pub const CHART: &str = "charts/trainmesh";
/// The environment variable that names another program than the one under test: `make attack` passes the shipped one.
pub const PROGRAM: &str = "TRAINMESH_PROGRAM";
const NAME: &str = "trainmesh";
/// A namespace in which only pods of the restricted level are made.
const RESTRICTED: [(&str, &str); 2] =
    [("pod-security.kubernetes.io/enforce", "restricted"), ("pod-security.kubernetes.io/warn", "restricted")];

/// The chart, installed; uninstalled when it is dropped.
pub struct Release {
    /// Helm 3 or 4.
    helm: &'static str,
    /// Where it is installed.
    pub home: Namespace,
    _alone: MutexGuard<'static, ()>,
}

impl Release {
    /// Where the pods find the program that is tested.
    const IMAGE: [&str; 2] = ["image.repository=trainmesh.test/trainmesh,image.tag=test", "image.pullPolicy=Never"];

    /// Installs the chart with these values; nobody waits for its pods.
    pub fn install(helm: &'static str, values: &[&str]) -> Self {
        // tokio's guard can be sent between threads, so that tests can share a release.
        static ALONE: Mutex<()> = Mutex::const_new(());
        let release = Self { helm, home: Cluster::get().namespace(&RESTRICTED), _alone: ALONE.blocking_lock() };
        release.helm(&["install"], values);
        release
    }

    /// As [`Release::install`], with the program that is tested; returns when all pods are ready.
    pub fn started(values: &[&str]) -> Self {
        let release = Self::starting(values);
        release.ready();
        release
    }

    /// As [`Release::started`]; nobody waits for its pods.
    pub fn starting(values: &[&str]) -> Self {
        // Made once: the makers of one image stand in each other's way.
        static IMAGE: Once = Once::new();
        let program = std::env::var(PROGRAM).unwrap_or_else(|_| crate::program().display().to_string());
        IMAGE.call_once(|| Cluster::get().image("trainmesh:test", &program));
        Self::install("helm", &[&Self::IMAGE, values].concat())
    }

    /// Upgrades it to the program that is tested, with these values.
    pub fn upgrade(&self, values: &[&str]) {
        self.helm(&["upgrade"], &[&Self::IMAGE, values].concat());
    }

    /// Waits until every pod of the newest template is ready, and the others are gone.
    pub fn ready(&self) {
        for name in ["deployment/trainmesh-controller", "deployment/trainmesh-webhook"] {
            let rolled = self.home.kubectl(&["rollout", "status", name, "--timeout=180s"], "");
            assert!(rolled.status.success(), "{} {}\n{}", rolled.stdout, rolled.stderr, self.state());
        }
    }

    /// As [`Release::ready`], and waits for the end of the pods that were replaced: they drain.
    pub fn settled(&self) {
        self.ready();
        eventually(PATIENCE, "the pods that were replaced are gone", || {
            let pods = self.home.pods("app.kubernetes.io/name=trainmesh");
            let ending = pods.iter().filter(|pod| !pod["metadata"]["deletionTimestamp"].is_null()).count();
            if ending == 0 { Ok(()) } else { Err(format!("{ending} are not")) }
        });
    }

    /// The pods of a component.
    pub fn pods(&self, component: &str) -> Vec<Value> {
        self.home.pods(&format!("app.kubernetes.io/component={component}"))
    }

    /// Runs the chart's own test.
    pub fn test(&self) {
        self.run(&["test", NAME, "--timeout=120s"]);
    }

    /// Uninstalls it.
    pub fn uninstall(&self) {
        self.run(&["uninstall", NAME]);
    }

    /// The account of a component, as `kubectl --as` wants it.
    pub fn account(&self, component: &str) -> String {
        format!("system:serviceaccount:{}:trainmesh-{component}", self.home.name)
    }

    fn helm(&self, command: &[&str], values: &[&str]) {
        let sets = values.iter().flat_map(|value| ["--set", value]);
        self.run(&[command, &[NAME, CHART], &sets.collect::<Vec<_>>()].concat());
    }

    fn run(&self, arguments: &[&str]) {
        let output = helm(self.helm, &[arguments, &["--namespace", &self.home.name]].concat());
        let _ = output.unwrap_or_else(|complaint| panic!("{} {arguments:?}: {complaint}", self.helm));
    }

    /// What a person would look at when it does not start.
    fn state(&self) -> String {
        let pods = self.home.kubectl(&["get", "pods,events"], "").stdout;
        let logs = ["controller", "webhook"].map(|component| {
            let selector = format!("app.kubernetes.io/component={component}");
            self.home.kubectl(&["logs", "--prefix", "--tail=20", "-l", &selector], "").stdout
        });
        pods + &logs.concat()
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        // A test that fails must say why; one that has uninstalled it has nothing left to do here.
        let _ = helm(self.helm, &["uninstall", NAME, "--ignore-not-found", "--namespace", &self.home.name]);
    }
}

/// What Helm prints, or what it complains of where it fails.
pub fn helm(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        // It must find no repositories or plugins of the person who runs this.
        .envs(["HELM_CONFIG_HOME", "HELM_DATA_HOME", "HELM_CACHE_HOME"].map(|name| (name, crate::scratch())))
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}: run this under `tests/cluster/cluster with chart --`"));
    let text = |bytes| String::from_utf8(bytes).expect("Helm prints UTF-8");
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}
