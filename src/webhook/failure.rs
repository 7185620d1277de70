//! Why a call gets no review back.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use thiserror::Error;

use super::excerpt::excerpt;
use super::limits::LONGEST;
use crate::cluster::namespaces::LookupError;
use trainmesh_core::error::chain;
use trainmesh_core::webhook::answer::WriteError;
use trainmesh_core::webhook::review::ReviewError;

/// Why a call gets no review back. The apiserver treats all of them alike: it does what the `failurePolicy` says.
#[derive(Debug, Error)]
pub(super) enum Failure {
    /// The client's fault.
    #[error(transparent)]
    Review(#[from] ReviewError),
    /// The client's fault.
    #[error("the body is longer than {LONGEST} bytes")]
    TooLarge,
    /// The body did not arrive in time: the client is slow, or sends nothing.
    #[error("the body did not arrive in time")]
    Receipt,
    /// The body was incomplete when others needed its memory.
    #[error("the body arrived too slowly, and others needed its memory")]
    Evicted,
    /// Complete bodies hold all the memory that there is for bodies.
    #[error("too many large reviews at a time")]
    Overloaded,
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
            Self::Review(error) if error.is_too_complex() => "too_complex",
            Self::Review(_) => "malformed",
            Self::TooLarge => "too_large",
            Self::Receipt => "body_timeout",
            Self::Evicted => "body_evicted",
            Self::Overloaded => "overloaded",
            Self::Body(_) => "body_failed",
            Self::Deadline => "deadline",
            Self::Namespace(LookupError::Limited) => "lookup_limited",
            Self::Namespace(_) => "namespace_failed",
            Self::NoConfiguration => "no_configuration",
            Self::Write(_) => "failed",
            Self::Panicked => "panicked",
        }
    }

    /// What the caller is told. What the apiserver said of a namespace is not for whoever reaches the port.
    fn text(&self) -> String {
        match self {
            Self::Namespace(_) => self.to_string(),
            _ => excerpt(&chain(self)),
        }
    }

    /// Whether the rest of the body may still come, so that no call can follow it on this connection.
    fn leaves_a_rest(&self) -> bool {
        matches!(
            self,
            Self::TooLarge | Self::Receipt | Self::Evicted | Self::Overloaded | Self::Body(_) | Self::Deadline
        )
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Review(error) if error.is_too_complex() => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Review(_) | Self::Body(_) => StatusCode::BAD_REQUEST,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Receipt => StatusCode::REQUEST_TIMEOUT,
            Self::Evicted | Self::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            Self::Deadline | Self::Namespace(_) | Self::NoConfiguration | Self::Write(_) | Self::Panicked => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = (self.status(), format!("{}\n", self.text())).into_response();
        if self.leaves_a_rest() {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
