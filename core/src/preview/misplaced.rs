//! Labels and annotations on a workload that have an effect on pods only: those of trainmesh, which also reads Namespaces, of
//! Istio, of Kueue and of gang schedulers.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::walk::{Next, is_pod_template, joined, visit_objects};
use super::{MAX_WARNINGS, PodReport};
use crate::config::{CheckId, Fabric};
use crate::finding::Severity;
use crate::gang::key;
use crate::keys;
use crate::lint::{MISPLACED_KEYS, OWN_KEYS};
use crate::manifest::{Document, DocumentWarning};
use crate::own_keys::{
    Location, fabric_problem, is_set_by_trainmesh, key_with_other_domain, misspelled_key, pod_map, problem,
};
use crate::pod::Pod;
use crate::scope;
use crate::step::Step;
use crate::workload;

/// A label or annotation outside the pod templates.
struct Entry<'a> {
    /// Path of its map.
    path: Vec<Step<'a>>,
    /// `labels` or `annotations`.
    map: &'static str,
    key: &'a str,
    value: &'a Value,
}

/// A pod template of the document.
struct Template<'a> {
    path: Vec<Step<'a>>,
    fields: &'a Map<String, Value>,
    /// True for a clique of Grove, which contains the labels and annotations of its pods itself.
    is_clique: bool,
}

/// Maximum number of entries that are compared with the pods.
const MAX_ENTRIES: usize = 1_000;

/// Prefixes of the keys of Istio that affect pods.
const ISTIO_PREFIXES: [&str; 5] =
    ["sidecar.istio.io/", "traffic.sidecar.istio.io/", "inject.istio.io/", keys::PROXY_CONFIG, keys::DATAPLANE_MODE];
/// Kinds of Istio's own workloads, whose label with the revision is about the installation.
const KINDS_OF_ISTIO: [&str; 2] = ["Deployment", "DaemonSet"];
/// Value of [`keys::ISTIO_INJECTION`] that excludes the pods of a namespace.
const NOT_INJECTED: &str = "disabled";

/// Returns a warning of FP045 or TR006 for each label and annotation on `document` that only some or none of its pods get. `kind` is
/// the kind of the document, which has no `namespace` if it is one of the cluster. `reports` contains its pods, none for a runtime.
pub(super) fn warnings(
    document: &Document,
    kind: &str,
    namespace: Option<&str>,
    reports: &[PodReport],
    fabric: &Fabric,
) -> Vec<DocumentWarning> {
    let settings = &fabric.lint;
    // An operator that is not known may copy keys that it does not own.
    let is_generic = reports.iter().any(|report| report.generic);
    let is_reported = |entry: &Entry<'_>| settings.warns(entry.check()) && (entry.check() == OWN_KEYS || !is_generic);
    let mut found = if kind == "Pod" { Vec::new() } else { entries(&document.value, kind) };
    found.retain(is_reported);
    if found.is_empty() {
        return Vec::new();
    }
    let templates = templates(&document.value);
    let name = object_name(kind, namespace, super::name_of(document));
    let mut without_effect: Vec<Entry<'_>> =
        found.into_iter().filter(|entry| !entry.has_effect(&templates, reports)).collect();
    // The others must not hide those of trainmesh, which `preview --fail-on unknown` counts.
    without_effect.sort_by_key(|entry| (entry.check() != OWN_KEYS, entry.severity()));
    // Another warning counts the others.
    let omitted = without_effect.split_off(MAX_WARNINGS.min(without_effect.len()));
    let more = omitted.first().map(|first| {
        let message = format!("{name}: {} more labels and annotations have no effect here", omitted.len());
        let warning = DocumentWarning::at(document, first.position(document), first.check().code(), message);
        warning.with_severity(first.severity())
    });
    let warning = |entry: Entry<'_>| {
        let message = format!("{name}: {}", entry.message(&templates, fabric));
        let warning = DocumentWarning::at(document, entry.position(document), entry.check().code(), message);
        warning.with_severity(entry.severity())
    };
    without_effect.into_iter().map(warning).chain(more).collect()
}

/// Returns the kind, the namespace, if there is one, and the name of an object: `TrainJob team/llama`.
pub(super) fn object_name(kind: &str, namespace: Option<&str>, name: &str) -> String {
    namespace.map_or_else(|| format!("{kind} {name}"), |namespace| format!("{kind} {namespace}/{name}"))
}

/// Returns the entries of `object`, of this `kind`, except those of pod templates.
fn entries<'a>(object: &'a Value, kind: &str) -> Vec<Entry<'a>> {
    let mut found = Vec::new();
    visit_objects(object, &mut Vec::new(), &mut |path, fields| {
        if Template::new(path, fields).is_some() {
            return Next::After;
        }
        for map in ["labels", "annotations"] {
            let entries = fields.get(map).and_then(Value::as_object).into_iter().flat_map(Map::iter);
            let of_pods = entries.filter(|(key, value)| check_of(key) == OWN_KEYS || is_foreign(map, key, value, kind));
            found.extend(of_pods.take(MAX_ENTRIES).map(|(key, value)| {
                let path = [path, &[Step::Key(map)]].concat();
                Entry { path, map, key, value }
            }));
        }
        if found.len() < MAX_ENTRIES { Next::Inside } else { Next::Stop }
    });
    found
}

/// Returns the pod templates of `object`.
fn templates(object: &Value) -> Vec<Template<'_>> {
    let mut found = Vec::new();
    visit_objects(object, &mut Vec::new(), &mut |path, fields| match Template::new(path, fields) {
        Some(template) => {
            found.push(template);
            Next::After
        }
        None => Next::Inside,
    });
    found
}

impl<'a> Template<'a> {
    /// Returns the template that an object with `fields` is; `None` if it is none.
    fn new(path: &[Step<'a>], fields: &'a Map<String, Value>) -> Option<Self> {
        let is_clique = fields.get("spec").and_then(|spec| spec.get("podSpec")?.get("containers")).is_some();
        if !is_clique && !is_pod_template(fields) {
            return None;
        }
        Some(Self { path: path.to_vec(), fields, is_clique })
    }

    /// Returns true if the pods of the template have `entry`, or the label by which Istio excludes pods rather than namespaces.
    fn has(&self, entry: &Entry<'_>) -> bool {
        let owner =
            if self.is_clique { Some(self.fields) } else { self.fields.get("metadata").and_then(Value::as_object) };
        let entries = owner.and_then(|owner| owner.get(entry.map));
        let is_replaced = entry.key == keys::ISTIO_INJECTION;
        is_replaced && entries.is_some_and(|entries| entries.get(keys::SIDECAR_INJECT).is_some())
            || entries.and_then(|entries| entries.get(entry.key)) == Some(entry.value)
    }

    /// Returns the path of the labels and annotations of the pods.
    fn metadata_path(&self) -> String {
        let path = joined(&self.path);
        if self.is_clique { path } else { format!("{path}.metadata") }
    }
}

/// Returns true if the entry `key`=`value` of `map` is one of Istio, Kueue or a gang scheduler that has an effect on pods only, in a document
/// of this `kind`.
fn is_foreign(map: &str, key: &str, value: &Value, kind: &str) -> bool {
    let is_of_istio = match key {
        keys::ISTIO_REVISION => map == "labels" && !KINDS_OF_ISTIO.contains(&kind),
        keys::ISTIO_INJECTION => map == "labels" && value == NOT_INJECTED,
        _ => ISTIO_PREFIXES.iter().any(|prefix| key.starts_with(prefix)),
    };
    is_of_istio || key::OF_PODS.contains(&key) || key::KUEUE_TOPOLOGY.contains(&key)
}

/// Returns the check of an entry with this `key`.
fn check_of(key: &str) -> CheckId {
    let is_own = key.starts_with(keys::OWN_PREFIX) || key_with_other_domain(key).is_some();
    if is_own { OWN_KEYS } else { MISPLACED_KEYS }
}

impl<'a> Entry<'a> {
    /// Returns true if the entry is a label with which a Namespace includes its pods.
    fn includes_namespace(&self) -> bool {
        self.key == keys::INJECT && (self.value == scope::ENABLED || self.value == scope::AUDIT)
    }

    fn check(&self) -> CheckId {
        check_of(self.key)
    }

    /// Returns the severity: common labels of a kustomization add the revision of Istio to all objects.
    fn severity(&self) -> Severity {
        if self.key == keys::ISTIO_REVISION { Severity::Info } else { Severity::Warning }
    }

    /// Returns where in pods the entry has an effect, or would have one.
    fn location(&self) -> Location {
        if self.pod_map() == "labels" { Location::PodLabel } else { Location::PodAnnotation }
    }

    /// Returns the file and line of the entry in `document`.
    fn position(&self, document: &Document) -> (Arc<str>, u64) {
        document.path_position(&format!("{}[{}]", joined(&self.path), self.key))
    }

    fn pod_map(&self) -> &'static str {
        pod_map(self.key).unwrap_or(self.map)
    }

    /// Returns the problem that the entry has on pods, too, so that nobody moves a misspelled one.
    fn problem_in_pods(&self, fabric: &Fabric) -> Option<String> {
        let value = self.value.as_str()?;
        let location = self.location();
        let unknown_profile = (self.key == keys::FABRIC).then(|| fabric_problem(value, &fabric.profiles)).flatten();
        unknown_profile.or_else(|| problem(location, self.key, value))
    }

    /// Returns why the entry has no effect, and how to correct it.
    fn message(&self, templates: &[Template<'_>], fabric: &Fabric) -> String {
        let (path, key) = (joined(&self.path), self.key);
        match (misspelled_key(self.location(), key), self.problem_in_pods(fabric)) {
            (Some(near), _) => {
                let place = self.place(pod_map(near).unwrap_or(self.map), templates);
                let place = place
                    .map_or_else(|| "on the pod template of its runtime".to_owned(), |place| format!("in {place}"));
                format!("{key} has no effect in {path}: did you mean {near} {place}?")
            }
            (None, _) if is_set_by_trainmesh(key) => {
                format!("{key} has no effect in {path}: only trainmesh sets it, on pods; remove it")
            }
            (None, _) if self.includes_namespace() => format!(
                "{key} has no effect in {path}: it includes pods only as a label of their Namespace; on pods, only {} has an \
                 effect",
                scope::DISABLED
            ),
            // There is no place for a key that does not exist.
            (None, Some(problem)) if self.check() == OWN_KEYS && pod_map(key).is_none() => problem,
            (None, problem) => {
                let problem = problem.map(|problem| format!("; {problem}")).unwrap_or_default();
                format!("{key} has no effect in {path}: {}{problem}", self.fix(templates))
            }
        }
    }

    /// Returns the path of the object that the entry is about, which contains its map or its metadata.
    fn owner(&self) -> &[Step<'a>] {
        match self.path.as_slice() {
            [owner @ .., Step::Key("metadata"), _] | [owner @ .., _] => owner,
            [] => &[],
        }
    }

    /// Returns true if the pods below the owner have the entry, from their templates or because an operator copies it, and it has an
    /// effect there. A job of which only some pods have it is the mistake that is hard to see.
    fn has_effect(&self, templates: &[Template<'_>], reports: &[PodReport]) -> bool {
        if pod_map(self.key).is_some_and(|map| map != self.map) {
            return false;
        }
        let below = || templates.iter().filter(|template| template.path.starts_with(self.owner()));
        let is_whole = matches!(self.owner(), [] | [Step::Key("spec")]);
        let has_entry = |report: &&PodReport| {
            let metadata = report.original.get("metadata");
            metadata.and_then(|metadata| metadata.get(self.map)?.get(self.key)) == Some(self.value)
        };
        let is_auxiliary = |report: &PodReport| {
            workload::identify(Pod::new(&report.original)).is_some_and(workload::is_auxiliary_role)
        };
        let expected = match below().count() {
            // The templates are in a runtime. A patch may change those of one role.
            0 if !is_whole => 1,
            0 => reports.len(),
            // An operator may copy the entry to a pod of its own, which has no template, instead of one with a template.
            _ if is_whole && reports.iter().filter(has_entry).any(is_auxiliary) => reports.len(),
            count => count.min(reports.len()),
        };
        below().next().is_some() && below().all(|template| template.has(self))
            || reports.iter().filter(has_entry).count() >= expected.max(1)
    }

    /// Returns how to give the pods the entry.
    fn fix(&self, templates: &[Template<'_>]) -> String {
        let target = self.pod_map();
        let replacement =
            (self.key == keys::ISTIO_INJECTION).then(|| format!("the label {}: \"false\"", keys::SIDECAR_INJECT));
        let Some(place) = self.place(target, templates).or_else(|| self.place_in_patch(target)) else {
            let entry = replacement.as_deref().unwrap_or("it");
            return format!(
                "set {entry} on the pod template of its runtime, in spec.runtimePatches (v2.2 or newer), or in \
                 spec.podTemplateOverrides (v2.1)"
            );
        };
        if let Some(entry) = replacement {
            format!("set {entry} in {place}")
        } else if target == self.map {
            format!("move it to {place}")
        } else {
            format!("set the {} in {place}", target.trim_end_matches('s'))
        }
    }

    /// Returns where `map` of the pods is in the patch of a `TrainJob` whose template of a Job has the entry: one level deeper.
    fn place_in_patch(&self, map: &str) -> Option<String> {
        let owner = self.owner();
        let is_template_of_job = matches!(
            owner,
            [
                Step::Key("spec"),
                Step::Key("runtimePatches"),
                ..,
                Step::Key("replicatedJobs"),
                Step::Index(_),
                Step::Key("template")
            ]
        );
        is_template_of_job.then(|| format!("{}.spec.template.metadata.{map}", joined(owner)))
    }

    /// Returns where `map` of the pods is: in the first of `templates` below the owner that lacks the entry; `None` if there is no
    /// template.
    fn place(&self, map: &str, templates: &[Template<'_>]) -> Option<String> {
        let lacking = |template: &&Template<'_>| template.path.starts_with(self.owner()) && !template.has(self);
        let mut lacking = templates.iter().filter(lacking);
        let (first, is_only) = match lacking.next() {
            Some(first) => (first, lacking.next().is_none()),
            None => (templates.first()?, templates.len() == 1),
        };
        let others = if is_only { "" } else { " (and of the other pod templates)" };
        Some(format!("{}.{map}{others}", first.metadata_path()))
    }
}
