//! Properties of the parser of the annotation `proxy.istio.io/config`.

use serde_json::{Value, json};
use trainmesh_core::mutate::proxy_config::{Hold, hold};
use trainmesh_core::yaml;

const FIELD: &str = "holdApplicationUntilProxyStarts";

/// Asserts the properties of `text` and returns true if the hold was merged into it.
///
/// - The merged text is the old one with a single insertion.
/// - It parses to the old value with the hold, and needs no second merge.
pub fn check(text: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(text) else { return false };
    let Hold::Missing { merged } = hold(Some(text)) else { return false };
    assert!(is_single_insertion(text, &merged), "{text:?} became {merged:?}");
    assert_eq!(hold(Some(&merged)), Hold::True, "{merged:?}");
    let mut expected = match yaml::parse(text) {
        Ok(Value::Null) => json!({}),
        read => read.unwrap_or_else(|error| panic!("merged into text that does not parse: {error}: {text:?}")),
    };
    expected[FIELD] = true.into();
    assert_eq!(yaml::parse(&merged), Ok(expected), "{merged:?}");
    true
}

/// Returns true if `merged` is `text` with a single insertion.
pub fn is_single_insertion(text: &str, merged: &str) -> bool {
    let head = text.bytes().zip(merged.bytes()).take_while(|(old, new)| old == new).count();
    let tail = text.bytes().rev().zip(merged.bytes().rev()).take_while(|(old, new)| old == new).count();
    merged.len() > text.len() && head + tail >= text.len()
}
