//! Classifies errors of the apiserver, or of the kubelet behind it, when it rejects a connection to a container.

use kube::Error;
use kube::client::UpgradeConnectionError;

use super::outcome;
use trainmesh_core::error::chain;
use trainmesh_core::lifecycle::{AttemptOutcome, AttemptResult};

/// Messages of the kubelet if a container, or the sandbox of its pod, is not running, and of the apiserver if the pod
/// has no such container.
const NOT_RUNNING: [&str; 3] = ["container not found", "pod not found", "is not valid for pod"];
/// Messages of the apiserver if it cannot reach the kubelet.
const NO_KUBELET: [&str; 2] = ["error dialing backend", "error trying to reach service"];

/// Classifies an error received instead of a stream. The message can be empty: Kubernetes 1.36 returns none if only
/// `create` is forbidden, so the finding `Forbidden` names the permission itself.
pub(super) fn classify(error: &Error) -> AttemptOutcome {
    let (code, message, about_pod) = match error {
        Error::Api(status) => {
            let kind = status.details.as_ref().map(|details| details.kind.as_str());
            (status.code, status.message.clone(), kind == Some("pods"))
        }
        Error::UpgradeConnection(UpgradeConnectionError::ProtocolSwitch(status)) => {
            (status.as_u16(), status.to_string(), false)
        }
        other => return outcome(AttemptResult::Failed, chain(other)),
    };
    let matches_any = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
    let result = match code {
        401 | 403 => AttemptResult::Forbidden,
        404 if about_pod => AttemptResult::PodGone,
        // From the kubelet: it has no such pod, or not yet after a restart.
        404 => AttemptResult::ContainerGone,
        _ if matches_any(&NOT_RUNNING) => AttemptResult::ContainerGone,
        502..=504 => AttemptResult::Unreachable,
        _ if matches_any(&NO_KUBELET) => AttemptResult::Unreachable,
        _ => AttemptResult::Failed,
    };
    outcome(result, message)
}

#[cfg(test)]
mod tests {
    use kube::core::Status;
    use kube::core::response::StatusSummary;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    /// Responses of Kubernetes 1.36; `kind` is that of the status details.
    #[rstest]
    #[case::no_pod(404, "pods \"a\" not found", Some("pods"), AttemptResult::PodGone)]
    #[case::unknown_to_the_kubelet(404, "pod does not exist", None, AttemptResult::ContainerGone)]
    #[case::container_terminated(500, "container not found (\"istio-proxy\")", None, AttemptResult::ContainerGone)]
    #[case::sandbox_gone(500, "pod not found (\"a_team-a\")", None, AttemptResult::ContainerGone)]
    #[case::no_such_container(400, "container x is not valid for pod a", None, AttemptResult::ContainerGone)]
    #[case::not_scheduled(400, "pod a does not have a host assigned", None, AttemptResult::Failed)]
    #[case::forbidden(403, "pods \"a\" is forbidden: ", Some("pods"), AttemptResult::Forbidden)]
    #[case::denied_by_a_policy(403, "admission webhook \"p\" denied the request", None, AttemptResult::Forbidden)]
    #[case::kubelet_down(
        500,
        "error dialing backend: dial tcp 198.51.100.2:10250: connect: connection refused",
        None,
        AttemptResult::Unreachable
    )]
    #[case::gateway(502, "", None, AttemptResult::Unreachable)]
    #[case::overloaded(429, "too many requests", None, AttemptResult::Failed)]
    fn classifies_errors(
        #[case] code: u16,
        #[case] message: &str,
        #[case] kind: Option<&str>,
        #[case] expected: AttemptResult,
    ) {
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
