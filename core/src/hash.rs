//! A short, stable hash of JSON values that does not depend on the order of keys.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Number of hexadecimal digits of a hash: 48 bits distinguish more configurations than any cluster has.
const DIGITS: usize = 12;

/// Returns the first 12 hexadecimal digits of SHA-256 over the compact JSON of `value` with sorted keys.
#[must_use]
pub fn of(value: &Value) -> String {
    of_bytes(sorted(value).to_string().as_bytes())
}

/// Returns the first 12 hexadecimal digits of SHA-256 over `bytes`.
#[must_use]
pub fn of_bytes(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let mut text = String::with_capacity(2 * digest.len());
    for byte in digest {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.truncate(DIGITS);
    text
}

/// Returns true if `text` has the format of a hash.
#[must_use]
pub fn is_hash(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let ordered: BTreeMap<&String, &Value> = map.iter().collect();
            Value::Object(ordered.into_iter().map(|(key, item)| (key.clone(), sorted(item))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::of;

    #[test]
    fn the_order_of_keys_does_not_matter() {
        assert_eq!(of(&json!({"a": 1, "b": {"c": 2, "d": 3}})), of(&json!({"b": {"d": 3, "c": 2}, "a": 1})));
        assert_ne!(of(&json!({"a": [1, 2]})), of(&json!({"a": [2, 1]})));
    }

    #[test]
    fn a_hash_is_twelve_digits_of_sha256() {
        // printf '{}' | sha256sum
        assert_eq!(of(&json!({})), "44136fa355b3");
    }
}
