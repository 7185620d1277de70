//! Pod templates beyond the limits of a preview.

use std::borrow::Cow;

use serde_json::Value;

use super::INDEPENDENT;
use crate::json;
use crate::manifest::{Document, DocumentWarning};
use crate::workload::{self, generic};

/// Returns a warning if an object of a kind that is not supported contains more pod templates than are shown. The object is
/// `document`, of this `kind`, or a component of an `AppWrapper`.
pub(super) fn warning(document: &Document, kind: &str, namespace: &str) -> Option<DocumentWarning> {
    let (mut count, mut first) = (0, None);
    for (path, object) in objects(&document.value, kind) {
        let text = |key: &str| json::text(object, key).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        if workload::find(api_version, kind).is_some() || generic::creates_no_pods(api_version, kind) {
            continue;
        }
        let templates = generic::templates(object);
        if templates.omitted > 0 {
            count += templates.omitted;
            first.get_or_insert_with(|| format!("{path}{}", templates.first_omitted));
        }
    }
    let first = first?;
    let plural = if count == 1 { " is" } else { "s are" };
    let message = format!(
        "{kind} {namespace}/{}: {count} pod template{plural} neither shown nor checked, from {first} on: the limits are {} \
         templates and {} levels",
        super::name_of(document),
        generic::MAX_TEMPLATES,
        generic::MAX_DEPTH
    );
    let warning = DocumentWarning::at(document, document.path_position(&first), None, message);
    Some(DocumentWarning { hides_pods: true, ..warning })
}

/// Returns the objects that may be of a kind that is not supported, with the starts of the paths of their fields.
fn objects<'a>(object: &'a Value, kind: &str) -> Vec<(Cow<'static, str>, &'a Value)> {
    if kind != INDEPENDENT {
        return vec![(Cow::Borrowed(""), object)];
    }
    let components = object.pointer("/spec/components").and_then(Value::as_array).into_iter().flatten().enumerate();
    let templates = components.filter_map(|(index, component)| {
        Some((format!("spec.components[{index}].template.").into(), component.get("template")?))
    });
    templates.collect()
}
