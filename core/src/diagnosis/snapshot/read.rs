//! Reads bounded values from the JSON of an object.

use jiff::Timestamp;
use serde_json::Value;

/// Maximum length of a message in bytes. The scheduler's message for a cluster with many taints fits.
pub(in crate::diagnosis) const MAX_TEXT: usize = 512;
/// Maximum length of a name in bytes: that of a DNS subdomain in Kubernetes.
pub(in crate::diagnosis) const MAX_NAME: usize = 253;

/// Returns the text at `pointer`, truncated to [`MAX_TEXT`] bytes; `None` if it is empty or no text.
pub(super) fn text(object: &Value, pointer: &str) -> Option<Box<str>> {
    bounded(object.pointer(pointer)?, MAX_TEXT)
}

/// Returns the name at `pointer`, truncated to [`MAX_NAME`] bytes; `None` if it is empty or no text.
pub(super) fn name(object: &Value, pointer: &str) -> Option<Box<str>> {
    bounded(object.pointer(pointer)?, MAX_NAME)
}

/// Returns `value` as a name.
pub(super) fn as_name(value: &Value) -> Option<Box<str>> {
    bounded(value, MAX_NAME)
}

/// Returns the time at `pointer`; `None` for times before 1970, which stand for an absent time.
pub(super) fn time(object: &Value, pointer: &str) -> Option<Timestamp> {
    let time: Timestamp = object.pointer(pointer)?.as_str()?.parse().ok()?;
    (time > Timestamp::UNIX_EPOCH).then_some(time)
}

/// Returns the first `limit` items of the list at `pointer`.
pub(super) fn items<'a>(object: &'a Value, pointer: &str, limit: usize) -> impl Iterator<Item = &'a Value> {
    object.pointer(pointer).and_then(Value::as_array).into_iter().flatten().take(limit)
}

fn bounded(value: &Value, limit: usize) -> Option<Box<str>> {
    let text = value.as_str()?;
    (!text.is_empty()).then(|| truncate(text, limit))
}

/// Returns the first `limit` bytes of `text`, cut between characters.
pub(in crate::diagnosis) fn truncate(text: &str, limit: usize) -> Box<str> {
    text[..text.floor_char_boundary(limit)].into()
}
