//! `trainmesh webhook` as a process: its first line, its sources, its signals, its exit codes.

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
use crate::until;
use crate::world::{Pair, review};

/// A process that is killed with the test.
pub(crate) struct Process {
    child: Child,
    log: Option<BufReader<ChildStderr>>,
    pair: Pair,
    _folder: TempDir,
}

impl Process {
    pub(crate) fn start(api: &Apiserver, arguments: &[&str], config: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let pair = Pair::lasting(1);
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let binary = std::env::var("TRAINMESH_BIN");
        let mut command = Command::new(binary.as_deref().unwrap_or(env!("CARGO_BIN_EXE_trainmesh")));
        command.env_clear();
        // glibc keeps what was freed in an arena for each thread; the shipped binary has one heap.
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

    /// The addresses that the first line tells: of the calls, and of the plain port.
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

    /// The certificate that it serves.
    pub(crate) fn root(&self) -> CertificateDer<'static> {
        self.pair.der.clone()
    }

    /// Its process ID.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    fn signal(&self) {
        assert!(Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap().success());
    }

    async fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        until("the process ends", || {
            status = self.child.try_wait().unwrap();
            let ended = status.is_some();
            async move { ended }
        })
        .await;
        status.unwrap()
    }

    fn rest_of_log(&mut self) -> String {
        let mut text = String::new();
        self.log.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
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

pub(crate) async fn ready(admin: SocketAddr) {
    until("ready", || async { client::get(admin, "/readyz").await.is_ok_and(|reply| reply.status == 200) }).await;
}

#[tokio::test]
async fn it_serves_a_cluster_and_ends_in_good_order() {
    let api = apiserver::start(None).await;
    let mut process = Process::start(&api, &["--drain", "0s", "--log-level", "debug"], None);
    let (listen, admin) = process.addresses().await;
    ready(admin).await;
    let mut connection = client::connect(listen, &process.pair.der, &[&TLS13]).await.unwrap();
    for (namespace, status, lookups) in [("team-a", 200, 0), ("late", 200, 1), ("late", 200, 2), ("gone", 500, 2)] {
        let reply = post(&mut connection, "/mutate", &review(namespace)).await;
        assert_eq!(reply.status, status, "{namespace}: {reply:?}");
        assert_eq!(reply.body.contains("JSONPatch"), status == 200);
        assert_eq!(api.lookups.load(Ordering::Relaxed), lookups, "{namespace}");
    }
    process.signal();
    assert_eq!(process.ended().await.code(), Some(0));
    let log = process.rest_of_log();
    let reviewed = log.lines().find(|line| line.contains("reviewed")).expect(&log);
    let event: Value = serde_json::from_str(reviewed).unwrap();
    assert_eq!((event["uid"].as_str(), event["namespace"].as_str()), (Some("0b4c"), Some("team-a")), "{reviewed}");
    assert!(event["microseconds"].is_u64() && event["rules"].is_string() && event["owner"].is_string(), "{reviewed}");
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    let api = apiserver::start(None).await;
    let mut process = Process::start(&api, &["--drain", "10m"], None);
    let (_, admin) = process.addresses().await;
    ready(admin).await;
    process.signal();
    until("not ready", || async { client::get(admin, "/readyz").await.is_ok_and(|reply| reply.status == 503) }).await;
    process.signal();
    assert_eq!(process.ended().await.code(), Some(2));
}

#[tokio::test]
async fn a_bad_config_map_keeps_it_from_being_ready() {
    let api = apiserver::start(Some("kind: [")).await;
    let mut process = Process::start(&api, &[], None);
    let (_, admin) = process.addresses().await;
    until("the configuration is missing, and nothing else", || async {
        client::get(admin, "/readyz").await.is_ok_and(|reply| reply.body == "not ready: configuration\n")
    })
    .await;
    until("it is counted", || async {
        let metrics = client::get(admin, "/metrics").await.unwrap();
        metrics.body.contains("trainmesh_config_reloads_total{result=\"refused\"} 1\n")
    })
    .await;
}

#[tokio::test]
async fn a_bad_file_ends_it_and_is_named() {
    let api = apiserver::start(None).await;
    let mut process = Process::start(&api, &[], Some("kind: ["));
    assert_eq!(process.ended().await.code(), Some(2));
    let log = process.rest_of_log();
    assert!(log.contains("config.yaml is refused"), "{log}");
}
