//! The response of an admission review, `admission.k8s.io/v1`.
//!
//! The type of the client library is not used, because it serializes a patch as a list of numbers, which the apiserver
//! rejects.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use serde::{Serialize, Serializer};

use super::review::{API_VERSION, KIND};

/// Admission response. It always admits: the type cannot represent a denial.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AdmissionResponse<'a> {
    uid: &'a str,
    allowed: AlwaysTrue,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<ByteString>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    audit_annotations: Option<&'a BTreeMap<&'static str, String>>,
}

/// Serializes as `true`.
#[derive(Clone, Copy, Debug, Default)]
struct AlwaysTrue;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AdmissionReview<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: &'a AdmissionResponse<'a>,
}

impl<'a> AdmissionResponse<'a> {
    /// Admits the object of review `uid` unchanged.
    pub(super) fn unchanged(uid: &'a str) -> Self {
        Self { uid, ..Self::default() }
    }

    /// Adds warnings for the user and annotations for the audit log.
    pub(super) fn with_detail(self, warnings: &'a [String], audit: &'a BTreeMap<&'static str, String>) -> Self {
        Self { warnings, audit_annotations: (!audit.is_empty()).then_some(audit), ..self }
    }

    /// Adds a JSON patch and its type. The apiserver rejects one without the other.
    pub(super) fn with_patch(self, patch: Vec<u8>) -> Self {
        Self { patch_type: Some("JSONPatch"), patch: Some(ByteString(patch)), ..self }
    }

    /// Serializes the response.
    pub(super) fn to_body(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&AdmissionReview { api_version: API_VERSION, kind: KIND, response: self })
    }
}

impl Serialize for AlwaysTrue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(response: &AdmissionResponse<'_>, fields: &Value) {
        let expected = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": fields});
        let body: Value = serde_json::from_slice(&response.to_body().unwrap()).unwrap();
        assert_eq!(body, expected);
    }

    #[test]
    fn an_unchanged_response_has_neither_patch_nor_type() {
        check(&AdmissionResponse::unchanged("u-1"), &json!({"uid": "u-1", "allowed": true}));
        let empty = BTreeMap::new();
        check(&AdmissionResponse::unchanged("u-1").with_detail(&[], &empty), &json!({"uid": "u-1", "allowed": true}));
    }

    #[test]
    fn a_patch_is_base64_encoded_and_has_a_type() {
        // printf '[{"op":"add"}]' | base64
        let expected =
            json!({"uid": "u-1", "allowed": true, "patchType": "JSONPatch", "patch": "W3sib3AiOiJhZGQifV0="});
        check(&AdmissionResponse::unchanged("u-1").with_patch(br#"[{"op":"add"}]"#.to_vec()), &expected);
    }

    #[test]
    fn warnings_and_audit_annotations_are_included() {
        let warnings = ["check this".to_owned()];
        let audit = BTreeMap::from([("mode", "audit".to_owned())]);
        let expected =
            json!({"uid": "u", "allowed": true, "warnings": ["check this"], "auditAnnotations": {"mode": "audit"}});
        check(&AdmissionResponse::unchanged("u").with_detail(&warnings, &audit), &expected);
    }
}
