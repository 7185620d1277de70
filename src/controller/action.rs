//! Performs an action in a container and classifies its outcome.
//!
//! The outcome is only a hint: terminating a proxy may also cut the connection that reports it, so success can look
//! like failure and vice versa. Only the pod's status shows that a container has terminated. Each action runs within
//! one timeout and leaves nothing behind.

mod connect_error;
mod exec;
mod forward;

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client};
use thiserror::Error;
use tokio::time::Instant;

use super::text::printable;
use trainmesh_core::lifecycle::{Action, AttemptOutcome, AttemptResult};

/// Maximum size of a container's response in bytes. A command that terminates a container writes a few lines; an
/// unlimited response would be read at the expense of other pods.
const MAX_RESPONSE: usize = 64 * 1024;
/// Maximum length of the recorded detail in bytes.
const MAX_DETAIL: usize = 1024;

/// A container of a pod.
#[derive(Clone, Copy, Debug)]
pub struct ContainerRef<'a> {
    /// Namespace of the pod.
    pub namespace: &'a str,
    /// Name of the pod.
    pub pod: &'a str,
    /// Name of the container.
    pub container: &'a str,
}

/// Performs `action` within `limit`.
pub async fn perform(client: Client, target: ContainerRef<'_>, action: &Action, limit: Duration) -> AttemptOutcome {
    let pods: Api<Pod> = Api::namespaced(client, target.namespace);
    let deadline = Instant::now() + limit;
    match action {
        Action::Exec { argv } => exec::run(&pods, target, argv, deadline).await,
        Action::Post { port, path } => forward::post(&pods, target, *port, path, deadline).await,
    }
}

/// The response exceeds [`MAX_RESPONSE`].
#[derive(Debug, Error)]
#[error("the response exceeds {} KiB", MAX_RESPONSE / 1024)]
struct ResponseTooLong;

fn outcome(result: AttemptResult, detail: impl AsRef<str>) -> AttemptOutcome {
    AttemptOutcome { result, detail: printable(detail.as_ref().trim_end(), MAX_DETAIL) }
}

/// Returns the outcome of a truncated response. It does not show whether the container terminates, so the next method
/// is due immediately; unlike a timeout, the action does not count as slow.
fn response_too_long(what: &str) -> AttemptOutcome {
    outcome(AttemptResult::Failed, format!("{what}: {ResponseTooLong}"))
}

/// Returns the outcome of a connection that timed out. The apiserver's own timeout for a kubelet is much longer.
fn connect_timeout() -> AttemptOutcome {
    outcome(AttemptResult::Unreachable, "the node's kubelet did not respond in time")
}
