//! Interfaces of GKE's multi-networking: two annotations, of which one is a JSON list.

use serde_json::{Value, json};

use super::multus::append_json;
use super::work::Work;
use crate::fabric::LIST_LIMIT;
use crate::keys;

pub(super) fn plan(work: &mut Work<'_>) {
    let gke = &work.profile.networks.gke;
    if gke.default_interface.is_none() && gke.interfaces.is_empty() {
        return;
    }
    if work.pod.host_network() {
        work.conflict("networks cannot be attached to a pod with hostNetwork", "remove hostNetwork");
        return;
    }
    if let Some(interface) = &gke.default_interface {
        match work.pod.annotation(keys::GKE_DEFAULT_INTERFACE) {
            None => {
                work.plan.set_annotation(keys::GKE_DEFAULT_INTERFACE, interface.as_str());
                work.added(format!("default interface {interface}"));
            }
            Some(own) if own == interface.as_str() => {}
            Some(own) => work.kept(format!("default interface {own}")),
        }
    }
    interfaces(work);
}

fn interfaces(work: &mut Work<'_>) {
    let wanted = &work.profile.networks.gke.interfaces;
    let key = keys::GKE_INTERFACES;
    let text = work.pod.annotation(key).unwrap_or("[]");
    if text.len() > LIST_LIMIT {
        work.conflict(format!("annotation {key} is longer than {LIST_LIMIT} bytes"), "list fewer interfaces");
        return;
    }
    let Ok(Value::Array(listed)) = serde_json::from_str::<Value>(text) else {
        work.conflict(format!("annotation {key} is no JSON list"), "correct it");
        return;
    };
    let has = |item: &Value, field: &str, text: &str| item.get(field).and_then(Value::as_str) == Some(text);
    let mut missing = Vec::new();
    for interface in wanted {
        let (name, network) = (interface.interface_name.as_str(), interface.network.as_str());
        if listed.iter().any(|item| has(item, "network", network)) {
            continue;
        }
        if listed.iter().any(|item| has(item, "interfaceName", name)) {
            work.conflict(format!("interface {name} is another network's in {key}"), "rename it");
        }
        missing.push(interface);
    }
    if missing.is_empty() {
        return;
    }
    let items: Vec<String> = missing
        .iter()
        .map(|interface| {
            json!({"interfaceName": interface.interface_name.as_str(), "network": interface.network.as_str()})
                .to_string()
        })
        .collect();
    let names: Vec<&str> = missing.iter().map(|interface| interface.interface_name.as_str()).collect();
    work.added(format!("interfaces {}", names.join(", ")));
    work.plan.set_annotation(key, append_json(text, &items));
}
