//! `trainmesh webhook` as a process: startup log line, configuration sources, signals and exit codes.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;

use rustls::pki_types::CertificateDer;
use rustls::version::TLS13;
use serde_json::Value;
use tempfile::TempDir;
use tokio::task::spawn_blocking;

use crate::apiserver::{self, Apiserver};
use crate::client::{self, post};
use crate::test_server::{CertificatePair, review};
use crate::wait_until;

/// A server process that is killed when the test ends.
pub(crate) struct Process {
    child: Child,
    log: Option<BufReader<ChildStderr>>,
    pair: CertificatePair,
    _folder: TempDir,
}

impl Process {
    pub(crate) fn start(api: &Apiserver, arguments: &[&str], config: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let pair = CertificatePair::valid_for_days(1);
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let binary = std::env::var("TRAINMESH_BIN");
        let mut command = Command::new(binary.as_deref().unwrap_or(env!("CARGO_BIN_EXE_trainmesh")));
        command.env_clear();
        // glibc keeps freed memory in an arena for each thread; the shipped binary has one heap.
        command.env("MALLOC_ARENA_MAX", "1");
        command.args(["webhook", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-format", "json"]);
        command.arg("--tls-cert").arg(write("tls.crt", &pair.chain)).arg("--tls-key").arg(write("tls.key", &pair.key));
        command.arg("--kubeconfig").arg(write("kubeconfig", &kubeconfig(api.address)));
        if let Some(text) = config {
            command.arg("--config").arg(write("config.yaml", text));
        }
        let mut child = command.args(arguments).stderr(Stdio::piped()).spawn().unwrap();
        let log = child.stderr.take().map(BufReader::new);
        Self { child, log, pair, _folder: folder }
    }

    /// Returns the addresses from the first log line: webhook and admin.
    pub(crate) async fn addresses(&mut self) -> (SocketAddr, SocketAddr) {
        let mut log = self.log.take().unwrap();
        let (log, line) = spawn_blocking(move || {
            let mut line = String::new();
            log.read_line(&mut line).unwrap();
            (log, line)
        })
        .await
        .unwrap();
        self.log = Some(log);
        let event: Value = serde_json::from_str(&line).unwrap();
        let address = |field: &str| event[field].as_str().and_then(|text| text.parse().ok()).expect(&line);
        (address("listen"), address("admin"))
    }

    /// Returns the certificate that the server presents.
    pub(crate) fn root(&self) -> CertificateDer<'static> {
        self.pair.der.clone()
    }

    /// Returns the process ID.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    fn signal(&self) {
        assert!(Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap().success());
    }

    async fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until("the process exits", || {
            status = self.child.try_wait().unwrap();
            let exited = status.is_some();
            async move { exited }
        })
        .await;
        status.unwrap()
    }

    fn remaining_log(&mut self) -> String {
        let mut text = String::new();
        self.log.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn kubeconfig(address: SocketAddr) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
         clusters: [{{name: a, cluster: {{server: 'http://{address}'}}}}]\nusers: [{{name: a, user: {{}}}}]\n"
    )
}

pub(crate) async fn wait_ready(admin: SocketAddr) {
    wait_until("the server is ready", || async {
        client::get(admin, "/readyz").await.is_ok_and(|reply| reply.status == 200)
    })
    .await;
}

#[tokio::test]
async fn serves_reviews_and_shuts_down_gracefully() {
    let api = apiserver::start(None).await;
    let mut process = Process::start(&api, &["--drain", "0s", "--log-level", "debug"], None);
    let (listen, admin) = process.addresses().await;
    wait_ready(admin).await;
    let mut connection = client::connect(listen, &process.pair.der, &[&TLS13]).await.unwrap();
    for (namespace, status, lookups) in [("team-a", 200, 0), ("late", 200, 1), ("late", 200, 2), ("gone", 500, 2)] {
        let reply = post(&mut connection, "/mutate", &review(namespace)).await;
        assert_eq!(reply.status, status, "{namespace}: {reply:?}");
        assert_eq!(reply.body.contains("JSONPatch"), status == 200);
        assert_eq!(api.lookups.load(Ordering::Relaxed), lookups, "{namespace}");
    }
    process.signal();
    assert_eq!(process.wait().await.code(), Some(0));
    let log = process.remaining_log();
    let reviewed = log.lines().find(|line| line.contains("reviewed")).expect(&log);
    let event: Value = serde_json::from_str(reviewed).unwrap();
    assert_eq!((event["uid"].as_str(), event["namespace"].as_str()), (Some("0b4c"), Some("team-a")), "{reviewed}");
    assert!(event["microseconds"].is_u64() && event["rules"].is_string() && event["owner"].is_string(), "{reviewed}");
}

#[tokio::test]
async fn a_second_signal_terminates_immediately() {
    let api = apiserver::start(None).await;
    let mut process = Process::start(&api, &["--drain", "10m"], None);
    let (_, admin) = process.addresses().await;
    wait_ready(admin).await;
    process.signal();
    wait_until("the server is not ready", || async {
        client::get(admin, "/readyz").await.is_ok_and(|reply| reply.status == 503)
    })
    .await;
    process.signal();
    assert_eq!(process.wait().await.code(), Some(2));
}

#[tokio::test]
async fn an_invalid_config_map_prevents_readiness() {
    let api = apiserver::start(Some("kind: [")).await;
    let mut process = Process::start(&api, &[], None);
    let (_, admin) = process.addresses().await;
    wait_until("only the configuration is missing", || async {
        client::get(admin, "/readyz").await.is_ok_and(|reply| reply.body == "not ready: no valid configuration\n")
    })
    .await;
    wait_until("the rejected configuration is counted", || async {
        let metrics = client::get(admin, "/metrics").await.unwrap();
        metrics.body.contains("trainmesh_config_reloads_total{result=\"refused\"} 1\n")
    })
    .await;
}

#[tokio::test]
async fn an_invalid_configuration_file_is_a_startup_error() {
    let api = apiserver::start(None).await;
    let mut process = Process::start(&api, &[], Some("kind: ["));
    assert_eq!(process.wait().await.code(), Some(2));
    let log = process.remaining_log();
    assert!(log.contains("config.yaml is rejected"), "{log}");
}
