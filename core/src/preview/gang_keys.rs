//! Part of TR006: labels and annotations of gang schedulers, Kueue and operators that are misspelled, or in the wrong map of a pod's
//! metadata, and misspelled names of schedulers.

use serde_json::{Map, Value};

use super::MAX_WARNINGS;
use super::misplaced::object_name;
use super::walk::{Next, is_pod_template, joined, visit_objects};
use crate::config::LintSettings;
use crate::gang::{misspelled_key, misspelled_scheduler, only_map};
use crate::lint::MISPLACED_KEYS;
use crate::manifest::{Document, DocumentWarning};
use crate::own_keys::excerpt;
use crate::step::Step;

/// Group of Volcano Jobs.
const VOLCANO: &str = "batch.volcano.sh/";

/// Returns a warning of TR006 for each such entry and name in `document`, of this `kind`.
pub(super) fn warnings(
    document: &Document,
    kind: &str,
    namespace: &str,
    settings: &LintSettings,
) -> Vec<DocumentWarning> {
    if !settings.warns(MISPLACED_KEYS) {
        return Vec::new();
    }
    let name = object_name(kind, Some(namespace), super::name_of(document));
    let mut found: Vec<(String, String)> = Vec::new();
    visit_objects(&document.value, &mut Vec::new(), &mut |path, fields| {
        check_object(path, fields, &mut found);
        if found.len() < MAX_WARNINGS { Next::Inside } else { Next::Stop }
    });
    found.truncate(MAX_WARNINGS);
    let warning = |(field, message): (String, String)| {
        let position = document.path_position(&field);
        DocumentWarning::at(document, position, MISPLACED_KEYS.code(), format!("{name}: {message}"))
    };
    found.into_iter().map(warning).collect()
}

/// Adds the path and the message of each problem of the object at `path`.
fn check_object(path: &[Step<'_>], fields: &Map<String, Value>, found: &mut Vec<(String, String)>) {
    let is_pod = is_pod_template(fields);
    let metadata = fields.get("metadata");
    let map = |name: &str| metadata.and_then(|metadata| metadata.get(name)?.as_object());
    let map_path = |map: &str| joined(&[path, &[Step::Key("metadata"), Step::Key(map)]].concat());
    let place = |map: &str| if is_pod { map_path(map) } else { format!("the {map} of the pod template") };
    for name in ["labels", "annotations"] {
        for key in map(name).into_iter().flat_map(Map::keys) {
            let own = map_path(name);
            let field = format!("{own}[{key}]");
            if let Some(near) = misspelled_key(key) {
                let place = only_map(&near).filter(|map| *map != name).map(|map| format!(" in {}", place(map)));
                let place = place.unwrap_or_default();
                found.push((field, format!("{key} has no effect in {own}: did you mean {near}{place}?")));
            } else if let Some(right) = only_map(key)
                .filter(|right| is_pod && *right != name && map(right).is_none_or(|map| !map.contains_key(key)))
            {
                let entry = right.trim_end_matches('s');
                found.push((field, format!("{key} has no effect in {own}: set the {entry} in {}", place(right))));
            }
        }
    }
    // The pods of a Volcano Job get its scheduler.
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    let is_volcano_job = text("kind") == "Job" && text("apiVersion").starts_with(VOLCANO);
    let scheduler = fields.get("spec").and_then(|spec| spec.get("schedulerName")?.as_str());
    let scheduler = scheduler.filter(|_| is_pod || is_volcano_job);
    if let Some((scheduler, near)) = scheduler.and_then(|name| Some((name, misspelled_scheduler(name)?))) {
        let field = joined(&[path, &[Step::Key("spec"), Step::Key("schedulerName")]].concat());
        let message = format!("no scheduler is known to be called {}: did you mean {near}?", excerpt(scheduler));
        found.push((field, message));
    }
}
