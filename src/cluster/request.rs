//! One bounded request to the apiserver, and how it may fail.

use std::time::Duration;

use kube::core::Status;
use thiserror::Error;

use trainmesh_core::objects::WriteOutcome;

/// How long one answer may take. An apiserver that needs longer is asked again later.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A request that was not answered.
#[derive(Debug, Error)]
pub enum RequestError {
    /// The apiserver rejected it, or its answer makes no sense.
    #[error("could not {step}")]
    Failed {
        /// What was requested.
        step: String,
        /// What came back.
        source: Box<kube::Error>,
    },
    /// Nothing came back.
    #[error("could not {0} within {TIMEOUT:?}")]
    TimedOut(String),
    /// What came back is malformed. The error repeats none of it: it may hold a key.
    #[error("could not {0}: the answer is malformed")]
    Malformed(String),
}

impl RequestError {
    /// Whether the apiserver forbids the request.
    pub(super) fn is_forbidden(&self) -> bool {
        self.is(Status::is_forbidden)
    }

    /// What was requested, where the apiserver forbids it.
    pub(super) fn forbidden_step(self) -> Result<String, Self> {
        let is_forbidden = self.is_forbidden();
        match self {
            Self::Failed { step, .. } if is_forbidden => Ok(step),
            error => Err(error),
        }
    }

    fn is(&self, status: impl Fn(&Status) -> bool) -> bool {
        matches!(self, Self::Failed { source, .. } if matches!(&**source, kube::Error::Api(found) if status(found)))
    }
}

/// Waits for an answer.
pub(super) async fn send<T>(step: &str, request: impl Future<Output = kube::Result<T>>) -> Result<T, RequestError> {
    match tokio::time::timeout(TIMEOUT, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(RequestError::Failed { step: step.to_owned(), source: Box::new(error) }),
        Err(_) => Err(RequestError::TimedOut(step.to_owned())),
    }
}

/// Waits for an object; `None` where there is no such object.
pub(super) async fn find<T>(
    step: &str,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<Option<T>, RequestError> {
    match send(step, request).await {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is(Status::is_not_found) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Waits for a write that holds only for the version that was read.
pub(super) async fn write<T>(
    step: &str,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<WriteOutcome, RequestError> {
    let outdated = |status: &Status| status.is_conflict() || status.is_not_found();
    match send(step, request).await {
        Ok(_) => Ok(WriteOutcome::Written),
        Err(error) if error.is(outdated) => Ok(WriteOutcome::Conflict),
        Err(error) => Err(error),
    }
}
