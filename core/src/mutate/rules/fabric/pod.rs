//! Settings of the pod as a whole.

use serde_json::{Value, json};

use super::work::{Level, Work};
use crate::config::profile::{DnsPolicy, Operator, Toleration};
use crate::mutate::plan::spec;

pub(super) fn plan(work: &mut Work<'_>) {
    if work.profile.pod.host_network {
        host_network(work);
    }
    if let Some(policy) = work.profile.pod.dns_policy {
        dns_policy(work, policy);
    }
    node_selector(work);
    tolerations(work);
    metadata(work);
}

fn host_network(work: &mut Work<'_>) {
    match work.spec("hostNetwork") {
        Some(Value::Bool(true)) => return,
        Some(_) => return work.conflict("the pod says hostNetwork: false", "remove it"),
        None => {}
    }
    // In the node's network a port is the node's: the apiserver refuses another number.
    let elsewhere = work.pod.containers().find(|container| {
        let ports = container.raw().get("ports").and_then(Value::as_array);
        ports.into_iter().flatten().any(|port| {
            let number = |field: &str| port.get(field).and_then(Value::as_u64).filter(|number| *number != 0);
            number("hostPort").is_some_and(|host| Some(host) != number("containerPort"))
        })
    });
    if let Some(container) = elsewhere {
        return work.conflict(format!("{} maps a hostPort", container.name()), "remove the hostPort");
    }
    work.plan.set(spec(["hostNetwork"]), true);
    work.forbidden.push((Level::Baseline, "hostNetwork".to_owned()));
    work.added("hostNetwork");
}

fn dns_policy(work: &mut Work<'_>, policy: DnsPolicy) {
    let Ok(Value::String(wanted)) = serde_json::to_value(policy) else { return };
    match work.spec("dnsPolicy").and_then(Value::as_str) {
        Some(own) if own == wanted => {}
        // `ClusterFirst` is what the apiserver has written where nobody said anything.
        None | Some("ClusterFirst") => {
            work.plan.set(spec(["dnsPolicy"]), wanted.as_str());
            work.added(format!("dnsPolicy {wanted}"));
        }
        Some(own) => work.kept(format!("dnsPolicy {own}")),
    }
}

fn node_selector(work: &mut Work<'_>) {
    let profile = work.profile;
    for (key, value) in &profile.pod.node_selector {
        match work.spec("nodeSelector").and_then(|selector| selector.get(key.as_str())) {
            None => {
                work.plan.set(spec(["nodeSelector", key.as_str()]), value.as_str());
                work.added(format!("nodeSelector {key}={value}"));
            }
            Some(own) if own.as_str() == Some(value.as_str()) => {}
            Some(_) => work.kept(format!("nodeSelector {key}")),
        }
    }
}

fn tolerations(work: &mut Work<'_>) {
    let profile = work.profile;
    for toleration in &profile.pod.tolerations {
        if work.items("tolerations").any(|own| tolerates(own, toleration)) {
            continue;
        }
        let Ok(item) = serde_json::to_value(toleration) else { continue };
        work.plan.append(spec(["tolerations"]), item);
        work.added(format!("toleration of {}", toleration.key));
    }
}

/// Whether the user's own toleration goes as far as the profile's.
fn tolerates(own: &Value, wanted: &Toleration) -> bool {
    let text = |field: &str| own.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    let exists = text("operator") == Some("Exists");
    let key = text("key").map_or(exists, |key| key == wanted.key.as_str());
    let value = exists
        || (wanted.operator == Operator::Equal
            && text("value").unwrap_or_default() == wanted.value.as_ref().map_or("", |value| value.as_str()));
    let effect = text("effect").is_none_or(|effect| wanted.effect.is_some_and(|wanted| json!(wanted) == effect));
    // An eviction that is put off for some time only is not tolerated for good.
    key && value && effect && own.get("tolerationSeconds").is_none_or(Value::is_null)
}

fn metadata(work: &mut Work<'_>) {
    let profile = work.profile;
    for (key, value) in &profile.pod.annotations {
        match work.pod.annotation(key.as_str()) {
            None => {
                work.plan.set_annotation(key.as_str(), value.as_str());
                work.added(format!("annotation {key}"));
            }
            Some(own) if own == value => {}
            Some(_) => work.kept(format!("annotation {key}")),
        }
    }
    for (key, value) in &profile.pod.labels {
        match work.pod.label(key.as_str()) {
            None => {
                work.plan.set_label(key.as_str(), value.as_str());
                work.added(format!("label {key}={value}"));
            }
            Some(own) if own == value.as_str() => {}
            Some(_) => work.kept(format!("label {key}")),
        }
    }
}
