//! What the apiserver is answered: the response of an admission review, `admission.k8s.io/v1`.
//!
//! An own type: that of the client library writes a patch as a list of numbers, which the apiserver refuses.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use serde::{Serialize, Serializer};

use super::review::{API_VERSION, KIND};

/// What is answered. It always admits: to refuse a pod is not ours, and there is no value here that would.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AdmissionResponse<'a> {
    uid: &'a str,
    allowed: Always,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<ByteString>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    audit_annotations: Option<&'a BTreeMap<&'static str, String>>,
}

/// Serialises as `true`.
#[derive(Clone, Copy, Debug, Default)]
struct Always;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outgoing<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: &'a AdmissionResponse<'a>,
}

impl<'a> AdmissionResponse<'a> {
    /// Admits the object of review `uid` unchanged.
    pub(super) fn unchanged(uid: &'a str) -> Self {
        Self { uid, ..Self::default() }
    }

    /// Adds what the user is told and what the audit log keeps.
    pub(super) fn with_detail(self, warnings: &'a [String], audit: &'a BTreeMap<&'static str, String>) -> Self {
        Self { warnings, audit_annotations: (!audit.is_empty()).then_some(audit), ..self }
    }

    /// Adds the text of a JSON patch. Patch and type go together: the apiserver refuses the one without the other.
    pub(super) fn patched(self, patch: Vec<u8>) -> Self {
        Self { patch_type: Some("JSONPatch"), patch: Some(ByteString(patch)), ..self }
    }

    /// The body of the answer.
    pub(super) fn to_body(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&Outgoing { api_version: API_VERSION, kind: KIND, response: self })
    }
}

impl Serialize for Always {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(admitted: &AdmissionResponse<'_>, response: &Value) {
        let expected = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
        let body: Value = serde_json::from_slice(&admitted.to_body().unwrap()).unwrap();
        assert_eq!(body, expected);
    }

    #[test]
    fn an_answer_without_change_carries_neither_patch_nor_type() {
        check(&AdmissionResponse::unchanged("u-1"), &json!({"uid": "u-1", "allowed": true}));
        let nothing = BTreeMap::new();
        check(&AdmissionResponse::unchanged("u-1").with_detail(&[], &nothing), &json!({"uid": "u-1", "allowed": true}));
    }

    #[test]
    fn a_patch_travels_as_base64_with_its_type() {
        // printf '[{"op":"add"}]' | base64
        let expected =
            json!({"uid": "u-1", "allowed": true, "patchType": "JSONPatch", "patch": "W3sib3AiOiJhZGQifV0="});
        check(&AdmissionResponse::unchanged("u-1").patched(br#"[{"op":"add"}]"#.to_vec()), &expected);
    }

    #[test]
    fn warnings_and_audit_annotations_go_along() {
        let warnings = ["mind this".to_owned()];
        let audit = BTreeMap::from([("mode", "audit".to_owned())]);
        let expected =
            json!({"uid": "u", "allowed": true, "warnings": ["mind this"], "auditAnnotations": {"mode": "audit"}});
        check(&AdmissionResponse::unchanged("u").with_detail(&warnings, &audit), &expected);
    }
}
