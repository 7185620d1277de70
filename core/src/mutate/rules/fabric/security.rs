//! Capabilities and privileged containers.

use serde_json::Value;

use super::planner::{Planner, PodSecurityLevel};
use super::target::TargetContainer;
use crate::config::profile::Capability;

/// Capabilities that the Pod Security level `baseline` allows (Pod Security Standards, "Capabilities").
const BASELINE: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

pub(super) fn plan(planner: &mut Planner<'_>) {
    let profile = planner.profile;
    for capability in &profile.security_context.capabilities.add {
        add_capability(planner, capability);
    }
    if profile.security_context.privileged {
        make_privileged(planner);
    }
}

fn add_capability(planner: &mut Planner<'_>, capability: &Capability) {
    let mut missing = Vec::new();
    let mut dropped = None;
    for (index, target) in planner.targets.iter().enumerate() {
        if is_privileged(target) || adds(target, capability) {
            continue;
        }
        if capabilities(target, "drop").any(|name| is_capability(name, capability)) {
            dropped = Some((target.path(["securityContext", "capabilities", "drop"]), target.container.name()));
        } else {
            missing.push(index);
        }
    }
    let is_dropped = dropped.is_some();
    if let Some((path, container)) = dropped {
        planner.add_conflict_at(path, format!("{container} drops capability {capability}"), "do not drop it");
    }
    if missing.is_empty() && !is_dropped {
        planner.note_found(format!("capability {capability}"));
    } else if !missing.is_empty() {
        planner.append(&missing, ["securityContext", "capabilities", "add"], capability.as_str());
        let suffix = planner.container_suffix(&missing);
        planner.note_added(format!("capability {capability}{suffix}"));
        record_forbidden(planner, capability);
    }
}

/// Records the Pod Security level that forbids `capability`.
pub(super) fn record_forbidden(planner: &mut Planner<'_>, capability: &Capability) {
    match capability.as_str() {
        "NET_BIND_SERVICE" => {}
        name if BASELINE.contains(&name) => {
            planner.forbidden.push((PodSecurityLevel::Restricted, format!("capability {name}")));
        }
        name => planner.forbidden.push((PodSecurityLevel::Baseline, format!("capability {name}"))),
    }
}

fn make_privileged(planner: &mut Planner<'_>) {
    let mut missing = Vec::new();
    let mut declined = None;
    for (index, target) in planner.targets.iter().enumerate() {
        let sets = |field: &str, value: bool| target.security(field) == Some(&Value::Bool(value));
        if sets("privileged", true) {
            continue;
        }
        // The apiserver rejects a privileged container with allowPrivilegeEscalation: false.
        if sets("privileged", false) || sets("allowPrivilegeEscalation", false) {
            declined = Some((target.path(["securityContext"]), target.container.name()));
        } else {
            planner.plan.set(target.path(["securityContext", "privileged"]), true);
            missing.push(index);
        }
    }
    if let Some((path, container)) = declined {
        planner.add_conflict_at(
            path,
            format!("{container} sets privileged or allowPrivilegeEscalation to false"),
            "remove it or select another fabric",
        );
    }
    if !missing.is_empty() {
        let suffix = planner.container_suffix(&missing);
        planner.note_added(format!("privileged{suffix}"));
        planner.forbidden.push((PodSecurityLevel::Baseline, "privileged".to_owned()));
    }
}

/// Returns true if the container is privileged, which implies all capabilities.
fn is_privileged(target: &TargetContainer<'_>) -> bool {
    target.security("privileged") == Some(&Value::Bool(true))
}

fn adds(target: &TargetContainer<'_>, capability: &Capability) -> bool {
    capabilities(target, "add").any(|name| name.eq_ignore_ascii_case("ALL") || is_capability(name, capability))
}

fn capabilities<'a>(target: &TargetContainer<'a>, list: &str) -> impl Iterator<Item = &'a str> {
    let found = target.security("capabilities").and_then(|capabilities| capabilities.get(list));
    found.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn is_capability(name: &str, capability: &Capability) -> bool {
    name.strip_prefix("CAP_").unwrap_or(name) == capability.as_str()
}
