//! Kubernetes events, as `kubectl describe` shows them.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ObjectReference, Pod};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource};

use trainmesh_core::error::chain;

/// Reporting controller of the events.
const REPORTING_CONTROLLER: &str = "trainmesh-controller";
/// Maximum length of a note that the apiserver accepts, in bytes.
pub const MAX_NOTE_BYTES: usize = 1024;
/// Time limit for publishing an event. The log and the metrics carry the same information, so an event is not worth
/// waiting for.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Publishes events. Use one per process: it counts repetitions instead of publishing them again.
#[derive(Clone)]
pub struct EventRecorder {
    recorder: Recorder,
}

/// Content of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRecord {
    /// True for type `Warning`, false for `Normal`.
    pub warning: bool,
    /// CamelCase reason code.
    pub reason: &'static str,
    /// CamelCase name of the action taken or attempted.
    pub action: &'static str,
    /// Text for people.
    pub note: String,
}

impl EventRecorder {
    /// Creates a recorder for the process called `instance`.
    #[must_use]
    pub fn new(client: Client, instance: String) -> Self {
        let reporter = Reporter { controller: REPORTING_CONTROLLER.to_owned(), instance: Some(instance) };
        Self { recorder: Recorder::new(client, reporter) }
    }

    /// Publishes an event about `object`. A failure is only logged.
    pub async fn publish(&self, object: &ObjectReference, record: EventRecord) {
        let EventRecord { warning, reason, action, note } = record;
        let event = Event {
            type_: if warning { EventType::Warning } else { EventType::Normal },
            reason: reason.to_owned(),
            note: Some(truncate_note(note)),
            action: action.to_owned(),
            secondary: None,
        };
        let name = object.name.as_deref().unwrap_or_default();
        match tokio::time::timeout(TIMEOUT, self.recorder.publish(&event, object)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(reason, name, "could not publish an event: {}", chain(&error)),
            Err(_) => tracing::warn!(reason, name, "could not publish an event within {TIMEOUT:?}"),
        }
    }
}

/// Returns an event's reference to an object. Without a uid, `kubectl describe` does not show the event.
#[must_use]
pub fn reference<K: Resource<DynamicType = ()>>(namespace: &str, name: &str, uid: Option<&str>) -> ObjectReference {
    ObjectReference {
        api_version: Some(K::api_version(&()).into_owned()),
        kind: Some(K::kind(&()).into_owned()),
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_owned()),
        uid: uid.map(str::to_owned),
        ..ObjectReference::default()
    }
}

/// Returns an event's reference to a pod.
#[must_use]
pub fn pod(namespace: &str, name: &str, uid: &str) -> ObjectReference {
    reference::<Pod>(namespace, name, Some(uid))
}

/// Truncates `text` to the maximum length of a note.
fn truncate_note(mut text: String) -> String {
    const ELLIPSIS: &str = " …";
    if text.len() > MAX_NOTE_BYTES {
        text.truncate(text.floor_char_boundary(MAX_NOTE_BYTES - ELLIPSIS.len()));
        text.push_str(ELLIPSIS);
    }
    text
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::short("unchanged", 9)]
    #[case::exact(&"x".repeat(1024), 1024)]
    #[case::long(&"x".repeat(1025), 1024)]
    #[case::cut_between_characters(&"é".repeat(600), 1024)]
    fn notes_are_truncated(#[case] text: &str, #[case] length: usize) {
        assert_eq!(truncate_note(text.to_owned()).len(), length);
    }

    #[test]
    fn references_contain_kind_and_uid() {
        let ObjectReference { api_version, kind, namespace, name, uid, .. } = pod("team-a", "llama-0", "1");
        let found = [api_version, kind, namespace, name, uid].map(Option::unwrap_or_default);
        assert_eq!(found, ["v1", "Pod", "team-a", "llama-0", "1"]);
    }
}
