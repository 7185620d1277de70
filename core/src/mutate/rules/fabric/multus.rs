//! Multus networks, which are appended to the annotation in the form that the user chose: a comma-separated list or
//! JSON.

use serde_json::{Value, json};

use super::machines::allows_machines;
use super::planner::Planner;
use super::target::requests;
use crate::config::Profile;
use crate::config::profile::{AttachCount, InterfaceName, NetworkAttachment};
use crate::fabric::MAX_NETWORKS_ANNOTATION;
use crate::mutate::plan::{annotation_path, spec_path};

/// Parsed value of the annotation.
pub(super) struct NetworkList<'a> {
    pub(super) networks: Vec<Network<'a>>,
    is_json: bool,
}

/// A network in the annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Network<'a> {
    namespace: &'a str,
    pub(super) name: &'a str,
    interface: Option<&'a str>,
}

impl<'a> Network<'a> {
    /// Returns the namespace and the name.
    pub(super) fn identity(&self) -> (&'a str, &'a str) {
        (self.namespace, self.name)
    }
}

/// Plans the networks. `devices` is the number of devices of the profile's first resource.
pub(super) fn plan(planner: &mut Planner<'_>, devices: u64) {
    let multus = &planner.profile.networks.multus;
    if multus.attach.is_empty() {
        return;
    }
    let key = multus.annotation_key.as_str();
    if planner.pod.host_network() {
        planner.add_conflict_at(
            spec_path(["hostNetwork"]),
            "networks cannot be attached to a pod with hostNetwork",
            "remove hostNetwork",
        );
        return;
    }
    let namespace = planner.context.snapshot.namespace;
    let text = planner.pod.annotation(key).unwrap_or_default();
    if text.len() > MAX_NETWORKS_ANNOTATION {
        let problem = format!("annotation {key} is longer than {MAX_NETWORKS_ANNOTATION} bytes");
        planner.add_conflict_at(annotation_path(key), problem, "attach fewer networks");
        return;
    }
    let parsed = parse_json(text);
    let Some(listed) = parse(text, parsed.as_ref(), namespace) else {
        let fix = "use ns/name@if,… or a JSON list";
        planner.add_conflict_at(annotation_path(key), format!("annotation {key} cannot be parsed"), fix);
        return;
    };
    if has_own_fabric(planner, &listed, namespace) {
        let names: Vec<&str> = listed.networks.iter().map(|network| network.name).collect();
        let names = names.join(", ");
        planner.note_kept(format!("networks {names} of the pod, which requests its own devices"));
        return;
    }
    let mut missing: Vec<&NetworkAttachment> = Vec::new();
    let mut conflict = None;
    for attach in &multus.attach {
        let identity = identity(attach, namespace);
        let present = listed.networks.iter().filter(|network| network.identity() == identity).count();
        let required = match attach.count {
            AttachCount::Times(times) => times,
            AttachCount::PerResource => devices,
        };
        let count = usize::try_from(required).unwrap_or(usize::MAX).saturating_sub(present).min(MAX_NETWORKS);
        if count > 0 {
            let interface = attach.if_name.as_ref().map(InterfaceName::as_str);
            let is_taken = |network: &&Network<'_>| interface.is_some() && network.interface == interface;
            conflict = conflict.or(listed.networks.iter().find(is_taken).and_then(|network| network.interface));
        }
        missing.extend(std::iter::repeat_n(attach, count));
    }
    // The interfaces of another machine belong to other networks: the conflict is the machine.
    if let Some(interface) = conflict.filter(|_| allows_machines(planner.pod, planner.profile)) {
        let problem = format!("interface {interface} belongs to another network in {key}");
        planner.add_conflict_at(annotation_path(key), problem, "rename it");
    }
    if missing.is_empty() {
        return;
    }
    for attach in &multus.attach {
        match missing.iter().filter(|missing| **missing == attach).count() {
            0 => {}
            1 => planner.note_added(format!("network {}", attach.name)),
            times => planner.note_added(format!("network {} ({times} times)", attach.name)),
        }
    }
    let merged = if listed.is_json { append_as_json(text, &missing) } else { append_as_list(text, &missing) };
    planner.plan.set_annotation(key, merged);
}

/// Returns true if the pod requests the profile's devices itself and attaches only networks of its own. The user has
/// then configured the fabric, and each network of the profile would be a second interface on an adapter.
pub(super) fn has_own_fabric(planner: &Planner<'_>, listed: &NetworkList<'_>, namespace: &str) -> bool {
    let devices = planner.profile.resources.iter().find(|resource| !resource.opt_in);
    let requests_devices =
        devices.is_some_and(|device| requests(planner.pod).any(|(_, name)| name == device.name.as_str()));
    let is_of_profile =
        |network: &Network<'_>| attached(planner.profile, namespace).any(|identity| identity == network.identity());
    requests_devices && !listed.networks.is_empty() && !listed.networks.iter().any(is_of_profile)
}

/// Returns the namespace and the name of each network that `profile` attaches to pods in `namespace`.
pub(super) fn attached<'a>(profile: &'a Profile, namespace: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    profile.networks.multus.attach.iter().map(move |attach| identity(attach, namespace))
}

/// Returns the namespace and the name of a network that is attached to pods in `namespace`.
fn identity<'a>(attach: &'a NetworkAttachment, namespace: &'a str) -> (&'a str, &'a str) {
    let name = attach.name.as_str();
    name.split_once('/').unwrap_or((namespace, name))
}

/// Maximum number of networks to attach. Bounds the annotation; no node has as many adapters.
const MAX_NETWORKS: usize = 256;

/// Parses the annotation as JSON, if it has that form.
pub(super) fn parse_json(text: &str) -> Option<Value> {
    text.trim_start().starts_with('[').then(|| serde_json::from_str(text).ok()).flatten()
}

/// Parses the annotation. `parsed` is its JSON. Returns `None` if it is malformed.
pub(super) fn parse<'a>(text: &'a str, parsed: Option<&'a Value>, namespace: &'a str) -> Option<NetworkList<'a>> {
    if text.trim().is_empty() {
        return Some(NetworkList { networks: Vec::new(), is_json: false });
    }
    if let Some(parsed) = parsed {
        let networks = parsed.as_array()?.iter().map(|item| {
            let field = |name: &str| item.get(name).and_then(Value::as_str);
            let name = field("name")?;
            Some(Network { namespace: field("namespace").unwrap_or(namespace), name, interface: field("interface") })
        });
        return Some(NetworkList { networks: networks.collect::<Option<_>>()?, is_json: true });
    }
    let networks = text.split(',').map(|item| {
        let (network, interface) = match item.trim().split_once('@') {
            Some((network, interface)) => (network, Some(interface)),
            None => (item.trim(), None),
        };
        let (namespace, name) = network.split_once('/').unwrap_or((namespace, network));
        let is_name = |text: &str| {
            let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
            !text.is_empty() && text.bytes().all(is_allowed)
        };
        let is_valid = is_name(namespace) && is_name(name) && interface.is_none_or(|interface| !interface.is_empty());
        is_valid.then_some(Network { namespace, name, interface })
    });
    Some(NetworkList { networks: networks.collect::<Option<_>>()?, is_json: false })
}

/// Appends the missing networks to a comma-separated list.
fn append_as_list(text: &str, missing: &[&NetworkAttachment]) -> String {
    let added = missing.iter().map(|attach| match &attach.if_name {
        Some(interface) => format!("{}@{interface}", attach.name),
        None => attach.name.to_string(),
    });
    let existing = Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
    existing.into_iter().chain(added).collect::<Vec<_>>().join(",")
}

/// Appends the missing networks to a JSON list.
fn append_as_json(text: &str, missing: &[&NetworkAttachment]) -> String {
    let added: Vec<String> = missing
        .iter()
        .map(|attach| {
            let mut entry = match attach.name.as_str().split_once('/') {
                Some((namespace, name)) => json!({"name": name, "namespace": namespace}),
                None => json!({"name": attach.name.as_str()}),
            };
            if let Some(interface) = &attach.if_name {
                entry["interface"] = interface.as_str().into();
            }
            entry.to_string()
        })
        .collect();
    append_json(text, &added)
}

/// Appends `items` to a JSON list. The existing text is preserved.
pub(super) fn append_json(list: &str, items: &[String]) -> String {
    let head = list.trim_end().strip_suffix(']').unwrap_or("[");
    let comma = if head.trim_end().ends_with('[') { "" } else { "," };
    format!("{head}{comma}{}]", items.join(","))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn network<'a>(namespace: &'a str, name: &'a str, interface: Option<&'a str>) -> Network<'a> {
        Network { namespace, name, interface }
    }

    #[rstest]
    #[case::none("", Some(vec![]))]
    #[case::comma("a, b/c@net1", Some(vec![network("team-a", "a", None), network("b", "c", Some("net1"))]))]
    #[case::json(
        r#"[{"name": "a"}, {"name": "c", "namespace": "b", "interface": "net1"}]"#,
        Some(vec![network("team-a", "a", None), network("b", "c", Some("net1"))])
    )]
    #[case::empty_json("[]", Some(vec![]))]
    #[case::broken_json(r#"[{"name": "a"}"#, None)]
    #[case::json_without_a_name(r#"[{"network": "a"}]"#, None)]
    #[case::an_object(r#"{"name": "a"}"#, None)]
    #[case::an_empty_entry("a,,b", None)]
    #[case::blanks_inside("a b", None)]
    fn both_forms_are_parsed(#[case] text: &str, #[case] expected: Option<Vec<Network<'_>>>) {
        let parsed = parse_json(text);
        assert_eq!(parse(text, parsed.as_ref(), "team-a").map(|listed| listed.networks), expected);
    }

    #[rstest]
    #[case("[]", "[1]")]
    #[case(" [ ] ", " [ 1]")]
    #[case("[0, 9]\n", "[0, 9,1]")]
    fn items_are_appended_to_json(#[case] list: &str, #[case] expected: &str) {
        assert_eq!(append_json(list, &["1".to_owned()]), expected);
    }
}
