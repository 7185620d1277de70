//! `trainmesh controller` when the namespace of its lease does not exist.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::{apiserver, client, wait_until};

const CONDITION: &str = "the namespace of the lease does not exist";

#[tokio::test]
async fn the_controller_reports_that_its_namespace_is_missing() {
    let api = apiserver::start(None).await;
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, crate::process::kubeconfig(api.address)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_trainmesh"));
    command.env_clear().arg("controller").args(["--admin-listen", "127.0.0.1:0", "--certificates", "none"]);
    command.args(["--log-format", "json", "--namespace", "missing"]).arg("--kubeconfig").arg(kubeconfig);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let (mut log, first) = spawn_blocking(move || {
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        (log, line)
    })
    .await
    .unwrap();
    let event: Value = serde_json::from_str(&first).unwrap();
    let admin: SocketAddr = event["admin"].as_str().unwrap().parse().unwrap();
    wait_until("/readyz reports the missing namespace", || async {
        client::get(admin, "/readyz").await.is_ok_and(|reply| reply.status == 503 && reply.body.contains(CONDITION))
    })
    .await;
    // A candidate retries every second.
    wait_until("the controller has retried", || async { api.leases() >= 3 }).await;
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rest = String::new();
    log.read_to_string(&mut rest).unwrap();
    let lines = rest.lines().filter(|line| line.contains("namespace missing does not exist")).count();
    assert_eq!(lines, 1, "must be logged once, not on each attempt: {rest}");
}
