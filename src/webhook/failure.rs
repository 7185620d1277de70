//! Errors of admission calls.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use thiserror::Error;

use super::excerpt::excerpt;
use super::limits::MAX_BODY;
use crate::cluster::namespaces::LookupError;
use trainmesh_core::error::chain;
use trainmesh_core::webhook::handler::EncodeError;
use trainmesh_core::webhook::review::ReviewError;

/// Reason why a call gets no review response. The apiserver treats all reasons alike and applies the `failurePolicy`.
#[derive(Debug, Error)]
pub(super) enum Failure {
    /// The client sent an invalid review.
    #[error(transparent)]
    Review(#[from] ReviewError),
    /// The body exceeds the limit.
    #[error("the body exceeds {MAX_BODY} bytes")]
    TooLarge,
    /// The body did not arrive in time: the client is slow or sends nothing.
    #[error("the body did not arrive in time")]
    BodyTimeout,
    /// The body was incomplete when others needed its memory.
    #[error("the body arrived too slowly and was evicted to free memory")]
    Evicted,
    /// Complete bodies use the entire memory budget.
    #[error("too many large reviews in progress")]
    Overloaded,
    /// The client disconnected, or its body is malformed.
    #[error("could not read the body")]
    Body(#[source] axum::Error),
    /// The apiserver's timeout is about to expire.
    #[error("no response in time")]
    DeadlineExceeded,
    /// The labels of the namespace could not be read.
    #[error("could not read the labels of the namespace")]
    Namespace(#[from] LookupError),
    /// No configuration has been read yet, or only invalid ones.
    #[error("no valid configuration has been read yet")]
    NoConfiguration,
    /// The response could not be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The review panicked.
    #[error("the review panicked")]
    Panicked,
}

impl Failure {
    /// Returns the name of the failure in metrics.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Review(error) if error.is_too_complex() => "too_complex",
            Self::Review(_) => "malformed",
            Self::TooLarge => "too_large",
            Self::BodyTimeout => "body_timeout",
            Self::Evicted => "body_evicted",
            Self::Overloaded => "overloaded",
            Self::Body(_) => "body_failed",
            Self::DeadlineExceeded => "deadline",
            Self::Namespace(LookupError::Limited) => "lookup_limited",
            Self::Namespace(_) => "namespace_failed",
            Self::NoConfiguration => "no_configuration",
            Self::Encode(_) => "failed",
            Self::Panicked => "panicked",
        }
    }

    /// Returns the message for the caller. It leaves out the apiserver's error about a namespace, because any client
    /// can reach the port.
    fn public_message(&self) -> String {
        match self {
            Self::Namespace(_) => self.to_string(),
            _ => excerpt(&chain(self)),
        }
    }

    /// Returns true if the rest of the body may still arrive, so that the connection cannot be reused.
    fn closes_connection(&self) -> bool {
        matches!(
            self,
            Self::TooLarge
                | Self::BodyTimeout
                | Self::Evicted
                | Self::Overloaded
                | Self::Body(_)
                | Self::DeadlineExceeded
        )
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Review(error) if error.is_too_complex() => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Review(_) | Self::Body(_) => StatusCode::BAD_REQUEST,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::Evicted | Self::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            Self::DeadlineExceeded | Self::Namespace(_) | Self::NoConfiguration | Self::Encode(_) | Self::Panicked => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = (self.status(), format!("{}\n", self.public_message())).into_response();
        if self.closes_connection() {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
