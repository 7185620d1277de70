//! Events.

use jiff::Timestamp;
use serde_json::Value;

use super::read::{MAX_NAME, name, text, time, truncate};
use super::reference::Reference;

/// Fields with the time of an event, the most precise first.
const TIMES: [&str; 5] = [
    "/series/lastObservedTime",
    "/lastTimestamp",
    "/deprecatedLastTimestamp",
    "/eventTime",
    "/metadata/creationTimestamp",
];

/// Reason of the events of the kubelet about probes that fail.
pub(in crate::diagnosis) const UNHEALTHY: &str = "Unhealthy";

/// An event.
#[derive(Clone, Debug)]
pub(in crate::diagnosis) struct EventRecord {
    pub(in crate::diagnosis) namespace: Box<str>,
    /// The object that the event is about.
    pub(in crate::diagnosis) about: Reference,
    /// The container of the pod that the event is about.
    pub(in crate::diagnosis) container: Option<Box<str>>,
    pub(in crate::diagnosis) reason: Box<str>,
    pub(in crate::diagnosis) message: Box<str>,
    /// Time of the last occurrence.
    pub(in crate::diagnosis) last: Option<Timestamp>,
}

impl EventRecord {
    /// Reads an event of `v1` or `events.k8s.io/v1`. `namespace` is that of objects without one.
    pub(super) fn read(raw: &Value, namespace: &str) -> Option<Self> {
        let about = raw.get("involvedObject").or_else(|| raw.get("regarding"))?;
        Some(Self {
            namespace: name(about, "/namespace")
                .or_else(|| name(raw, "/metadata/namespace"))
                .unwrap_or_else(|| namespace.into()),
            about: Reference::read(about)?,
            container: about.get("fieldPath").and_then(Value::as_str).and_then(container),
            reason: name(raw, "/reason").unwrap_or_default(),
            message: text(raw, "/message").or_else(|| text(raw, "/note")).unwrap_or_default(),
            last: TIMES.iter().find_map(|pointer| time(raw, pointer)),
        })
    }
}

/// Returns the container in `spec.containers{NAME}`.
fn container(path: &str) -> Option<Box<str>> {
    let (_, name) = path.strip_suffix('}')?.split_once('{')?;
    Some(truncate(name, MAX_NAME))
}
