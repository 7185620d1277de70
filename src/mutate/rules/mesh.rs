//! The mesh rules: a training pod and its istio-proxy start in order and keep out of each other's way.

pub(super) mod hold;
pub(super) mod native;
pub(super) mod traffic;

use json_patch::jsonptr::PointerBuf;

/// The JSON pointer of annotation `key`.
fn annotation_pointer(key: &str) -> String {
    PointerBuf::from_tokens(["metadata", "annotations", key]).to_string()
}

/// The JSON pointer of label `key`.
fn label_pointer(key: &str) -> String {
    PointerBuf::from_tokens(["metadata", "labels", key]).to_string()
}
