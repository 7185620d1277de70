//! Capabilities, and whether a container is privileged.

use serde_json::Value;

use super::target::Target;
use super::work::{Level, Work};
use crate::config::profile::Capability;

/// What the level `baseline` of Pod Security lets a container add (Pod Security Standards, "Capabilities").
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

pub(super) fn plan(work: &mut Work<'_>) {
    let profile = work.profile;
    for capability in &profile.security_context.capabilities.add {
        add(work, capability);
    }
    if profile.security_context.privileged {
        privileged(work);
    }
}

fn add(work: &mut Work<'_>, capability: &Capability) {
    let mut given = Vec::new();
    let mut dropped = None;
    for (index, target) in work.targets.iter().enumerate() {
        if is_privileged(target) || names(target, "add", capability) {
            continue;
        }
        if lists(target, "drop").any(|name| is(name, capability)) {
            dropped = Some(target.container.name());
        } else {
            given.push(index);
        }
    }
    if let Some(container) = dropped {
        work.conflict(format!("{container} drops capability {capability}"), "keep it");
    }
    if given.is_empty() && dropped.is_none() {
        work.found(format!("capability {capability}"));
    } else if !given.is_empty() {
        work.append(&given, ["securityContext", "capabilities", "add"], capability.as_str());
        let place = work.of(&given);
        work.added(format!("capability {capability}{place}"));
        forbid(work, capability);
    }
}

/// Notes which level of Pod Security forbids to add `capability`.
pub(super) fn forbid(work: &mut Work<'_>, capability: &Capability) {
    match capability.as_str() {
        "NET_BIND_SERVICE" => {}
        name if BASELINE.contains(&name) => work.forbidden.push((Level::Restricted, format!("capability {name}"))),
        name => work.forbidden.push((Level::Baseline, format!("capability {name}"))),
    }
}

fn privileged(work: &mut Work<'_>) {
    let mut given = Vec::new();
    let mut declined = None;
    for (index, target) in work.targets.iter().enumerate() {
        let says = |field: &str, value: bool| target.security(field) == Some(&Value::Bool(value));
        if says("privileged", true) {
            continue;
        }
        // The apiserver refuses a privileged container that must not gain privileges.
        if says("privileged", false) || says("allowPrivilegeEscalation", false) {
            declined = Some(target.container.name());
        } else {
            work.plan.set(target.path(["securityContext", "privileged"]), true);
            given.push(index);
        }
    }
    if let Some(container) = declined {
        work.conflict(format!("{container} must not be privileged"), "choose another fabric");
    }
    if !given.is_empty() {
        let place = work.of(&given);
        work.added(format!("privileged{place}"));
        work.forbidden.push((Level::Baseline, "privileged".to_owned()));
    }
}

/// Whether the container has every capability.
fn is_privileged(target: &Target<'_>) -> bool {
    target.security("privileged") == Some(&Value::Bool(true))
}

fn names(target: &Target<'_>, list: &str, capability: &Capability) -> bool {
    lists(target, list).any(|name| name.eq_ignore_ascii_case("ALL") || is(name, capability))
}

fn lists<'a>(target: &Target<'a>, list: &str) -> impl Iterator<Item = &'a str> {
    let found = target.security("capabilities").and_then(|capabilities| capabilities.get(list));
    found.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn is(name: &str, capability: &Capability) -> bool {
    name.strip_prefix("CAP_").unwrap_or(name) == capability.as_str()
}
