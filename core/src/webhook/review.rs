//! What the apiserver asks: the request of an admission review, `admission.k8s.io/v1`.
//!
//! What a decision does not need (`oldObject`, `userInfo`, `options`, `managedFields`) is skipped while it is read; the
//! object is read once, into the JSON that the engine works on, and only up to a number of nodes: JSON of a few bytes can
//! take a hundred times as much memory.

mod nodes;
mod wire;

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::dns;
use nodes::Nodes;

/// The only version that the apiserver of a supported Kubernetes sends.
pub(super) const API_VERSION: &str = "admission.k8s.io/v1";
pub(super) const KIND: &str = "AdmissionReview";

/// How many JSON nodes an object may have unless configured otherwise. A large real pod, with 500 variables and a sidecar,
/// has some 3,000; at some 200 bytes each this many stay below 10 MiB.
pub const DEFAULT_NODES: u32 = 50_000;
/// The fewest nodes that can be configured: no ordinary pod has as many.
pub const MIN_NODES: u32 = 5_000;
/// The most nodes that can be configured: at some 200 bytes each, 40 MiB for one review.
pub const MAX_NODES: u32 = 200_000;

/// The longest uid. The apiserver sends a UUID of 36 characters.
const UID_LIMIT: usize = 128;

/// The request of an admission review.
#[derive(Debug)]
pub struct Review {
    /// Names this review; the answer must repeat it.
    pub uid: String,
    /// What is done to the object.
    pub operation: Operation,
    /// The namespace of the object, absent for objects that have none.
    pub namespace: Option<String>,
    /// The object as it would be stored; absent on DELETE.
    object: Option<Value>,
    resource: GroupVersionResource,
    sub_resource: Option<String>,
}

/// What is done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// It is new.
    Create,
    /// It changes.
    Update,
    /// It goes.
    Delete,
    /// Somebody attaches to it.
    Connect,
}

/// A pod about to be created.
#[derive(Clone, Copy, Debug)]
pub struct NewPod<'a> {
    /// The namespace it is created in. The pod itself may not name it.
    pub namespace: &'a str,
    /// The pod.
    pub pod: &'a Value,
}

/// Why a body is not answered.
#[derive(Debug, Error)]
pub enum ReviewError {
    /// Not JSON, or not the fields of a review.
    #[error("the body is not an admission review")]
    Malformed(#[source] serde_json::Error),
    /// The object has more nodes than allowed.
    #[error("the object has more than {0} JSON nodes; --max-review-nodes raises the limit")]
    TooManyNodes(u32),
    /// Lists and objects are nested more deeply than in any pod.
    #[error("the object is nested more than {} levels deep", nodes::DEPTH)]
    TooDeep,
    /// Some other object.
    #[error("expected {API_VERSION} {KIND}, found {api_version} {kind}")]
    OtherKind {
        /// Its `apiVersion`.
        api_version: String,
        /// Its `kind`.
        kind: String,
    },
    /// The answer to a review, or an empty one.
    #[error("the admission review has no request")]
    NoRequest,
    /// The uid is empty, too long or not printable.
    #[error("the uid is not 1 to {UID_LIMIT} printable ASCII characters")]
    Uid,
    /// No namespace can have this name.
    #[error("the namespace is not a DNS label")]
    Namespace,
    /// The review of a new pod lacks what every new pod has.
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
    /// Reads the body of a call, with the default limit.
    pub fn parse(body: &[u8]) -> Result<Self, ReviewError> {
        Self::parse_within(body, DEFAULT_NODES)
    }

    /// Reads the body of a call whose object has at most `limit` nodes.
    pub fn parse_within(body: &[u8], limit: u32) -> Result<Self, ReviewError> {
        let nodes = Nodes::new(limit);
        let wire::Incoming { api_version, kind, request } =
            wire::read(body, &nodes).map_err(|error| nodes.excess().unwrap_or(ReviewError::Malformed(error)))?;
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

    /// The pod that is about to be created, or none when the review is about anything else: another resource, a
    /// pod's subresource, another operation.
    pub fn new_pod(&self) -> Result<Option<NewPod<'_>>, ReviewError> {
        let GroupVersionResource { group, version, resource } = &self.resource;
        let pods = (group.as_str(), version.as_str(), resource.as_str()) == ("", "v1", "pods");
        let whole = self.sub_resource.as_deref().unwrap_or_default().is_empty();
        if !pods || !whole || self.operation != Operation::Create {
            return Ok(None);
        }
        let pod = self.object.as_ref().ok_or(ReviewError::Missing("object"))?;
        let namespace = self.namespace.as_deref().filter(|name| !name.is_empty());
        Ok(Some(NewPod { namespace: namespace.ok_or(ReviewError::Missing("namespace"))?, pod }))
    }
}

impl ReviewError {
    /// Whether a limit on the object's size was exceeded.
    #[must_use]
    pub fn is_too_complex(&self) -> bool {
        matches!(self, Self::TooManyNodes(_) | Self::TooDeep)
    }
}

fn is_uid(text: &str) -> bool {
    (1..=UID_LIMIT).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests;
