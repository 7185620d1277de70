//! The admission server over real TLS on loopback, without a cluster: the tests act as the apiserver and as hostile
//! clients.
//!
//! No test relies on fixed sleeps: each waits for a condition, for at most [`TIMEOUT`].

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failing setup function fails its test")]

mod apiserver;
mod claims;
mod client;
mod client_ca;
mod connection_floods;
mod connections;
mod drain;
mod limits;
mod listen;
mod memory;
mod missing_namespace;
mod process;
mod reload;
mod reviews;
mod test_server;

use std::time::Duration;

/// Time to wait for a condition; generous, for busy machines.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Polls `condition` until it is true.
async fn wait_until<F: Future<Output = bool>>(description: &str, mut condition: impl FnMut() -> F) {
    let polling = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(TIMEOUT, polling).await.is_ok(), "timed out waiting until {description}");
}
