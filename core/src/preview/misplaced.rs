//! Labels and annotations on a workload that have an effect on pods only: those of trainmesh, which also reads Namespaces, of
//! Istio and of gang schedulers.

use serde_json::{Map, Value};

use super::{PodReport, hints};
use crate::config::{CheckId, Fabric};
use crate::gang::key;
use crate::keys;
use crate::lint::{MISPLACED_KEYS, OWN_KEYS};
use crate::manifest::{Document, DocumentWarning};
use crate::own_keys::{Location, fabric_problem, pod_map, problem};

/// A label or annotation outside the pod templates.
struct Entry<'manifest> {
    /// Path of its map, as `kubectl explain` writes it.
    path: String,
    /// `labels` or `annotations`.
    map: &'static str,
    key: &'manifest str,
    value: &'manifest Value,
}

/// Maximum number of warnings. More only repeat the same mistake.
const MAX_WARNINGS: usize = 20;

/// Prefixes of the keys of Istio that affect pods.
const ISTIO_PREFIXES: [&str; 4] =
    ["sidecar.istio.io/", "traffic.sidecar.istio.io/", keys::PROXY_CONFIG, keys::DATAPLANE_MODE];

/// Returns a warning of FP045 or TR006 for each label and annotation on `document` that none of its pods gets. `kind` is the
/// kind of the document, and `reports` contains its pods.
pub(super) fn warnings(
    document: &Document,
    kind: &str,
    namespace: &str,
    reports: &[PodReport],
    fabric: &Fabric,
) -> Vec<DocumentWarning> {
    let settings = &fabric.lint;
    let mut entries = Vec::new();
    if kind != "Pod" {
        collect(&document.value, "", &mut entries);
    }
    // An operator that is not known may copy keys that it does not own.
    let is_generic = reports.iter().any(|report| report.generic);
    let is_reported = |entry: &Entry<'_>| settings.warns(entry.check()) && (entry.check() == OWN_KEYS || !is_generic);
    entries.retain(|entry| is_reported(entry) && !reports.iter().any(|report| has_entry(&report.original, entry)));
    entries.truncate(MAX_WARNINGS);
    let templates = hints::templates(&document.value);
    let name = super::name_of(document);
    let warning = |entry: Entry<'_>| {
        let check = entry.check();
        let Entry { ref path, map, key, .. } = entry;
        let target = pod_map(key).unwrap_or(map);
        let misspelled = entry.problem_in_pods(fabric).map(|problem| format!("; {problem}")).unwrap_or_default();
        let verb = if target == map {
            "move it to".to_owned()
        } else {
            format!("set the {} in", target.trim_end_matches('s'))
        };
        let fix = match templates.as_slice() {
            [] => "set it on the pod template of its runtime, or by a patch of the runtime".to_owned(),
            [template] => format!("{verb} {template}.metadata.{target}"),
            [first, ..] => format!("{verb} {first}.metadata.{target} (and of the other pod templates)"),
        };
        let message = format!("{kind} {namespace}/{name}: {key} has no effect in {path}: {fix}{misspelled}");
        DocumentWarning::at(document, document.path_position(&format!("{path}[{key}]")), check.code(), message)
    };
    entries.into_iter().map(warning).collect()
}

/// Collects the entries in `value`, except those of pod templates. The depth of a document is limited.
fn collect<'manifest>(value: &'manifest Value, path: &str, found: &mut Vec<Entry<'manifest>>) {
    match value {
        Value::Object(fields) => {
            let is_pod_template = fields.get("spec").and_then(|spec| spec.get("containers")).is_some();
            if is_pod_template {
                return;
            }
            for map in ["labels", "annotations"] {
                let entries = fields.get(map).and_then(Value::as_object).into_iter().flat_map(Map::iter);
                let of_pods = entries.filter(|(key, _)| key.starts_with(keys::OWN_PREFIX) || is_foreign(key));
                found.extend(of_pods.map(|(key, value)| Entry { path: format!("{path}.{map}"), map, key, value }));
            }
            for (key, item) in fields.iter().filter(|(key, _)| *key != "status") {
                collect(item, &format!("{path}.{key}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}

/// Returns true if `key` is one of Istio or of a gang scheduler that has an effect on pods only.
fn is_foreign(key: &str) -> bool {
    ISTIO_PREFIXES.iter().any(|prefix| key.starts_with(prefix)) || key::OF_PODS.contains(&key)
}

impl Entry<'_> {
    fn check(&self) -> CheckId {
        if self.key.starts_with(keys::OWN_PREFIX) { OWN_KEYS } else { MISPLACED_KEYS }
    }

    /// Returns the problem that the entry has on pods, too, so that nobody moves a misspelled one.
    fn problem_in_pods(&self, fabric: &Fabric) -> Option<String> {
        let value = self.value.as_str()?;
        let location = if pod_map(self.key).unwrap_or(self.map) == "labels" {
            Location::PodLabel
        } else {
            Location::PodAnnotation
        };
        let unknown_profile = (self.key == keys::FABRIC).then(|| fabric_problem(value, &fabric.profiles)).flatten();
        unknown_profile.or_else(|| problem(location, self.key, value))
    }
}

/// Returns true if `pod` has `entry`, which the operator copies, and it has an effect there.
fn has_entry(pod: &Value, entry: &Entry<'_>) -> bool {
    pod_map(entry.key).is_none_or(|map| map == entry.map)
        && pod.get("metadata").and_then(|metadata| metadata.get(entry.map)?.get(entry.key)) == Some(entry.value)
}
