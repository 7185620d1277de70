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
use tokio::time::Instant;

use crate::lifecycle::{Action, Attempt, AttemptResult};

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

fn attempt(result: AttemptResult, detail: impl Into<String>) -> Attempt {
    Attempt { result, detail: detail.into().trim_end().to_owned() }
}

/// The way to the container was not there in time. The apiserver waits for a node's kubelet much longer than this.
fn no_way() -> Attempt {
    attempt(AttemptResult::Unreachable, "the node's kubelet did not answer in time")
}
