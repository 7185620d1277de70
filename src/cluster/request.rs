//! Bounded apiserver requests and their errors.

use std::time::Duration;

use kube::core::Status;
use thiserror::Error;

use trainmesh_core::objects::WriteOutcome;

/// Time limit of a request.
const TIMEOUT: Duration = Duration::from_secs(10);

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

impl RequestError {
    /// Returns true if the apiserver forbids the request.
    pub(crate) fn is_forbidden(&self) -> bool {
        self.has_status(Status::is_forbidden)
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
