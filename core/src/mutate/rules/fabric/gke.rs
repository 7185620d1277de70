//! Interfaces of GKE multi-networking, which two annotations configure.

use serde_json::{Value, json};

use super::machines::allows_machines;
use super::multus::append_json;
use super::planner::{Planner, Problem};
use crate::fabric::MAX_NETWORKS_ANNOTATION;
use crate::keys;
use crate::mutate::plan::{annotation_path, spec_path};
use crate::own_keys::excerpt;
use crate::pod::Pod;

/// Value of the annotation without interfaces.
const NO_INTERFACES: &str = "[]";

pub(super) fn plan(planner: &mut Planner<'_>) {
    let gke = &planner.profile.networks.gke;
    if gke.default_interface.is_none() && gke.interfaces.is_empty() {
        return;
    }
    if planner.pod.host_network() {
        planner.add_conflict_at(
            spec_path(["hostNetwork"]),
            "networks cannot be attached to a pod with hostNetwork",
            "remove hostNetwork",
        );
        return;
    }
    if let Some(interface) = &gke.default_interface {
        match planner.pod.annotation(keys::GKE_DEFAULT_INTERFACE) {
            None => {
                planner.plan.set_annotation(keys::GKE_DEFAULT_INTERFACE, interface.as_str());
                planner.note_added(format!("default interface {interface}"));
            }
            Some(own) if own == interface.as_str() => {}
            Some(own) => planner.note_kept(format!("default interface {own}")),
        }
    }
    plan_interfaces(planner);
}

/// Returns the interfaces that `pod` lists itself, or the problem of its annotation.
pub(super) fn interfaces(pod: Pod<'_>) -> Result<Vec<Value>, Problem> {
    let key = keys::GKE_INTERFACES;
    let text = pod.annotation(key).unwrap_or(NO_INTERFACES);
    if text.len() > MAX_NETWORKS_ANNOTATION {
        let problem = format!("annotation {key} is longer than {MAX_NETWORKS_ANNOTATION} bytes");
        return Err((problem, "list fewer interfaces".into()));
    }
    match serde_json::from_str(text) {
        Ok(Value::Array(listed)) => Ok(listed),
        _ => Err((format!("annotation {key} is not a JSON list"), "fix it".into())),
    }
}

fn plan_interfaces(planner: &mut Planner<'_>) {
    let required = &planner.profile.networks.gke.interfaces;
    let key = keys::GKE_INTERFACES;
    let text = planner.pod.annotation(key).unwrap_or(NO_INTERFACES);
    let listed = match interfaces(planner.pod) {
        Ok(listed) => listed,
        Err((problem, fix)) => return planner.add_conflict_at(annotation_path(key), problem, fix),
    };
    // The interfaces of another machine belong to other networks: the conflict is the machine.
    let is_for_machine = allows_machines(planner.pod, planner.profile);
    let has = |item: &Value, field: &str, text: &str| item.get(field).and_then(Value::as_str) == Some(text);
    let mut missing = Vec::new();
    for interface in required {
        let (name, network) = (interface.interface_name.as_str(), interface.network.as_str());
        if listed.iter().any(|item| has(item, "network", network)) {
            continue;
        }
        let same_name = listed.iter().find(|item| has(item, "interfaceName", name));
        if let Some(item) = same_name.filter(|_| is_for_machine) {
            let own = item.get("network").and_then(Value::as_str).unwrap_or("no network");
            let problem = format!("interface {name} is {} in {key}, {network} in the profile", excerpt(own));
            planner.add_conflict_at(annotation_path(key), problem, "correct one of them");
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
    planner.note_added(format!("interfaces {}", names.join(", ")));
    planner.plan.set_annotation(key, append_json(text, &items));
}
