//! Events: what the controller tells of a pod.

use serde_json::Value;

use crate::cluster::{Namespace, PATIENCE, eventually};

/// An event of trainmesh about a pod.
#[derive(Clone, Debug)]
pub struct Event {
    pub reason: String,
    pub note: String,
    pub warning: bool,
    /// How often it was told.
    pub count: u64,
}

/// What trainmesh has told of pod `name`.
pub fn events(namespace: &Namespace, name: &str) -> Vec<Event> {
    let items = namespace.events();
    let ours = items.iter().filter(|item| {
        item["regarding"]["name"] == name
            && item["reportingController"].as_str().is_some_and(|who| who.contains("trainmesh"))
    });
    ours.map(Event::new).collect()
}

/// Waits for the event of pod `name` with this reason.
pub fn told(namespace: &Namespace, name: &str, reason: &str) -> Event {
    eventually(PATIENCE, &format!("event {reason} of {name}"), || {
        let events = events(namespace, name);
        let found = events.iter().find(|event| event.reason == reason).cloned();
        found.ok_or_else(|| format!("{events:?}"))
    })
}

impl Event {
    fn new(item: &Value) -> Self {
        let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
        Self {
            reason: text("reason"),
            note: text("note"),
            warning: item["type"] == "Warning",
            count: item["series"]["count"].as_u64().unwrap_or(1),
        }
    }
}
