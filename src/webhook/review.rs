//! What the apiserver asks: the request of an admission review, `admission.k8s.io/v1`.
//!
//! What a decision does not need (`oldObject`, `userInfo`, `options`) is skipped while it is read; the object is read
//! once, into the JSON that the engine works on.

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

/// The only version that the apiserver of a supported Kubernetes sends.
pub(super) const API_VERSION: &str = "admission.k8s.io/v1";
pub(super) const KIND: &str = "AdmissionReview";

/// The request of an admission review.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Incoming {
    api_version: String,
    kind: String,
    request: Option<Review>,
}

impl Review {
    /// Reads the body of a call.
    pub fn parse(body: &[u8]) -> Result<Self, ReviewError> {
        let Incoming { api_version, kind, request } = serde_json::from_slice(body).map_err(ReviewError::Malformed)?;
        if api_version != API_VERSION || kind != KIND {
            return Err(ReviewError::OtherKind { api_version, kind });
        }
        request.ok_or(ReviewError::NoRequest)
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

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn review(pointer: &str, value: Value) -> Vec<u8> {
        let mut review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u-1", "operation": "CREATE", "namespace": "team-a", "dryRun": false,
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"}, "subResource": null,
            "object": {"spec": {}}, "oldObject": null, "options": {}}});
        *review.pointer_mut(pointer).unwrap() = value;
        serde_json::to_vec(&review).unwrap()
    }

    #[rstest]
    #[case::new("/request/dryRun", json!(true), Some("team-a"))]
    #[case::update("/request/operation", json!("UPDATE"), None)]
    #[case::delete("/request/operation", json!("DELETE"), None)]
    #[case::connect("/request/operation", json!("CONNECT"), None)]
    #[case::subresource("/request/subResource", json!("binding"), None)]
    #[case::empty_subresource("/request/subResource", json!(""), Some("team-a"))]
    #[case::another_resource("/request/resource/resource", json!("jobs"), None)]
    #[case::pods_of_another_group("/request/resource/group", json!("metrics.k8s.io"), None)]
    fn only_new_pods_are_ours(#[case] pointer: &str, #[case] value: Value, #[case] namespace: Option<&str>) {
        let review = Review::parse(&review(pointer, value)).unwrap();
        assert_eq!(review.uid, "u-1");
        assert_eq!(review.new_pod().unwrap().map(|new| new.namespace), namespace);
    }

    #[rstest]
    #[case::not_an_object("", json!("AdmissionReview"), "the body is not an admission review")]
    #[case::another_version("/apiVersion", json!("admission.k8s.io/v1beta1"), "found admission.k8s.io/v1beta1 AdmissionReview")]
    #[case::another_kind("/kind", json!("Pod"), "found admission.k8s.io/v1 Pod")]
    #[case::no_request("/request", json!(null), "has no request")]
    #[case::no_uid("/request/uid", json!(null), "the body is not an admission review")]
    #[case::unknown_operation("/request/operation", json!("PATCH"), "the body is not an admission review")]
    #[case::no_object("/request/object", json!(null), "has no object")]
    #[case::no_namespace("/request/namespace", json!(""), "has no namespace")]
    fn anything_else_is_refused(#[case] pointer: &str, #[case] value: Value, #[case] expected: &str) {
        let review = Review::parse(&review(pointer, value));
        let error = review.and_then(|review| review.new_pod().map(|_| ())).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }

    #[test]
    fn what_is_not_json_is_refused() {
        assert!(matches!(Review::parse(b"{\"apiVersion\": "), Err(ReviewError::Malformed(_))));
    }
}
