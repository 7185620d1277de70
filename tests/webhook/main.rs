//! The admission server over real TLS on loopback, without a cluster: the tests play apiserver, good and bad.
//!
//! Nothing here sleeps for luck: a test waits for a condition, within [`PATIENCE`].

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a helper that fails fails its test")]

mod apiserver;
mod calls;
mod client;
mod client_ca;
mod connections;
mod drain;
mod floods;
mod homeless;
mod limits;
mod memory;
mod process;
mod renewal;
mod world;

use std::time::Duration;

/// How long a test waits for what must happen: long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Asks `holds` again and again until it is true.
async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let asking = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, asking).await.is_ok(), "never: {what}");
}
