//! One bounded question to the apiserver, and how it may fail.

use std::time::Duration;

use thiserror::Error;

/// How long one answer may take. An apiserver that needs longer is asked again later.
const PATIENCE: Duration = Duration::from_secs(10);

/// A question that was not answered.
#[derive(Debug, Error)]
pub enum AskError {
    /// The apiserver said no, or nothing that makes sense.
    #[error("could not {step}")]
    Failed {
        /// What was asked.
        step: String,
        /// What came back.
        source: Box<kube::Error>,
    },
    /// It said nothing.
    #[error("could not {0} within {PATIENCE:?}")]
    TimedOut(String),
    /// What it said is not understood. Of the text nothing is told: it may hold a key.
    #[error("could not {0}: the answer is malformed")]
    Malformed(String),
}

/// What became of a write that holds only for the version that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It is written.
    Done,
    /// Somebody else has written, or deleted, since: read again.
    Outdated,
}

/// Waits for an answer.
pub(super) async fn answer<T>(step: &str, asked: impl Future<Output = kube::Result<T>>) -> Result<T, AskError> {
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(AskError::Failed { step: step.to_owned(), source: Box::new(error) }),
        Err(_) => Err(AskError::TimedOut(step.to_owned())),
    }
}

/// Waits for an answer; `None` where there is no such object.
pub(super) async fn found<T>(step: &str, asked: impl Future<Output = kube::Result<T>>) -> Result<Option<T>, AskError> {
    match answer(step, asked).await {
        Ok(answer) => Ok(Some(answer)),
        Err(AskError::Failed { source, .. }) if source_is(&source, kube::core::Status::is_not_found) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Waits for a write that holds only for the version that was read.
pub(super) async fn written<T>(step: &str, asked: impl Future<Output = kube::Result<T>>) -> Result<Written, AskError> {
    let outdated = |status: &kube::core::Status| status.is_conflict() || status.is_not_found();
    match answer(step, asked).await {
        Ok(_) => Ok(Written::Done),
        Err(AskError::Failed { source, .. }) if source_is(&source, outdated) => Ok(Written::Outdated),
        Err(error) => Err(error),
    }
}

fn source_is(error: &kube::Error, is: impl Fn(&kube::core::Status) -> bool) -> bool {
    matches!(error, kube::Error::Api(status) if is(status))
}
