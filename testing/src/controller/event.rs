//! Events that trainmesh publishes for a pod.

use serde_json::Value;

use crate::cluster::{Namespace, TIMEOUT, eventually};

/// An event that trainmesh published for a pod.
#[derive(Clone, Debug)]
pub struct Event {
    pub reason: String,
    pub note: String,
    pub warning: bool,
    /// Number of occurrences.
    pub count: u64,
}

/// Lists the events that trainmesh published for pod `name`.
pub fn events(namespace: &Namespace, name: &str) -> Vec<Event> {
    let items = namespace.events();
    let ours = items.iter().filter(|item| {
        item["regarding"]["name"] == name
            && item["reportingController"].as_str().is_some_and(|controller| controller.contains("trainmesh"))
    });
    ours.map(Event::new).collect()
}

/// Waits for an event of pod `name` with this reason.
pub fn wait_for_event(namespace: &Namespace, name: &str, reason: &str) -> Event {
    eventually(TIMEOUT, &format!("event {reason} of {name}"), || {
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
