//! Does one thing to one container, and says what came of it in the classes that the decision knows.
//!
//! What came of it is advice: quitting kills the messenger, so that success may look like failure, and the other way
//! round. Whether a container has ended is read from the pod's status alone. Everything happens within one time-out, and
//! nothing is left running behind it.

mod exec;
mod forward;
mod refusal;

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client};
use thiserror::Error;
use tokio::time::Instant;

use super::text::printable;
use trainmesh_core::lifecycle::{Action, Attempt, AttemptResult};

/// How much a container may answer: a command that terminates it writes a few lines. More is read for as long as the
/// container writes, at the expense of every other pod.
const LONGEST_ANSWER: usize = 64 * 1024;
/// How much of an answer is kept.
const DETAIL: usize = 1024;

/// The container that something is done to.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The pod's namespace.
    pub namespace: &'a str,
    /// The pod's name.
    pub pod: &'a str,
    /// The container's name.
    pub container: &'a str,
}

/// Does `action` within `limit`.
pub async fn perform(client: Client, place: Place<'_>, action: &Action, limit: Duration) -> Attempt {
    let pods: Api<Pod> = Api::namespaced(client, place.namespace);
    let deadline = Instant::now() + limit;
    match action {
        Action::Exec { argv } => exec::run(&pods, place, argv, deadline).await,
        Action::Post { port, path } => forward::post(&pods, place, *port, path, deadline).await,
    }
}

/// More was answered than anybody needs.
#[derive(Debug, Error)]
#[error("the answer is longer than {} KiB", LONGEST_ANSWER / 1024)]
struct TooLong;

fn attempt(result: AttemptResult, detail: impl AsRef<str>) -> Attempt {
    Attempt { result, detail: printable(detail.as_ref().trim_end(), DETAIL) }
}

/// The answer was cut off. It says nothing about the effect, so that the next method is due at once; unlike an attempt
/// that timed out, this one did not take long.
fn cut_off(what: &str) -> Attempt {
    attempt(AttemptResult::Failed, format!("{what}: {TooLong}"))
}

/// The way to the container was not there in time. The apiserver waits for a node's kubelet much longer than this.
fn no_way() -> Attempt {
    attempt(AttemptResult::Unreachable, "the node's kubelet did not answer in time")
}
