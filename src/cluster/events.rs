//! Events on objects, for people who look at one with `kubectl describe`.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ObjectReference, Pod};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource};

use trainmesh_core::error::chain;

/// Whom events come from.
const CONTROLLER: &str = "trainmesh-controller";
/// Longest note that the apiserver takes, in bytes.
pub const NOTE: usize = 1024;
/// An event that cannot be published soon is not worth waiting for: what it is about is in the log and the metrics too.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The one recorder of a process: it counts a repetition instead of publishing it again.
#[derive(Clone)]
pub struct Events {
    recorder: Recorder,
}

/// What an event says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRecord {
    /// Whether a person should look at it.
    pub warning: bool,
    /// A CamelCase code.
    pub reason: &'static str,
    /// What was done or tried, in CamelCase.
    pub action: &'static str,
    /// The text.
    pub note: String,
}

impl Events {
    /// A recorder for the process called `instance`.
    #[must_use]
    pub fn new(client: Client, instance: String) -> Self {
        let reporter = Reporter { controller: CONTROLLER.to_owned(), instance: Some(instance) };
        Self { recorder: Recorder::new(client, reporter) }
    }

    /// Publishes an event about `object`. A failure is logged: nothing depends on an event.
    pub async fn publish(&self, object: &ObjectReference, record: EventRecord) {
        let EventRecord { warning, reason, action, note } = record;
        let event = Event {
            type_: if warning { EventType::Warning } else { EventType::Normal },
            reason: reason.to_owned(),
            note: Some(shortened(note)),
            action: action.to_owned(),
            secondary: None,
        };
        let name = object.name.as_deref().unwrap_or_default();
        match tokio::time::timeout(TIMEOUT, self.recorder.publish(&event, object)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(reason, name, "could not write an event: {}", chain(&error)),
            Err(_) => tracing::warn!(reason, name, "could not write an event within {TIMEOUT:?}"),
        }
    }
}

/// An object, as events refer to it. Without its uid they are not shown with it.
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

/// A pod, as events refer to it.
#[must_use]
pub fn pod(namespace: &str, name: &str, uid: &str) -> ObjectReference {
    reference::<Pod>(namespace, name, Some(uid))
}

/// At most as much of `text` as a note may have.
fn shortened(mut text: String) -> String {
    const MORE: &str = " …";
    if text.len() > NOTE {
        text.truncate(text.floor_char_boundary(NOTE - MORE.len()));
        text.push_str(MORE);
    }
    text
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::short("as it is", 8)]
    #[case::exact(&"x".repeat(1024), 1024)]
    #[case::long(&"x".repeat(1025), 1024)]
    #[case::cut_between_characters(&"é".repeat(600), 1024)]
    fn a_note_fits(#[case] text: &str, #[case] length: usize) {
        assert_eq!(shortened(text.to_owned()).len(), length);
    }

    #[test]
    fn references_name_their_kind() {
        let ObjectReference { api_version, kind, namespace, name, uid, .. } = pod("team-a", "llama-0", "1");
        let found = [api_version, kind, namespace, name, uid].map(Option::unwrap_or_default);
        assert_eq!(found, ["v1", "Pod", "team-a", "llama-0", "1"]);
    }
}
