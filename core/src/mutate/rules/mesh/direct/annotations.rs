//! The capture annotations of a pod, parsed like in Istio's injector, which rejects the pod if one is invalid.

use super::Refusal;
use crate::cidr::Cidr;
use crate::keys;
use crate::mutate::Reason;
use crate::own_keys::capture::{self, InvalidItem};
use crate::own_keys::excerpt;
use crate::pod::Pod;

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
        list(pod, keys::EXCLUDE_OUTBOUND_PORTS, capture::ports)?;
        if let Some(mode) = pod.annotation(keys::INTERCEPTION_MODE) {
            capture::check_mode(mode).map_err(|found| invalid(keys::INTERCEPTION_MODE, &found))?;
        }
        Ok(Self {
            included_ports: selection(pod, keys::INCLUDE_INBOUND_PORTS, capture::ports)?,
            excluded_ports: list(pod, keys::EXCLUDE_INBOUND_PORTS, capture::ports)?,
            included_ranges: selection(pod, keys::INCLUDE_OUTBOUND_RANGES, capture::ranges)?,
            excluded_text: pod.annotation(keys::EXCLUDE_OUTBOUND_RANGES).unwrap_or_default(),
            excluded_ranges: list(pod, keys::EXCLUDE_OUTBOUND_RANGES, capture::ranges)?,
        })
    }
}

/// Parses the items of a list.
type ParseList<T> = fn(&str) -> Result<Vec<T>, InvalidItem<'_>>;

fn selection<T>(pod: Pod<'_>, key: &str, parse: ParseList<T>) -> Result<Option<Selection<T>>, Refusal> {
    match pod.annotation(key) {
        None => Ok(None),
        Some(keys::CAPTURE_ALL) => Ok(Some(Selection::All)),
        Some(_) => list(pod, key, parse).map(|items| Some(Selection::Only(items))),
    }
}

/// Parses a list. One of blanks is refused, also where the injector reads it as empty.
fn list<T>(pod: Pod<'_>, key: &str, parse: ParseList<T>) -> Result<Vec<T>, Refusal> {
    parse(pod.annotation(key).unwrap_or_default()).map_err(|found| invalid(key, &found))
}

fn invalid(key: &str, found: &InvalidItem<'_>) -> Refusal {
    let name = key.strip_prefix(keys::TRAFFIC_PREFIX).unwrap_or(key);
    let problem = format!("{name} contains {:?}: expected {}", excerpt(found.text), found.expected);
    Refusal::of_annotation(Reason::CaptureAnnotationInvalid, key, problem)
}
