//! Labels and annotations on training runtimes that have no effect.

use serde_json::Value;

use super::misplaced;
use super::walk::{Next, is_pod_template, joined, visit_objects};
use super::{MAX_WARNINGS, ManifestContext, name_of};
use crate::config::Fabric;
use crate::json;
use crate::keys;
use crate::lint::OWN_KEYS;
use crate::manifest::{Document, DocumentWarning};
use crate::own_keys::{Location, fabric_problem, problem};
use crate::workload::RuntimeReference;

/// Returns a warning for each label and annotation on `document` that has no effect, if it is a training runtime. Those of the pod
/// templates are findings of the pods of the `TrainJobs` of the input that use the runtime, and warnings without such a job.
pub(super) fn warnings(
    document: &Document,
    namespace: &str,
    context: &ManifestContext,
    fabric: &Fabric,
) -> Vec<DocumentWarning> {
    let Some(reference) = RuntimeReference::from_runtime(&document.value, namespace) else { return Vec::new() };
    let kind = json::text(&document.value, "kind").unwrap_or_default();
    let mut warnings = misplaced::warnings(document, kind, reference.namespace.as_deref(), &[], fabric);
    if fabric.lint.warns(OWN_KEYS) && !context.is_used(&reference) {
        let name = misplaced::object_name(kind, reference.namespace.as_deref(), name_of(document));
        let warning = |(path, message)| {
            let message = format!("{name}: {message}");
            DocumentWarning::at(document, document.path_position(path), OWN_KEYS.code(), message)
        };
        let problems = template_problems(&document.value, fabric);
        warnings.extend(problems.iter().map(|(path, message)| warning((path, message))));
    }
    warnings
}

/// Returns the path and the problem of each label and annotation of the pod templates of `runtime`.
fn template_problems(runtime: &Value, fabric: &Fabric) -> Vec<(String, String)> {
    let mut found = Vec::new();
    visit_objects(runtime, &mut Vec::new(), &mut |path, fields| {
        if !is_pod_template(fields) {
            return Next::Inside;
        }
        for (map, location) in [("labels", Location::PodLabel), ("annotations", Location::PodAnnotation)] {
            let entries = fields.get("metadata").and_then(|metadata| metadata.get(map)?.as_object());
            for (key, value) in entries.into_iter().flatten() {
                let value = value.as_str().unwrap_or_default();
                let is_fabric = key == keys::FABRIC && location == Location::PodLabel;
                let unknown_profile = is_fabric.then(|| fabric_problem(value, &fabric.profiles)).flatten();
                let Some(problem) = unknown_profile.or_else(|| problem(location, key, value)) else { continue };
                if found.len() == MAX_WARNINGS {
                    return Next::Stop;
                }
                found.push((
                    format!("{}.metadata.{map}[{key}]", joined(path)),
                    format!("{} {problem}", location.name()),
                ));
            }
        }
        Next::After
    });
    found
}
