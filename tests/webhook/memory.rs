//! Memory use under hostile reviews: the peak that `/proc` reports under a bounded, concurrent mix.
//!
//! The bound is generous, because this measures a debug build with another allocator. `TRAINMESH_BIN` names another
//! binary, such as the one in the image, and `TRAINMESH_MAX_RSS` its bound in MiB:
//!
//! ```text
//! cargo build --profile dist --locked --target x86_64-unknown-linux-musl
//! TRAINMESH_BIN=target/x86_64-unknown-linux-musl/dist/trainmesh TRAINMESH_MAX_RSS=96 \
//!   cargo test --locked --test webhook memory:: -- --nocapture
//! ```

use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::version::TLS13;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::apiserver;
use crate::client::{self, Tls, post};
use crate::process::{Process, wait_ready};
use crate::test_server::{review, review_of};

/// Bound for a debug build with glibc and one arena, in MiB.
pub(crate) const DEBUG_BOUND: u64 = 128;
/// Number of connections that send part of a body and then stall.
const STALLED: usize = 512;
/// Number of concurrent senders for each body, and of repetitions.
const SENDERS: usize = 3;
const REPETITIONS: usize = 4;

/// Returns the most expensive bodies, for their length or within the limits.
fn bodies() -> Vec<Vec<u8>> {
    let list = |item: &Value, count: usize| Value::from(vec![item.clone(); count]);
    let pod = |spec: Value| review_of("team-a", &json!({"metadata": {}, "spec": spec}));
    let empty = json!({});
    let accelerators = json!({"resources": {"limits": {"nvidia.com/gpu": 8}}});
    let chain = (0..60).fold(json!({}), |inner, _| json!({"": inner}));
    let chains = json!({"metadata": {"other": list(&chain, 800)}, "spec": {"containers": [{"name": "a"}]}});
    let mut fabric = json!({"metadata": {"labels": {"trainmesh.dev/fabric": "gke-rdma-gib-a3u"}},
        "spec": {"containers": list(&accelerators, 12_000)}});
    let many = review_of("team-a", &fabric);
    fabric["spec"]["containers"] = list(&accelerators, 64);
    fabric["metadata"]["annotations"] = json!({"networking.gke.io/interfaces": format!("[{}0]", "0,".repeat(100_000))});
    vec![
        review_of("team-a", &vec![0; 2_097_000].into()),
        pod(json!({"containers": [{"name": "a", "env": list(&json!({"name": "A"}), 236_000)}]})),
        pod(json!({"containers": list(&empty, 600_000)})),
        pod(json!({"containers": list(&empty, 49_900)})),
        pod(json!({"containers": [{"name": "a", "env": list(&json!({"name": "A", "value": "1"}), 16_600)}]})),
        pod(json!({"containers": [{"name": "a"}], "volumes": list(&empty, 49_900)})),
        review_of(
            "team-a",
            &json!({"spec": {"containers": [{"name": "a"}]}, "status": {"containerStatuses": list(&empty, 49_900)}}),
        ),
        review_of(
            "team-a",
            &json!({"metadata": {"a": "x".repeat(4_100_000)}, "spec": {"containers": [{"name": "a"}]}}),
        ),
        review_of("team-a", &chains),
        many,
        review_of("team-a", &fabric),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_under_hostile_reviews_is_bounded() {
    let api = apiserver::start(None).await;
    let mut process = Process::start(&api, &["--drain", "0s"], None);
    let (listen, admin) = process.addresses().await;
    wait_ready(admin).await;
    let root = process.root();
    let mut stalled = Vec::new();
    for _ in 0..STALLED {
        stalled.extend(stall(listen, &root).await);
    }
    let mut senders = tokio::task::JoinSet::new();
    for body in bodies().into_iter().map(std::sync::Arc::<[u8]>::from) {
        for _ in 0..SENDERS {
            let (body, root) = (std::sync::Arc::clone(&body), root.clone());
            senders.spawn(async move {
                for _ in 0..REPETITIONS {
                    send(listen, &root, &body).await;
                }
            });
        }
    }
    senders.join_all().await;
    drop(stalled);
    let peak = peak_mib(process.id());
    let mut connection = client::connect(listen, &root, &[&TLS13]).await.unwrap();
    assert_eq!(post(&mut connection, "/mutate", &review("team-a")).await.status, 200, "the server must keep serving");
    eprintln!("peak: {peak} MiB");
    let bound = std::env::var("TRAINMESH_MAX_RSS").map_or(DEBUG_BOUND, |bound| bound.parse().unwrap());
    assert!(peak <= bound, "{peak} MiB exceed the bound of {bound} MiB");
}

/// Opens a connection and sends all but the last byte of a body of 255 KiB.
async fn stall(listen: SocketAddr, root: &CertificateDer<'static>) -> Option<Tls> {
    let length = 255 * 1024;
    let mut connection = client::connect(listen, root, &[&TLS13]).await.ok()?;
    let head = format!("POST /mutate?timeout=30s HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
    connection.write_all(head.as_bytes()).await.ok()?;
    // If the server stops reading, the rest of the body stays with the sender.
    let body = vec![b' '; length - 1];
    let _ = tokio::time::timeout(Duration::from_millis(50), connection.write_all(&body)).await;
    Some(connection)
}

/// Sends `body`, and waits for the reply or until the connection closes.
async fn send(listen: SocketAddr, root: &CertificateDer<'static>, body: &[u8]) {
    let Ok(connection) = client::connect(listen, root, &[&TLS13]).await else { return };
    let (mut reading, mut writing) = tokio::io::split(connection);
    let sending = async { drop(client::send(&mut writing, "/mutate?timeout=10s", body).await) };
    let mut first = [0];
    let replying = tokio::time::timeout(Duration::from_secs(30), reading.read(&mut first));
    let _ = tokio::join!(sending, replying);
}

/// Returns the peak resident memory of process `id`, in MiB.
pub(crate) fn peak_mib(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}
