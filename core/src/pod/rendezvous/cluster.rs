//! The cluster specification of TensorFlow, in the variable `TF_CONFIG`.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::addresses::port_of_address;
use crate::pod::{Container, Expansion};

/// Variable that contains JSON with the addresses of each role under `cluster`.
const VARIABLE: &str = "TF_CONFIG";
/// Maximum length in bytes of a cluster specification that is parsed, because the parsed value takes several times as
/// much memory. A longer one lists hundreds of hosts, which an operator writes, whose port the container declares.
pub(crate) const MAX_CLUSTER: usize = 32 * 1024;
/// Maximum number of different ports that are kept. Roles have one each.
const MAX_PORTS: usize = 64;
/// Value of a reference that is not in the pod, with which the text remains JSON: usually the index of the pod.
const UNKNOWN: &str = "0";

/// Parses the addresses of each role in a cluster specification, which has at most [`MAX_CLUSTER`] bytes.
pub(crate) fn parse(text: &str) -> Option<Map<String, Value>> {
    let mut config: Value = serde_json::from_str(text).ok()?;
    match config.get_mut("cluster")?.take() {
        Value::Object(roles) => Some(roles),
        _ => None,
    }
}

/// Returns the ports of all roles in the variable of `container`.
pub(super) fn ports<'a>(container: Container<'a>, expansion: &Expansion<'a>) -> Vec<u16> {
    let text = container.env(VARIABLE).and_then(|text| expand(text, expansion));
    let Some(roles) = text.and_then(|text| parse(&text)) else { return Vec::new() };
    let mut ports: Vec<u16> = roles.values().flat_map(addresses).filter_map(port_of_address).collect();
    ports.sort_unstable();
    ports.dedup();
    ports.truncate(MAX_PORTS);
    ports
}

/// Returns the addresses of a role: a list, or the first by its index for dynamic workers.
fn addresses(role: &Value) -> impl Iterator<Item = &str> {
    let listed = role.as_array().into_iter().flatten();
    let by_index = role.as_object().into_iter().flat_map(Map::values);
    listed.chain(by_index).filter_map(Value::as_str)
}

/// Replaces the references `$(NAME)` in `text`; `None` if it is longer than [`MAX_CLUSTER`].
fn expand<'a>(text: &'a str, expansion: &Expansion<'a>) -> Option<Cow<'a, str>> {
    if text.len() > MAX_CLUSTER {
        return None;
    }
    if !text.contains("$(") {
        return Some(Cow::Borrowed(text));
    }
    let (mut expanded, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("$(") {
        let (name, after) = after.split_once(')')?;
        expanded.push_str(before);
        expanded.push_str(expansion.value(name).unwrap_or(UNKNOWN));
        if expanded.len() > MAX_CLUSTER {
            return None;
        }
        rest = after;
    }
    expanded.push_str(rest);
    (expanded.len() <= MAX_CLUSTER).then_some(Cow::Owned(expanded))
}
