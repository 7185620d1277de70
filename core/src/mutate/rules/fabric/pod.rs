//! Pod-level settings of a profile.

use serde_json::{Value, json};

use super::planner::{Planner, PodSecurityLevel};
use crate::config::profile::{DnsPolicy, Toleration, TolerationOperator};
use crate::mutate::plan::spec_path;

pub(super) fn plan(planner: &mut Planner<'_>) {
    if planner.profile.pod.host_network {
        plan_host_network(planner);
    }
    if let Some(policy) = planner.profile.pod.dns_policy {
        plan_dns_policy(planner, policy);
    }
    plan_node_selector(planner);
    plan_tolerations(planner);
    plan_metadata(planner);
}

fn plan_host_network(planner: &mut Planner<'_>) {
    match planner.spec_field("hostNetwork") {
        Some(Value::Bool(true)) => return,
        Some(_) => {
            return planner.add_conflict_at(spec_path(["hostNetwork"]), "the pod sets hostNetwork: false", "remove it");
        }
        None => {}
    }
    // With hostNetwork, the apiserver requires that hostPort equals containerPort.
    let mapped = planner.pod.containers().find(|container| {
        let ports = container.raw().get("ports").and_then(Value::as_array);
        ports.into_iter().flatten().any(|port| {
            let number = |field: &str| port.get(field).and_then(Value::as_u64).filter(|number| *number != 0);
            number("hostPort").is_some_and(|host| Some(host) != number("containerPort"))
        })
    });
    if let Some(container) = mapped {
        let problem = format!("{} maps a hostPort to another port", container.name());
        return planner.add_conflict_at(container.pointer() + "/ports", problem, "remove the hostPort");
    }
    planner.plan.set(spec_path(["hostNetwork"]), true);
    planner.forbidden.push((PodSecurityLevel::Baseline, "hostNetwork".to_owned()));
    planner.note_added("hostNetwork");
}

fn plan_dns_policy(planner: &mut Planner<'_>, policy: DnsPolicy) {
    let Ok(Value::String(required)) = serde_json::to_value(policy) else { return };
    match planner.spec_field("dnsPolicy").and_then(Value::as_str) {
        Some(own) if own == required => {}
        // `ClusterFirst` is the apiserver's default.
        None | Some("ClusterFirst") => {
            planner.plan.set(spec_path(["dnsPolicy"]), required.as_str());
            planner.note_added(format!("dnsPolicy {required}"));
        }
        Some(own) => planner.note_kept(format!("dnsPolicy {own}")),
    }
}

fn plan_node_selector(planner: &mut Planner<'_>) {
    let profile = planner.profile;
    for (key, value) in &profile.pod.node_selector {
        match planner.spec_field("nodeSelector").and_then(|selector| selector.get(key.as_str())) {
            None => {
                planner.plan.set(spec_path(["nodeSelector", key.as_str()]), value.as_str());
                planner.note_added(format!("nodeSelector {key}={value}"));
            }
            Some(own) if own.as_str() == Some(value.as_str()) => {}
            Some(_) => planner.note_kept(format!("nodeSelector {key}")),
        }
    }
}

fn plan_tolerations(planner: &mut Planner<'_>) {
    let profile = planner.profile;
    for toleration in &profile.pod.tolerations {
        if planner.spec_items("tolerations").any(|own| tolerates(own, toleration)) {
            continue;
        }
        let Ok(item) = serde_json::to_value(toleration) else { continue };
        planner.plan.append(spec_path(["tolerations"]), item);
        planner.note_added(format!("toleration for {}", toleration.key));
    }
}

/// Returns true if the user's toleration covers the profile's.
fn tolerates(own: &Value, required: &Toleration) -> bool {
    let text = |field: &str| own.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    let exists = text("operator") == Some("Exists");
    let key = text("key").map_or(exists, |key| key == required.key.as_str());
    let value = exists
        || (required.operator == TolerationOperator::Equal
            && text("value").unwrap_or_default() == required.value.as_ref().map_or("", |value| value.as_str()));
    let effect = text("effect").is_none_or(|effect| required.effect.is_some_and(|required| json!(required) == effect));
    // A toleration with tolerationSeconds only delays the eviction.
    key && value && effect && own.get("tolerationSeconds").is_none_or(Value::is_null)
}

fn plan_metadata(planner: &mut Planner<'_>) {
    let profile = planner.profile;
    for (key, value) in &profile.pod.annotations {
        match planner.pod.annotation(key.as_str()) {
            None => {
                planner.plan.set_annotation(key.as_str(), value.as_str());
                planner.note_added(format!("annotation {key}"));
            }
            Some(own) if own == value => {}
            Some(_) => planner.note_kept(format!("annotation {key}")),
        }
    }
    for (key, value) in &profile.pod.labels {
        match planner.pod.label(key.as_str()) {
            None => {
                planner.plan.set_label(key.as_str(), value.as_str());
                planner.note_added(format!("label {key}={value}"));
            }
            Some(own) if own == value.as_str() => {}
            Some(_) => planner.note_kept(format!("label {key}")),
        }
    }
}
