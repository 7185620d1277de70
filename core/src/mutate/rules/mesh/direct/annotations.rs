//! The capture annotations of a pod, parsed like in Istio's injector, which rejects the pod if one is invalid.

use super::Refusal;
use crate::cidr::Cidr;
use crate::hint::one_of;
use crate::keys;
use crate::mutate::Reason;
use crate::own_keys::{excerpt, parse_port};
use crate::pod::Pod;

/// Value with which an annotation selects everything.
const ALL: &str = "*";
/// Interception modes that the injector accepts (istio/istio 0098d99, `pkg/kube/inject/validate.go`).
const MODES: [&str; 3] = ["REDIRECT", "TPROXY", "NONE"];

/// The capture annotations of a pod.
pub(super) struct CaptureAnnotations<'a> {
    /// Inbound ports that are captured.
    pub(super) included_ports: Option<Selection<u16>>,
    /// Inbound ports that are not captured.
    pub(super) excluded_ports: Vec<u16>,
    /// IP ranges to which connections are captured.
    pub(super) included_ranges: Option<Selection<Cidr>>,
    /// Text of the annotation with the IP ranges to which connections are not captured.
    pub(super) excluded_text: &'a str,
    /// IP ranges to which connections are not captured.
    pub(super) excluded_ranges: Vec<Cidr>,
}

/// Value of an annotation that lists what is captured.
#[derive(PartialEq)]
pub(super) enum Selection<T> {
    /// Everything.
    All,
    /// The listed items.
    Only(Vec<T>),
}

impl<'a> CaptureAnnotations<'a> {
    /// Parses the annotations of `pod`.
    ///
    /// # Errors
    /// Returns a refusal that names the first invalid annotation.
    pub(super) fn parse(pod: Pod<'a>) -> Result<Self, Refusal> {
        list(pod, keys::EXCLUDE_OUTBOUND_PORTS, "a port", parse_port)?;
        if let Some(mode) = pod.annotation(keys::INTERCEPTION_MODE).filter(|mode| !MODES.contains(mode)) {
            return Err(invalid(keys::INTERCEPTION_MODE, mode, &one_of(&MODES)));
        }
        Ok(Self {
            included_ports: selection(pod, keys::INCLUDE_INBOUND_PORTS, "a port", parse_port)?,
            excluded_ports: list(pod, keys::EXCLUDE_INBOUND_PORTS, "a port", parse_port)?,
            included_ranges: selection(pod, keys::INCLUDE_OUTBOUND_RANGES, "a CIDR", Cidr::parse)?,
            excluded_text: pod.annotation(keys::EXCLUDE_OUTBOUND_RANGES).unwrap_or_default(),
            excluded_ranges: list(pod, keys::EXCLUDE_OUTBOUND_RANGES, "a CIDR", Cidr::parse)?,
        })
    }
}

fn selection<T>(
    pod: Pod<'_>,
    key: &str,
    expected: &str,
    parse: fn(&str) -> Option<T>,
) -> Result<Option<Selection<T>>, Refusal> {
    match pod.annotation(key) {
        None => Ok(None),
        Some(ALL) => Ok(Some(Selection::All)),
        Some(_) => list(pod, key, expected, parse).map(|items| Some(Selection::Only(items))),
    }
}

fn list<T>(pod: Pod<'_>, key: &str, expected: &str, parse: fn(&str) -> Option<T>) -> Result<Vec<T>, Refusal> {
    let text = pod.annotation(key).unwrap_or_default();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let item = |item| parse(item).ok_or_else(|| invalid(key, item, expected));
    text.split(',').map(item).collect()
}

fn invalid(key: &str, item: &str, expected: &str) -> Refusal {
    let name = key.strip_prefix(keys::TRAFFIC_PREFIX).unwrap_or(key);
    let problem = format!("{name} contains {:?}: expected {expected}", excerpt(item));
    Refusal::of_annotation(Reason::CaptureAnnotationInvalid, key, problem)
}
