//! Labels and annotations by which Istio injects pods, or redirects their traffic.

use super::Location::{self, NamespaceAnnotation, NamespaceLabel, PodAnnotation, PodLabel};
use super::{capture, correction, excerpt, shown};
use crate::hint::nearest;
use crate::keys;

/// Values of [`keys::ISTIO_INJECTION`]. Istio treats every other one as `disabled`.
const NAMESPACE_INJECTION: [&str; 2] = ["enabled", "disabled"];
/// Values of [`keys::SIDECAR_INJECT`]. Istio ignores every other one since 1.27; before, it read `y`, `yes` and `on` as `true`, and others
/// except for an empty one as `false`.
const POD_INJECTION: [&str; 2] = ["true", "false"];
/// Values of [`keys::DATAPLANE_MODE`]. Istio ignores every other one.
const DATAPLANE_MODES: [&str; 2] = ["ambient", "none"];
/// Values of [`keys::NATIVE_SIDECAR`] that users take for `false`, in lower case, in addition to similar ones. Istio's template compares
/// the value with `false`, and requests a native sidecar by every other one that is not empty.
const NOT_NATIVE: [&str; 8] = ["0", "disable", "disabled", "f", "n", "no", "none", "off"];
/// Field of a proxy configuration that holds the application.
const HOLD: &str = "holdApplicationUntilProxyStarts";
/// Protobuf name of the field, which Istio also accepts.
const HOLD_SNAKE: &str = "hold_application_until_proxy_starts";
/// Labels by which Istio includes a namespace.
const ISTIO_LABELS: [&str; 2] = [keys::ISTIO_INJECTION, keys::DATAPLANE_MODE];
/// End of the domains of Istio.
const ISTIO_DOMAIN: &str = "istio.io/";
/// Labels by which Istio injects a pod, or redirects its traffic.
const ISTIO_POD_LABELS: [&str; 3] = [keys::SIDECAR_INJECT, keys::DATAPLANE_MODE, keys::ISTIO_REVISION];
/// Annotations by which Istio injects a pod, or redirects its traffic (istio/api, `annotation/annotations.yaml`): all of the second
/// domain, because their names are similar.
const ISTIO_POD_ANNOTATIONS: [&str; 13] = [
    keys::SIDECAR_INJECT,
    "inject.istio.io/templates",
    keys::NATIVE_SIDECAR,
    keys::INTERCEPTION_MODE,
    keys::INCLUDE_INBOUND_PORTS,
    keys::EXCLUDE_INBOUND_PORTS,
    keys::INCLUDE_OUTBOUND_RANGES,
    keys::EXCLUDE_OUTBOUND_RANGES,
    "traffic.sidecar.istio.io/includeOutboundPorts",
    keys::EXCLUDE_OUTBOUND_PORTS,
    keys::EXCLUDE_INTERFACES,
    "traffic.sidecar.istio.io/kubevirtInterfaces",
    keys::PROXY_CONFIG,
];

/// Returns the reason why the entry `key`=`value` at `location` has no effect, and the fix.
pub(super) fn problem(location: Location, key: &str, value: &str) -> Option<String> {
    let misspelled = || misspelled_namespace_label(location, key).or_else(|| misspelled_pod_key(location, key));
    let of_pod = || native_problem(location, key, value).or_else(|| annotation_as_label(location, key));
    injection_problem(location, key, value).or_else(of_pod).or_else(misspelled)
}

/// Returns why an entry of a pod that Istio would inject prevents the pod, or does not prevent the injection, as the user intends.
pub(crate) fn injected_pod_problem(location: Location, key: &str, value: &str) -> Option<String> {
    match location {
        PodAnnotation if key == keys::PROXY_CONFIG => misspelled_hold(value),
        PodAnnotation => rejected_annotation(key, value),
        PodLabel if key == keys::ISTIO_INJECTION && value == "disabled" => {
            Some(format!("{key} has no effect on a pod: label it {}=false", keys::SIDECAR_INJECT))
        }
        PodLabel | NamespaceLabel | NamespaceAnnotation => None,
    }
}

/// Returns the problem of a field in `config`, a proxy configuration, whose name is similar to that of the hold: Istio ignores it.
fn misspelled_hold(config: &str) -> Option<String> {
    let fields = config.split(['\n', ',', '{']).filter_map(|field| field.split_once(':'));
    let mut names = fields.map(|(name, _)| name.trim().trim_matches(['"', '\'']));
    let is_other = |name: &&str| name.starts_with("hold") && *name != HOLD && *name != HOLD_SNAKE;
    let found = names.find(|name| is_other(name) && nearest(name, &[HOLD]).is_some())?;
    Some(format!("{}: {found} should be {HOLD}", keys::PROXY_CONFIG))
}

/// Returns true if Istio's injector rejects a pod with this annotation.
pub(crate) fn is_rejected(key: &str, value: &str) -> bool {
    capture::rejected_item(key, value).is_some()
}

/// Returns why Istio's injector rejects a pod with this annotation. The value comes last: messages of the webhook are cut.
fn rejected_annotation(key: &str, value: &str) -> Option<String> {
    let found = capture::rejected_item(key, value)?;
    let (_, name) = key.rsplit_once('/')?;
    Some(format!("{name}: Istio rejects the pod: expected {}, found {:?}", found.expected, excerpt(found.text)))
}

/// Returns the problem of a value with which Istio does not inject a pod, or injects it, against the intent.
fn injection_problem(location: Location, key: &str, value: &str) -> Option<String> {
    let (expected, effect): (&[&str], _) = match (key, location) {
        (keys::ISTIO_INJECTION, NamespaceLabel) => (&NAMESPACE_INJECTION, "is treated as disabled"),
        (keys::SIDECAR_INJECT, PodLabel | PodAnnotation) if value.is_empty() => (&POD_INJECTION, "has no effect"),
        (keys::SIDECAR_INJECT, PodLabel | PodAnnotation) => (&POD_INJECTION, "has no effect since Istio 1.27"),
        (keys::DATAPLANE_MODE, NamespaceLabel | PodLabel) => (&DATAPLANE_MODES, "has no effect"),
        _ => return None,
    };
    let is_valid = expected.contains(&value);
    (!is_valid).then(|| format!("{key}={} {effect}: {}", shown(excerpt(value)), correction(value, expected)))
}

/// Returns the problem of a value that requests a native sidecar, although the user means the contrary.
fn native_problem(location: Location, key: &str, value: &str) -> Option<String> {
    if location != PodAnnotation || key != keys::NATIVE_SIDECAR || value == "false" {
        return None;
    }
    let is_no = NOT_NATIVE.iter().any(|no| value.eq_ignore_ascii_case(no)) || nearest(value, &["false"]).is_some();
    is_no.then(|| format!("{key}={} requests a native sidecar: did you mean false?", excerpt(value)))
}

/// Returns the problem of an annotation of Istio that is written as a label.
fn annotation_as_label(location: Location, key: &str) -> Option<String> {
    let is_annotation = ISTIO_POD_ANNOTATIONS.contains(&key) && !ISTIO_POD_LABELS.contains(&key);
    (location == PodLabel && is_annotation)
        .then(|| format!("{key} has no effect here: it is an annotation of pods, set it in metadata.annotations"))
}

/// Returns the problem of a misspelled label by which Istio includes a namespace.
fn misspelled_namespace_label(location: Location, key: &str) -> Option<String> {
    if location != NamespaceLabel || !key.starts_with("istio") || ISTIO_LABELS.contains(&key) {
        return None;
    }
    let near = nearest(key, &ISTIO_LABELS)?;
    Some(format!("{} has no effect: did you mean {near}?", excerpt(key)))
}

/// Returns the problem of a misspelled key by which Istio injects a pod, or redirects its traffic.
fn misspelled_pod_key(location: Location, key: &str) -> Option<String> {
    let known: &[&str] = match location {
        PodLabel => &ISTIO_POD_LABELS,
        PodAnnotation => &ISTIO_POD_ANNOTATIONS,
        NamespaceLabel | NamespaceAnnotation => return None,
    };
    let is_known = ISTIO_POD_LABELS.contains(&key) || ISTIO_POD_ANNOTATIONS.contains(&key);
    if is_known || !key.contains(ISTIO_DOMAIN) {
        return None;
    }
    // Keys of Istio have long domains in common, which do not make their names similar.
    let (domain, name) = key.split_once('/')?;
    let same_domain = known.iter().filter_map(|known| known.split_once('/')).filter(|(known, _)| *known == domain);
    let names: Vec<&str> = same_domain.map(|(_, name)| name).collect();
    let near = nearest(name, &names)?;
    Some(format!("{} has no effect: did you mean {domain}/{near}?", excerpt(key)))
}
