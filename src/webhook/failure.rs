//! Why a call gets no review back.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use thiserror::Error;

use super::answer::WriteError;
use super::body::LIMIT;
use super::review::ReviewError;
use crate::cluster::namespaces::LookupError;
use crate::error::chain;

/// Why a call gets no review back. The apiserver treats all of them alike: it does what the `failurePolicy` says.
#[derive(Debug, Error)]
pub(super) enum Failure {
    /// The client's fault.
    #[error(transparent)]
    Review(#[from] ReviewError),
    /// The client's fault.
    #[error("the body is longer than {LIMIT} bytes")]
    TooLarge,
    /// The client went away, or its body is broken.
    #[error("could not read the body")]
    Body(#[source] axum::Error),
    /// The time that the apiserver gives is about to end.
    #[error("no answer in time")]
    Deadline,
    /// We know too little of the namespace.
    #[error("the labels of the namespace are not known")]
    Namespace(#[from] LookupError),
    /// No source has offered a configuration, or a bad one alone.
    #[error("no configuration is in force yet")]
    NoConfiguration,
    /// Our fault.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Our fault.
    #[error("the review ended in a panic")]
    Panicked,
}

impl Failure {
    /// The name, as metrics write it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Review(_) => "malformed",
            Self::TooLarge => "too_large",
            Self::Body(_) => "body_failed",
            Self::Deadline => "deadline",
            Self::Namespace(_) => "namespace_failed",
            Self::NoConfiguration => "no_configuration",
            Self::Write(_) => "failed",
            Self::Panicked => "panicked",
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Review(_) | Self::Body(_) => StatusCode::BAD_REQUEST,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Deadline | Self::Namespace(_) | Self::NoConfiguration | Self::Write(_) | Self::Panicked => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = (self.status(), format!("{}\n", chain(&self))).into_response();
        if matches!(self, Self::TooLarge | Self::Body(_) | Self::Deadline) {
            // The rest of the body may still come: no call can follow it on this connection.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
