//! What it means that the apiserver, or the kubelet through it, refuses the way to a container.

use kube::Error;
use kube::client::UpgradeConnectionError;

use super::attempt;
use trainmesh_core::error::chain;
use trainmesh_core::lifecycle::{Attempt, AttemptResult};

/// What the kubelet says of a container, or of the sandbox of its pod, that does not run.
const NOT_RUNNING: [&str; 3] = ["container not found", "pod not found", "is not valid for pod"];
/// What the apiserver says when it has no way to the kubelet.
const NO_KUBELET: [&str; 2] = ["error dialing backend", "error trying to reach service"];

/// The class of `error`, which came instead of a stream. Which right is missing where one is says the decision: the
/// apiserver's own message is empty where `create` alone is missing (seen on Kubernetes 1.36).
pub(super) fn classify(error: &Error) -> Attempt {
    let (code, message, about_pod) = match error {
        Error::Api(status) => {
            let kind = status.details.as_ref().map(|details| details.kind.as_str());
            (status.code, status.message.clone(), kind == Some("pods"))
        }
        Error::UpgradeConnection(UpgradeConnectionError::ProtocolSwitch(status)) => {
            (status.as_u16(), status.to_string(), false)
        }
        other => return attempt(AttemptResult::Failed, chain(other)),
    };
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
    let result = match code {
        401 | 403 => AttemptResult::Forbidden,
        404 if about_pod => AttemptResult::PodGone,
        // The kubelet's own: it does not know the pod, or not yet after a restart.
        404 => AttemptResult::ContainerGone,
        _ if says(&NOT_RUNNING) => AttemptResult::ContainerGone,
        502..=504 => AttemptResult::Unreachable,
        _ if says(&NO_KUBELET) => AttemptResult::Unreachable,
        _ => AttemptResult::Failed,
    };
    attempt(result, message)
}

#[cfg(test)]
mod tests {
    use kube::core::Status;
    use kube::core::response::StatusSummary;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    /// As Kubernetes 1.36 answers; `kind` is that of the answer's details.
    #[rstest]
    #[case::no_pod(404, "pods \"a\" not found", Some("pods"), AttemptResult::PodGone)]
    #[case::not_known_to_the_kubelet(404, "pod does not exist", None, AttemptResult::ContainerGone)]
    #[case::ended(500, "container not found (\"istio-proxy\")", None, AttemptResult::ContainerGone)]
    #[case::sandbox_gone(500, "pod not found (\"a_team-a\")", None, AttemptResult::ContainerGone)]
    #[case::no_such_container(400, "container x is not valid for pod a", None, AttemptResult::ContainerGone)]
    #[case::not_scheduled(400, "pod a does not have a host assigned", None, AttemptResult::Failed)]
    #[case::forbidden(403, "pods \"a\" is forbidden: ", Some("pods"), AttemptResult::Forbidden)]
    #[case::by_a_policy(403, "admission webhook \"p\" denied the request", None, AttemptResult::Forbidden)]
    #[case::kubelet_down(
        500,
        "error dialing backend: dial tcp 198.51.100.2:10250: connect: connection refused",
        None,
        AttemptResult::Unreachable
    )]
    #[case::gateway(502, "", None, AttemptResult::Unreachable)]
    #[case::overloaded(429, "too many requests", None, AttemptResult::Failed)]
    fn refusals(#[case] code: u16, #[case] message: &str, #[case] kind: Option<&str>, #[case] expected: AttemptResult) {
        let details = kind.map(|kind| serde_json::from_value(json!({"kind": kind})).unwrap());
        let status = Status {
            status: Some(StatusSummary::Failure),
            code,
            message: message.to_owned(),
            details,
            ..Status::default()
        };
        let found = classify(&Error::Api(Box::new(status)));
        assert_eq!(found.result, expected, "{found:?}");
        assert!(found.detail.contains(message.trim_end()), "{found:?}");
    }
}
