//! Network interface names in settings: FP006 to FP008.

use super::context::CheckContext;
use super::network::interfaces;
use super::sink::FindingSink;
use crate::fabric::nccl::{DeviceList, takes_plain_interfaces};

/// Variables with NCCL's syntax for interface lists.
const NCCL_LISTS: [&str; 2] = ["NCCL_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME"];

/// Maximum number of interfaces in a message.
const MAX_LISTED: usize = 16;

/// FP006: NCCL does not read an interface list as intended.
pub(super) fn interface_list_syntax(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        for name in NCCL_LISTS {
            let Some(value) = container.settings.value(name) else { continue };
            let list = DeviceList::parse(value);
            let problem = if value.contains(char::is_whitespace) {
                "contains a space"
            } else if value.len() == 1 {
                "has one character, so NCCL ignores it"
            } else if list.names().any(|name| name.starts_with(['^', '='])) {
                "has ^ or = inside the list"
            } else if list.excludes && list.allows("lo") {
                "does not exclude lo"
            } else {
                continue;
            };
            let message = format!("{}: {name}={value} {problem}", container.display_name());
            findings.push(container.settings.field(name), message);
        }
    }
}

/// FP007: no interface of the pod matches the list.
pub(super) fn missing_interface(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    // The interfaces of the node, and those that claims add, are unknown.
    let has_claims = context.spec("resourceClaims").is_some();
    if context.input.pod.host_network() || has_claims {
        return;
    }
    let Some(interfaces) = interfaces(context) else { return };
    for container in &context.containers {
        for name in NCCL_LISTS {
            let Some(value) = container.settings.value(name).filter(|value| value.len() > 1) else { continue };
            let list = DeviceList::parse(value);
            if !list.excludes && !interfaces.iter().any(|interface| list.allows(interface)) {
                let known = interfaces.iter().take(MAX_LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
                let message = format!("{}: {name}={value} matches none of {known}", container.display_name());
                findings.push(container.settings.field(name), message);
            }
        }
    }
}

/// FP008: a variable that takes plain names has NCCL's `^` or `=` prefix.
pub(super) fn unsupported_modifier(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        for setting in container.settings.iter().filter(|setting| takes_plain_interfaces(setting.name)) {
            if let Some(value) = setting.value.filter(|value| value.starts_with(['^', '='])) {
                let name = setting.name;
                let message = format!("{}: {name}={value}: only NCCL supports ^ and =", container.display_name());
                findings.push(container.settings.field(name), message);
            }
        }
    }
}
