//! The labels and annotations of trainmesh, where each has an effect, and its valid values. Also those with which Istio
//! selects the pods that it injects, or that ztunnel redirects.
//!
//! Kubernetes accepts any key and value, and does not report a misspelled one. Lint, admission warnings and doctor
//! report it.

pub(crate) mod capture;
mod istio;
mod istio_aux;
mod pod_security;

use crate::config::{Profiles, Traffic};
use crate::gang::GangMode;
use crate::hint::{nearest, one_of};
use crate::{duration, keys, scope};

/// Kind of object, and its map of metadata, that contains an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// Labels of a namespace.
    NamespaceLabel,
    /// Annotations of a namespace, none of which has an effect.
    NamespaceAnnotation,
    /// Labels of a pod.
    PodLabel,
    /// Annotations of a pod.
    PodAnnotation,
}

pub(crate) use istio::{injected_pod_problem, is_rejected};
pub(crate) use pod_security::LEVELS as POD_SECURITY_LEVELS;

use Location::{NamespaceAnnotation, NamespaceLabel, PodAnnotation, PodLabel};

/// The keys, with the locations where each has an effect. Those that trainmesh writes come last: they are valid in a pod,
/// because templates are copied from running pods, but users do not set them.
const KNOWN: [(&str, &[Location]); 15] = [
    (keys::INJECT, &[NamespaceLabel, PodLabel]),
    (keys::FABRIC, &[NamespaceLabel, PodLabel]),
    (keys::GANG, &[NamespaceLabel, PodLabel]),
    (keys::MESH_TRAFFIC, &[NamespaceLabel, PodLabel]),
    (keys::PAYLOAD_CONTAINERS, &[PodAnnotation]),
    (keys::HELPER_CONTAINERS, &[PodAnnotation]),
    (keys::SETTLE, &[PodAnnotation]),
    (keys::MESH_PORTS, &[PodAnnotation]),
    (keys::CHECKPOINT_WRITE_TIME, &[PodAnnotation]),
    (keys::NODE_MTBF, &[PodAnnotation]),
    (keys::NCCL_CONF, &[PodAnnotation]),
    (keys::APPLIED, &[PodAnnotation]),
    (keys::FABRIC_REVISION, &[PodAnnotation]),
    (keys::REFUSED, &[PodAnnotation]),
    (keys::MANAGED, &[PodLabel]),
];
/// Start of domains that users take for that of [`keys::OWN_PREFIX`].
const PROJECT: &str = "trainmesh";
/// Number of keys in [`KNOWN`] that users set.
const OF_USERS: usize = 10;
/// Minimum length of a first word that only one key has.
const MIN_WORD: usize = 6;
/// Maximum length of a domain that is compared with that of trainmesh, in bytes.
const MAX_DOMAIN: usize = 64;

/// Returns the reason why the entry `key`=`value` at `location` has no effect, and the fix. Returns `None` if the entry
/// has an effect or is not a key of trainmesh, of istio-aux, or of Istio's injection or ambient mode. [`fabric_problem`] checks the names
/// of fabric profiles.
#[must_use]
pub fn problem(location: Location, key: &str, value: &str) -> Option<String> {
    let Some(name) = key.strip_prefix(keys::OWN_PREFIX) else {
        let of_istio = istio::problem(location, key, value);
        let of_others =
            || istio_aux::problem(location, key, value).or_else(|| pod_security::problem(location, key, value));
        return of_istio.or_else(of_others).or_else(|| other_domain(key));
    };
    let Some((_, locations)) = KNOWN.iter().find(|(known, _)| *known == key) else {
        return Some(unknown_key(location, key, name));
    };
    if !locations.contains(&location) {
        // An entry of pods has no place in a namespace.
        let has_place = match location {
            NamespaceLabel => false,
            NamespaceAnnotation => locations.contains(&NamespaceLabel),
            PodLabel | PodAnnotation => true,
        };
        let fix = if has_place { map_of(locations) } else { "" };
        return Some(format!("{key} has no effect here: it is {}{fix}", kind_of_entry(locations)));
    }
    let expected: &[&str] = match (key, location) {
        (keys::INJECT, NamespaceLabel) => &[scope::ENABLED, scope::AUDIT],
        (keys::INJECT, _) => &[scope::DISABLED],
        // Its rule is refused, or has no effect.
        (keys::GANG, _) if GangMode::parse(value).is_none() => {
            return Some(unknown_mode(key, value, GangMode::names()));
        }
        (keys::MESH_TRAFFIC, _) if Traffic::parse(value).is_none() => {
            return Some(unknown_mode(key, value, Traffic::names()));
        }
        (keys::SETTLE, _) if duration::parse(value).is_err() => {
            return Some(format!("{key}={} has no effect: expected a duration such as 90s", shown(excerpt(value))));
        }
        (keys::MESH_PORTS, _) => {
            parse_ports(value).err()?;
            return Some(format!("{key}={} has no effect: expected ports such as 8080,6006", shown(excerpt(value))));
        }
        _ => return None,
    };
    // `disabled` on a namespace is redundant, but its intent is clear.
    let redundant = (key == keys::INJECT && location == NamespaceLabel).then_some(scope::DISABLED);
    if expected.contains(&value) || redundant == Some(value) {
        return None;
    }
    let misspelled = redundant.filter(|known| nearest(value, &[known]).is_some());
    let fix = misspelled.map_or_else(|| correction(value, expected), |known| format!("did you mean {known}?"));
    Some(format!("{key}={} has no effect: {fix}", shown(excerpt(value))))
}

fn unknown_mode(key: &str, value: &str, expected: &[&str]) -> String {
    format!("{key}={}: unknown mode: {}", shown(excerpt(value)), correction(value, expected))
}

/// Returns the valid value that a user may have meant, or all.
fn correction(value: &str, expected: &[&str]) -> String {
    match nearest(value, expected) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("expected {}", one_of(expected)),
    }
}

/// Returns the reason why the label [`keys::FABRIC`] with this value selects no profile, and the fix.
#[must_use]
pub fn fabric_problem(value: &str, profiles: &Profiles) -> Option<String> {
    if value == keys::NO_FABRIC || profiles.find(value).is_some() {
        return None;
    }
    let fix = profiles.advice(value);
    Some(format!("{}={}: no fabric profile has this name: {fix}", keys::FABRIC, shown(excerpt(value))))
}

/// Returns the problem of a known key with another domain, such as `trainmesh.io/fabric` or `Trainmesh.dev/fabric`.
fn other_domain(key: &str) -> Option<String> {
    let known = key_with_other_domain(key)?;
    Some(format!("{} has no effect: did you mean {known}?", excerpt(key)))
}

/// Returns the known key that `key` is with another domain.
pub(crate) fn key_with_other_domain(key: &str) -> Option<&'static str> {
    let (domain, name) = key.split_once('/')?;
    let is_named =
        |known: &str| known.strip_prefix(keys::OWN_PREFIX).is_some_and(|known| known.eq_ignore_ascii_case(name));
    let (known, _) = KNOWN.iter().find(|(known, _)| is_named(known))?;
    let own = keys::OWN_PREFIX.trim_end_matches('/');
    let is_of_project = domain.get(..PROJECT.len()).is_some_and(|start| start.eq_ignore_ascii_case(PROJECT));
    // A domain of another project may resemble it, such as training.dev.
    let is_misspelled = || domain.len() <= MAX_DOMAIN && strsim::osa_distance(domain, own) <= 2;
    (domain != own && (is_of_project || is_misspelled())).then_some(*known)
}

fn unknown_key(location: Location, key: &str, name: &str) -> String {
    let problem = format!("{} has no effect", excerpt(key));
    match similar_key(location, name) {
        Some((near, locations)) if locations.contains(&location) => format!("{problem}: did you mean {near}?"),
        Some((near, locations)) => format!("{problem}: did you mean {near}, {}?", kind_of_entry(locations)),
        None if location == NamespaceAnnotation => format!("{problem}: trainmesh reads annotations of pods only"),
        None => {
            let names = names(KNOWN[..OF_USERS].iter(), location);
            match names.as_slice() {
                // All would not fit in a warning.
                [first, second, third, rest @ ..] if rest.len() > 1 => {
                    format!("{problem}: use {first}, {second}, {third} or {} more", rest.len())
                }
                _ => format!("{problem}: use {}", one_of(&names)),
            }
        }
    }
}

/// Returns the key that `name`, the part of an unknown one after the prefix, is meant to be, and where it has an effect.
fn similar_key(location: Location, name: &str) -> Option<(&'static str, &'static [Location])> {
    let here = names(KNOWN.iter(), location);
    let all: Vec<&str> = KNOWN.iter().map(|(key, _)| short(key)).collect();
    let near = [here, all].into_iter().find_map(|known| nearest(name, &known)).or_else(|| with_first_word(name))?;
    KNOWN.iter().find(|(key, _)| short(key) == near).copied()
}

/// Returns the name that alone starts with the first word of `name`, such as `checkpoint`.
fn with_first_word(name: &str) -> Option<&'static str> {
    let first = |name: &'_ str| name.split('-').next().unwrap_or_default().trim_end_matches('s').to_owned();
    let word = first(name);
    let mut found = KNOWN[..OF_USERS].iter().map(|(key, _)| short(key)).filter(|known| first(known) == word);
    let only = found.next().filter(|_| word.len() >= MIN_WORD)?;
    found.next().is_none().then_some(only)
}

/// Returns the names of the keys in `known` that have an effect at `location`.
fn names<'k>(
    known: impl Iterator<Item = &'k (&'static str, &'static [Location])>,
    location: Location,
) -> Vec<&'static str> {
    known.filter(|(_, locations)| locations.contains(&location)).map(|(key, _)| short(key)).collect()
}

fn short(key: &'static str) -> &'static str {
    key.strip_prefix(keys::OWN_PREFIX).unwrap_or(key)
}

/// Returns the known key that `key`, an unknown one of trainmesh in the map of a pod's metadata, is meant to be.
pub(crate) fn misspelled_key(location: Location, key: &str) -> Option<&'static str> {
    if let Some(known) = key_with_other_domain(key) {
        return Some(known);
    }
    let name = key.strip_prefix(keys::OWN_PREFIX).filter(|_| pod_map(key).is_none())?;
    Some(similar_key(location, name)?.0)
}

/// Returns true if only trainmesh sets `key`, on pods.
pub(crate) fn is_set_by_trainmesh(key: &str) -> bool {
    KNOWN[OF_USERS..].iter().any(|(known, _)| *known == key)
}

fn kind_of_entry(locations: &[Location]) -> &'static str {
    match locations {
        [PodAnnotation] => "an annotation of pods",
        [PodLabel] => "a label of pods",
        _ => "a label",
    }
}

/// Returns how to set an entry of a pod that is in the wrong map.
fn map_of(locations: &[Location]) -> &'static str {
    if is_annotation(locations) { ", set it in metadata.annotations" } else { ", set it in metadata.labels" }
}

fn is_annotation(locations: &[Location]) -> bool {
    locations.contains(&PodAnnotation)
}

/// Returns the map of a pod's metadata in which `key` has an effect, if it is known: `labels` or `annotations`.
pub(crate) fn pod_map(key: &str) -> Option<&'static str> {
    let (_, locations) = KNOWN.iter().find(|(known, _)| *known == key)?;
    Some(if is_annotation(locations) { "annotations" } else { "labels" })
}

/// Parses the value of [`keys::MESH_PORTS`]. The error is the item that is no port.
pub(crate) fn parse_ports(text: &str) -> Result<Vec<u16>, &str> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    text.split(',').map(|item| parse_port(item).filter(|port| *port > 0).ok_or(excerpt(item))).collect()
}

/// Parses a port. Istio ignores blanks around it.
fn parse_port(text: &str) -> Option<u16> {
    let text = text.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// Truncates a user's text: annotations may be long, and would hide the rest of the message.
pub(crate) fn excerpt(text: &str) -> &str {
    /// Maximum length in bytes: that of a valid label value.
    const MAX: usize = 63;
    &text[..text.floor_char_boundary(MAX)]
}

/// Returns the text of a value, which is visible if it is empty.
pub(crate) fn shown(value: &str) -> &str {
    if value.is_empty() { "\"\"" } else { value }
}

impl Location {
    /// Returns the name of the location for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            NamespaceLabel => "namespace label",
            PodLabel => "label",
            PodAnnotation | NamespaceAnnotation => "annotation",
        }
    }
}

#[cfg(test)]
mod tests;
