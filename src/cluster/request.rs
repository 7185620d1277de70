//! Bounded apiserver requests and their errors.

use std::time::Duration;

use kube::core::Status;
use thiserror::Error;

use trainmesh_core::objects::WriteOutcome;

/// Time limit of a request.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);
/// Start of the apiserver's message for an object that an admission webhook denies, with any status code from 400.
const WEBHOOK: &str = "admission webhook \"";
/// Follows the resource and the name in the message for a request that the apiserver denies.
const FORBIDDEN: &str = " is forbidden: ";
/// Follows in the message for an object that a policy denies, by default with the status code 422.
const POLICY: &str = "ValidatingAdmissionPolicy '";
/// Parts of the text that follows in the message for a client without the permission. Quotas have other texts.
const UNAUTHORIZED: (&str, &str) = ("User \"", "\" cannot ");
/// Cause in the response to a request that creates an object in a namespace that is being deleted.
const TERMINATING: &str = "NamespaceTerminating";

/// A request that failed.
#[derive(Debug, Error)]
pub enum RequestError {
    /// The apiserver rejected the request, or the response is not usable.
    #[error("could not {step}")]
    Failed {
        /// The request, as a verb phrase.
        step: String,
        /// Cause.
        source: Box<kube::Error>,
    },
    /// No response in time.
    #[error("could not {0} within {TIMEOUT:?}")]
    TimedOut(String),
    /// The response is malformed. Its content is not repeated, because it may contain a key.
    #[error("could not {0}: the response is malformed")]
    Malformed(String),
    /// A list contains an object that exceeds the limit of a page.
    #[error("could not {0}: an object exceeds 32 MiB")]
    TooLarge(String),
}

/// Why the apiserver denies a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denial {
    /// The client lacks the permission.
    Permission,
    /// A quota or policy denies the object, such as one of its namespace.
    Policy,
}

impl RequestError {
    /// Returns why the apiserver denies the request; `None` if it does not, or only because the namespace is being deleted.
    pub(crate) fn denial(&self) -> Option<Denial> {
        let Self::Failed { source, .. } = self else { return None };
        let kube::Error::Api(status) = &**source else { return None };
        denial(status)
    }

    /// Returns true if the namespace of an object to create does not exist, or is being deleted.
    pub(crate) fn is_namespace_deleted(&self) -> bool {
        self.has_status(|status| is_not_found(status) || is_terminating(status))
    }

    /// Returns true if the apiserver forbids the request.
    pub(crate) fn is_forbidden(&self) -> bool {
        self.has_status(Status::is_forbidden)
    }

    /// Returns the request, as a verb phrase.
    pub(super) fn step(&self) -> &str {
        match self {
            Self::Failed { step, .. } | Self::TimedOut(step) | Self::Malformed(step) | Self::TooLarge(step) => step,
        }
    }

    /// Returns true if an object of this name exists.
    pub(super) fn is_already_exists(&self) -> bool {
        self.has_status(Status::is_already_exists)
    }

    /// Returns true if the apiserver does not have the object or kind.
    pub(super) fn is_not_found(&self) -> bool {
        self.has_status(is_not_found)
    }

    /// Returns the description of the request if the apiserver forbids it.
    pub(super) fn forbidden_step(self) -> Result<String, Self> {
        let is_forbidden = self.is_forbidden();
        match self {
            Self::Failed { step, .. } if is_forbidden => Ok(step),
            error => Err(error),
        }
    }

    fn has_status(&self, status: impl Fn(&Status) -> bool) -> bool {
        matches!(self, Self::Failed { source, .. } if matches!(&**source, kube::Error::Api(found) if status(found)))
    }
}

/// Returns true if the apiserver does not have the object or kind. It responds in plain text if it does not serve the API
/// group; `Status::is_not_found` of kube 5.0 does not recognize that.
pub(super) fn is_not_found(status: &Status) -> bool {
    status.code == 404
}

/// Returns true if the namespace of an object to create is being deleted.
fn is_terminating(status: &Status) -> bool {
    status.details.as_ref().is_some_and(|details| details.causes.iter().any(|cause| cause.reason == TERMINATING))
}

fn denial(status: &Status) -> Option<Denial> {
    if status.code < 500 && status.message.starts_with(WEBHOOK) && status.message.contains(" denied the request") {
        return Some(Denial::Policy);
    }
    let (_, text) = status.message.split_once(FORBIDDEN).unwrap_or_default();
    if text.starts_with(POLICY) {
        Some(Denial::Policy)
    } else if status.code != 403 || is_terminating(status) {
        None
    } else if text.starts_with(UNAUTHORIZED.0) && text.contains(UNAUTHORIZED.1) {
        Some(Denial::Permission)
    } else {
        Some(Denial::Policy)
    }
}

/// Sends a request and waits for the response.
pub(super) async fn send<T>(step: &str, request: impl Future<Output = kube::Result<T>>) -> Result<T, RequestError> {
    match tokio::time::timeout(TIMEOUT, request).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(RequestError::Failed { step: step.to_owned(), source: Box::new(error) }),
        Err(_) => Err(RequestError::TimedOut(step.to_owned())),
    }
}

/// Requests an object; `None` if it does not exist.
pub(super) async fn find<T>(
    step: &str,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<Option<T>, RequestError> {
    match send(step, request).await {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.has_status(is_not_found) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Sends a write that succeeds only on the version that was read.
pub(super) async fn write<T>(
    step: &str,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<WriteOutcome, RequestError> {
    let outdated = |status: &Status| status.is_conflict() || is_not_found(status);
    match send(step, request).await {
        Ok(_) => Ok(WriteOutcome::Written),
        Err(error) if error.has_status(outdated) => Ok(WriteOutcome::Conflict),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case::no_permission(
        r#"podgroups.scheduling.k8s.io is forbidden: User "system:serviceaccount:t:c" cannot create resource "podgroups" in API group "scheduling.k8s.io" in the namespace "a""#,
        json!({}),
        Some(Denial::Permission)
    )]
    #[case::quota(
        r#"podgroups.scheduling.k8s.io "g" is forbidden: exceeded quota: q, requested: count/podgroups.scheduling.k8s.io=1, used: count/podgroups.scheduling.k8s.io=0, limited: count/podgroups.scheduling.k8s.io=0"#,
        json!({}),
        Some(Denial::Policy)
    )]
    #[case::policy(
        r#"podgroups.scheduling.k8s.io "g" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: User must label it"#,
        json!({}),
        Some(Denial::Policy)
    )]
    #[case::policy_with_default_reason(
        r#"podgroups.scheduling.k8s.io "g" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: User must label it"#,
        json!({"reason": "Invalid", "code": 422}),
        Some(Denial::Policy)
    )]
    #[case::webhook(
        r#"admission webhook "validation.gatekeeper.sh" denied the request: [labels] you must provide labels"#,
        json!({"reason": ""}),
        Some(Denial::Policy)
    )]
    #[case::webhook_with_default_code(
        r#"admission webhook "validate.kyverno.svc-fail" denied the request: no labels"#,
        json!({"reason": null, "code": 400}),
        Some(Denial::Policy)
    )]
    #[case::webhook_that_quotes_the_apiserver(
        r#"admission webhook "a.b.c" denied the request: pods is forbidden: User "u" cannot list resource "pods""#,
        json!({}),
        Some(Denial::Policy)
    )]
    #[case::unknown_text("no", json!({"reason": ""}), Some(Denial::Policy))]
    #[case::webhook_that_fails(
        r#"failed calling webhook "a.b.c": failed to call webhook: Post "https://a": dial tcp: connection refused"#,
        json!({"reason": "InternalError", "code": 500}),
        None
    )]
    #[case::namespace_is_deleted(
        r#"podgroups.scheduling.k8s.io "g" is forbidden: unable to create new content in namespace a because it is being terminated"#,
        json!({"details": {"causes": [{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]}}),
        None
    )]
    #[case::invalid("PodGroup is invalid", json!({"reason": "Invalid", "code": 422}), None)]
    fn permissions_and_policies_are_distinguished(
        #[case] message: &str,
        #[case] overrides: Value,
        #[case] expected: Option<Denial>,
    ) {
        let mut status = json!({"code": 403, "reason": "Forbidden", "message": message});
        json_patch::merge(&mut status, &overrides);
        assert_eq!(denial(&serde_json::from_value(status).unwrap()), expected);
    }
}
