//! Interfaces of Multus, which connect pods outside the cluster network: their addresses are in no range of the pods.

use crate::keys;
use crate::mutate::Plan;
use crate::pod::Pod;
use crate::pod::networks::{ISTIO_CNI, MULTUS, attachments};

/// Maximum length of the name of an interface in Linux.
const MAX_NAME: usize = 15;

/// Returns the value of the annotation: the user's text, followed by the interfaces that it lacks. Returns `None` if the
/// pod has no such interface, or its networks cannot be parsed.
pub(super) fn excluded(pod: Pod<'_>, plan: &Plan) -> Option<String> {
    let networks = attachments(plan.annotation(MULTUS).or(pod.networks())?)?;
    let own = pod.annotation(keys::EXCLUDE_INTERFACES).unwrap_or_default();
    let mut names: Vec<&str> = own.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let listed = names.len();
    for network in networks.iter().filter(|network| network.name != ISTIO_CNI && is_name(&network.interface)) {
        if !names.contains(&network.interface.as_str()) {
            names.push(&network.interface);
        }
    }
    let added = names.get(listed..).filter(|added| !added.is_empty())?.join(",");
    Some(if own.is_empty() { added } else { format!("{own},{added}") })
}

/// Returns true for a name that iptables accepts as that of one interface.
fn is_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_allowed)
}
