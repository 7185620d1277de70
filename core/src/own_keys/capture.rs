//! Values of the annotations that configure which traffic Envoy captures, parsed like in Istio's injector, which rejects a
//! pod if one is invalid (istio/istio 0098d99, `pkg/kube/inject/validate.go`).

use std::borrow::Cow;

use super::parse_port;
use crate::cidr::Cidr;
use crate::hint::one_of;
use crate::keys;

/// Values of [`keys::INTERCEPTION_MODE`].
const INTERCEPTION_MODES: [&str; 3] = ["REDIRECT", "TPROXY", "NONE"];

/// An invalid value, or item of a list.
pub(crate) struct InvalidItem<'a> {
    pub(crate) text: &'a str,
    pub(crate) expected: Cow<'static, str>,
}

/// Parses a list of ports.
pub(crate) fn ports(text: &str) -> Result<Vec<u16>, InvalidItem<'_>> {
    list(text, "a port", parse_port)
}

/// Parses a list of IP ranges.
pub(crate) fn ranges(text: &str) -> Result<Vec<Cidr>, InvalidItem<'_>> {
    list(text, "a CIDR", Cidr::parse)
}

/// Validates an interception mode.
pub(crate) fn check_mode(text: &str) -> Result<(), InvalidItem<'_>> {
    if INTERCEPTION_MODES.contains(&text) {
        return Ok(());
    }
    Err(InvalidItem { text, expected: one_of(&INTERCEPTION_MODES).into() })
}

/// Returns the first item of the annotation `key` with which the injector rejects the pod.
pub(super) fn rejected_item<'a>(key: &str, value: &'a str) -> Option<InvalidItem<'a>> {
    match key {
        keys::INTERCEPTION_MODE => check_mode(value).err(),
        keys::INCLUDE_INBOUND_PORTS | keys::INCLUDE_OUTBOUND_RANGES if value == keys::CAPTURE_ALL => None,
        // The injector removes the blanks around a list of ports, but not those around ranges.
        keys::INCLUDE_INBOUND_PORTS | keys::EXCLUDE_INBOUND_PORTS | keys::EXCLUDE_OUTBOUND_PORTS => {
            ports(value.trim()).err()
        }
        keys::INCLUDE_OUTBOUND_RANGES | keys::EXCLUDE_OUTBOUND_RANGES => ranges(value).err(),
        _ => None,
    }
}

/// Parses the items of a list. An empty text is an empty list.
fn list<'a, T>(text: &'a str, expected: &'static str, parse: fn(&str) -> Option<T>) -> Result<Vec<T>, InvalidItem<'a>> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let item = |text: &'a str| {
        parse(text).ok_or_else(|| {
            let has_blanks = parse(text.trim()).is_some();
            let expected = if has_blanks { format!("{expected} without blanks").into() } else { expected.into() };
            InvalidItem { text, expected }
        })
    };
    text.split(',').map(item).collect()
}
