//! Networks of Multus: appended to the annotation that it reads, in the form that the user chose, a comma list or JSON.

use serde_json::{Value, json};

use super::work::Work;
use crate::config::profile::{Attach, AttachCount, InterfaceName};
use crate::fabric::LIST_LIMIT;

/// What an annotation lists.
struct Listed<'a> {
    networks: Vec<Network<'a>>,
    json: bool,
}

/// One network of an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network<'a> {
    namespace: &'a str,
    name: &'a str,
    interface: Option<&'a str>,
}

/// Plans the networks; `devices` are those of the profile's first resource.
pub(super) fn plan(work: &mut Work<'_>, devices: u64) {
    let multus = &work.profile.networks.multus;
    if multus.attach.is_empty() {
        return;
    }
    let key = multus.annotation_key.as_str();
    if work.pod.host_network() {
        work.conflict("networks cannot be attached to a pod with hostNetwork", "remove hostNetwork");
        return;
    }
    let namespace = work.facts.snapshot.namespace;
    let text = work.pod.annotation(key).unwrap_or_default();
    if text.len() > LIST_LIMIT {
        work.conflict(format!("annotation {key} is longer than {LIST_LIMIT} bytes"), "attach fewer networks");
        return;
    }
    let parsed: Option<Value> = text.trim_start().starts_with('[').then(|| serde_json::from_str(text).ok()).flatten();
    let Some(listed) = read(text, parsed.as_ref(), namespace) else {
        work.conflict(format!("annotation {key} cannot be read"), "write ns/name@if,… or a JSON list");
        return;
    };
    let mut missing: Vec<&Attach> = Vec::new();
    let mut clash = None;
    for attach in &multus.attach {
        let (of, name) = attach.name.as_str().split_once('/').unwrap_or((namespace, attach.name.as_str()));
        let there = listed.networks.iter().filter(|network| network.namespace == of && network.name == name).count();
        let wanted = match attach.count {
            AttachCount::Times(times) => times,
            AttachCount::PerResource => devices,
        };
        let lacking = usize::try_from(wanted).unwrap_or(usize::MAX).saturating_sub(there).min(MOST);
        if lacking > 0 {
            let interface = attach.if_name.as_ref().map(InterfaceName::as_str);
            let taken = |network: &&Network<'_>| interface.is_some() && network.interface == interface;
            clash = clash.or(listed.networks.iter().find(taken).and_then(|network| network.interface));
        }
        missing.extend(std::iter::repeat_n(attach, lacking));
    }
    if let Some(interface) = clash {
        work.conflict(format!("interface {interface} is another network's in {key}"), "rename it");
    }
    if missing.is_empty() {
        return;
    }
    for attach in &multus.attach {
        match missing.iter().filter(|missing| **missing == attach).count() {
            0 => {}
            1 => work.added(format!("network {}", attach.name)),
            times => work.added(format!("network {}, {times} times", attach.name)),
        }
    }
    let joined = if listed.json { json_form(text, &missing) } else { comma_form(text, &missing) };
    work.plan.set_annotation(key, joined);
}

/// More networks than any node has adapters for: an annotation must stay small.
const MOST: usize = 256;

fn read<'a>(text: &'a str, parsed: Option<&'a Value>, namespace: &'a str) -> Option<Listed<'a>> {
    if text.trim().is_empty() {
        return Some(Listed { networks: Vec::new(), json: false });
    }
    if let Some(parsed) = parsed {
        let networks = parsed.as_array()?.iter().map(|item| {
            let field = |name: &str| item.get(name).and_then(Value::as_str);
            let name = field("name")?;
            Some(Network { namespace: field("namespace").unwrap_or(namespace), name, interface: field("interface") })
        });
        return Some(Listed { networks: networks.collect::<Option<_>>()?, json: true });
    }
    let networks = text.split(',').map(|item| {
        let (network, interface) = match item.trim().split_once('@') {
            Some((network, interface)) => (network, Some(interface)),
            None => (item.trim(), None),
        };
        let (namespace, name) = network.split_once('/').unwrap_or((namespace, network));
        let plain = |text: &str| {
            let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
            !text.is_empty() && text.bytes().all(word)
        };
        let whole = plain(namespace) && plain(name) && interface.is_none_or(|interface| !interface.is_empty());
        whole.then_some(Network { namespace, name, interface })
    });
    Some(Listed { networks: networks.collect::<Option<_>>()?, json: false })
}

fn comma_form(text: &str, missing: &[&Attach]) -> String {
    let ours = missing.iter().map(|attach| match &attach.if_name {
        Some(interface) => format!("{}@{interface}", attach.name),
        None => attach.name.to_string(),
    });
    let theirs = Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
    theirs.into_iter().chain(ours).collect::<Vec<_>>().join(",")
}

/// The user's text to the letter, and our entries before its last bracket.
fn json_form(text: &str, missing: &[&Attach]) -> String {
    let ours: Vec<String> = missing
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
    append_json(text, &ours)
}

/// A JSON list with `items` after what it holds, whose text is kept to the letter.
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
    #[case::a_hole("a,,b", None)]
    #[case::blanks_inside("a b", None)]
    fn both_forms_are_read(#[case] text: &str, #[case] expected: Option<Vec<Network<'_>>>) {
        let parsed: Option<Value> = text.starts_with('[').then(|| serde_json::from_str(text).ok()).flatten();
        assert_eq!(read(text, parsed.as_ref(), "team-a").map(|listed| listed.networks), expected);
    }

    #[rstest]
    #[case("[]", "[1]")]
    #[case(" [ ] ", " [ 1]")]
    #[case("[0, 9]\n", "[0, 9,1]")]
    fn json_is_appended_to(#[case] list: &str, #[case] expected: &str) {
        assert_eq!(append_json(list, &["1".to_owned()]), expected);
    }
}
