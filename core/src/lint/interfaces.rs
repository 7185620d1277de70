//! Names of network interfaces in settings: FP006 to FP008.

use super::facts::Facts;
use super::finding::Found;
use super::network::interfaces;
use crate::fabric::nccl::{DeviceList, is_concrete_interface};

/// Variables in NCCL's own grammar of interfaces.
const NCCL_LISTS: [&str; 2] = ["NCCL_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME"];

/// How many interfaces a message names.
const NAMED: usize = 16;

/// FP006: what NCCL reads otherwise than it was meant.
pub(super) fn grammar(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in &facts.containers {
        for name in NCCL_LISTS {
            let Some(value) = seen.settings.value(name) else { continue };
            let list = DeviceList::read(value);
            let problem = if value.contains(char::is_whitespace) {
                "has a blank"
            } else if value.len() == 1 {
                "of one character counts as unset"
            } else if list.names().any(|name| name.starts_with(['^', '='])) {
                "has ^ or = inside the list"
            } else if list.excludes && list.admits("lo") {
                "lets lo in"
            } else {
                continue;
            };
            found.add(seen.settings.field(name), format!("{}: {name}={value} {problem}", seen.named()));
        }
    }
}

/// FP007: names that no interface of the pod has.
pub(super) fn absent(facts: &Facts<'_>, found: &mut Found<'_>) {
    // The interfaces of the node, and those that claims bring, are not known here.
    let claimed = facts.spec("resourceClaims").is_some();
    if facts.subject.pod.host_network() || claimed {
        return;
    }
    let Some(interfaces) = interfaces(facts) else { return };
    for seen in &facts.containers {
        for name in NCCL_LISTS {
            let Some(value) = seen.settings.value(name).filter(|value| value.len() > 1) else { continue };
            let list = DeviceList::read(value);
            if !list.excludes && !interfaces.iter().any(|interface| list.admits(interface)) {
                let known = interfaces.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
                let message = format!("{}: {name}={value} fits none of {known}", seen.named());
                found.add(seen.settings.field(name), message);
            }
        }
    }
}

/// FP008: modifiers where they are none.
pub(super) fn plain(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in &facts.containers {
        for setting in seen.settings.all().filter(|setting| is_concrete_interface(setting.name)) {
            if let Some(value) = setting.value.filter(|value| value.starts_with(['^', '='])) {
                let name = setting.name;
                let message = format!("{}: {name}={value}: no ^ and = here, names alone", seen.named());
                found.add(seen.settings.field(name), message);
            }
        }
    }
}
