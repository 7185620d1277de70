//! The request of an admission review, `admission.k8s.io/v1`.
//!
//! Fields that no decision needs (`oldObject`, `userInfo`, `options`, `managedFields`) are skipped during parsing. The
//! object is parsed once, into the JSON that the engine works on, and only up to a node limit, because parsed JSON can
//! take a hundred times the memory of its text.

mod nodes;
mod wire;

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::dns;
use nodes::NodeBudget;

/// API version of reviews. Supported versions of Kubernetes send no other.
pub(super) const API_VERSION: &str = "admission.k8s.io/v1";
pub(super) const KIND: &str = "AdmissionReview";

/// Default limit on the JSON nodes of an object. A large pod, with 500 environment variables and a sidecar, has about
/// 3,000. At about 200 bytes per node, the limit corresponds to 10 MiB.
pub const DEFAULT_NODES: u32 = 50_000;
/// Minimum of the configurable node limit, so that ordinary pods, which have fewer nodes, always pass.
pub const MIN_NODES: u32 = 5_000;
/// Maximum of the configurable node limit. At about 200 bytes per node, a review takes 40 MiB.
pub const MAX_NODES: u32 = 200_000;

/// Maximum length of a UID. The apiserver sends a UUID of 36 characters.
const MAX_UID_LENGTH: usize = 128;

/// The request of an admission review.
#[derive(Debug)]
pub struct Review {
    /// Identifies the review. The response must repeat it.
    pub uid: String,
    /// Operation on the object.
    pub operation: Operation,
    /// Namespace of the object. `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// The object to store. `None` for DELETE.
    object: Option<Value>,
    resource: GroupVersionResource,
    sub_resource: Option<String>,
}

/// Operation on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// The object is created.
    Create,
    /// The object is updated.
    Update,
    /// The object is deleted.
    Delete,
    /// A client connects to a subresource, such as `pods/exec`.
    Connect,
}

/// A pod that is about to be created.
#[derive(Clone, Copy, Debug)]
pub struct NewPod<'a> {
    /// Namespace of the request. The pod's metadata may omit it.
    pub namespace: &'a str,
    /// The pod.
    pub pod: &'a Value,
}

/// Error in the body of a review.
#[derive(Debug, Error)]
pub enum ReviewError {
    /// The body is not JSON or lacks fields of a review.
    #[error("the body is not an admission review")]
    Malformed(#[source] serde_json::Error),
    /// The object exceeds the node limit.
    #[error("the object has more than {0} JSON nodes; --max-review-nodes raises the limit")]
    TooManyNodes(u32),
    /// Lists and objects are nested too deeply.
    #[error("the object is nested more than {} levels deep", nodes::MAX_DEPTH)]
    TooDeep,
    /// The body is another object.
    #[error("expected {API_VERSION} {KIND}, found {api_version} {kind}")]
    OtherKind {
        /// `apiVersion` of the object.
        api_version: String,
        /// `kind` of the object.
        kind: String,
    },
    /// The review has no request.
    #[error("the admission review has no request")]
    NoRequest,
    /// The uid is empty, too long or not printable.
    #[error("the uid is not 1 to {MAX_UID_LENGTH} printable ASCII characters")]
    Uid,
    /// The namespace has an invalid name.
    #[error("the namespace is not a DNS label")]
    Namespace,
    /// The review of a new pod lacks a required field.
    #[error("the review of a new pod has no {0}")]
    Missing(&'static str),
}

#[derive(Debug, Deserialize)]
struct GroupVersionResource {
    #[serde(default)]
    group: String,
    version: String,
    resource: String,
}

impl Review {
    /// Parses the body of a request, with the default node limit.
    pub fn parse(body: &[u8]) -> Result<Self, ReviewError> {
        Self::parse_with_limit(body, DEFAULT_NODES)
    }

    /// Parses the body of a request whose object has at most `limit` nodes.
    pub fn parse_with_limit(body: &[u8], limit: u32) -> Result<Self, ReviewError> {
        let budget = NodeBudget::new(limit);
        let wire::AdmissionReview { api_version, kind, request } = wire::parse(body, &budget)
            .map_err(|error| budget.limit_error().unwrap_or(ReviewError::Malformed(error)))?;
        if api_version != API_VERSION || kind != KIND {
            return Err(ReviewError::OtherKind { api_version, kind });
        }
        let review = request.ok_or(ReviewError::NoRequest)?;
        if !is_uid(&review.uid) {
            return Err(ReviewError::Uid);
        }
        match review.namespace.as_deref() {
            None | Some("") => Ok(review),
            Some(name) if dns::is_label(name) => Ok(review),
            Some(_) => Err(ReviewError::Namespace),
        }
    }

    /// Returns the pod that is about to be created, or `None` for another resource, a subresource or another operation.
    pub fn new_pod(&self) -> Result<Option<NewPod<'_>>, ReviewError> {
        let GroupVersionResource { group, version, resource } = &self.resource;
        let is_pod = (group.as_str(), version.as_str(), resource.as_str()) == ("", "v1", "pods");
        let is_main_resource = self.sub_resource.as_deref().unwrap_or_default().is_empty();
        if !is_pod || !is_main_resource || self.operation != Operation::Create {
            return Ok(None);
        }
        let pod = self.object.as_ref().ok_or(ReviewError::Missing("object"))?;
        let namespace = self.namespace.as_deref().filter(|name| !name.is_empty());
        Ok(Some(NewPod { namespace: namespace.ok_or(ReviewError::Missing("namespace"))?, pod }))
    }
}

impl ReviewError {
    /// Returns true if the object exceeds a limit on its size.
    #[must_use]
    pub fn is_too_complex(&self) -> bool {
        matches!(self, Self::TooManyNodes(_) | Self::TooDeep)
    }
}

fn is_uid(text: &str) -> bool {
    (1..=MAX_UID_LENGTH).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests;
