//! Labels with a queue of Kueue that are not on the job: Kueue ignores those of the pods and of other objects that the job creates
//! (kubernetes-sigs/kueue, `pkg/controller/jobs/pod/pod_webhook.go`: the pods of an enabled integration are not managed).

use serde_json::Value;

use super::MAX_WARNINGS;
use super::walk::{Next, joined, visit_objects};
use crate::config::LintSettings;
use crate::gang::kueue_integration;
use crate::json;
use crate::keys::KUEUE_QUEUE;
use crate::lint::MISPLACED_KEYS;
use crate::manifest::{Document, DocumentWarning};
use crate::workload::{is_outside_kueue, kueue_queue};

/// Kinds that pass the label to other objects which Kueue manages, or that contain such objects.
const PASSED_ON: [&str; 2] = ["LeaderWorkerSet", "AppWrapper"];
/// Kind whose Jobs get their labels from a template.
const CRON_JOB: &str = "CronJob";

/// Returns a warning of TR006 for each such label in `document`, of this `kind`, unless the job itself is in a queue. Also one about the
/// queue of a job that Kueue cannot manage.
pub(super) fn warnings(
    document: &Document,
    kind: &str,
    namespace: &str,
    settings: &LintSettings,
) -> Vec<DocumentWarning> {
    if is_outside_kueue(&document.value) && settings.warns(MISPLACED_KEYS) {
        return without_integration(document, kind, namespace).into_iter().collect();
    }
    let Some(integration) =
        integration(&document.value, kind).filter(|_| !PASSED_ON.contains(&kind) && settings.warns(MISPLACED_KEYS))
    else {
        return Vec::new();
    };
    if kueue_queue(&document.value).is_some() {
        return Vec::new();
    }
    let (owner, target) = (if kind == CRON_JOB { "Jobs" } else { kind }, managed_path(kind));
    let name = super::name_of(document);
    let warning = |path: String| {
        let message = format!(
            "{kind} {namespace}/{name}: {KUEUE_QUEUE} has no effect in {path} with Kueue's integration {integration}, which reads the \
             label of the {owner}: move it to {target}.metadata.labels"
        );
        let position = document.path_position(&format!("{path}[{KUEUE_QUEUE}]"));
        DocumentWarning::at(document, position, MISPLACED_KEYS.code(), message)
    };
    queued(&document.value).into_iter().map(warning).collect()
}

/// Returns the integration by which Kueue manages `workload`, of this `kind`.
pub(super) fn integration(workload: &Value, kind: &str) -> Option<&'static str> {
    let (group, _) = json::text(workload, "apiVersion").unwrap_or_default().split_once('/').unwrap_or_default();
    kueue_integration(group, if kind == CRON_JOB { "Job" } else { kind })
}

/// Returns the path in a workload of this `kind` of the object that Kueue manages.
pub(super) fn managed_path(kind: &str) -> &'static str {
    if kind == CRON_JOB { ".spec.jobTemplate" } else { "" }
}

/// Returns true if an object in `workload` has a queue.
pub(super) fn has_queue(workload: &Value) -> bool {
    !queued(workload).is_empty()
}

/// Returns the warning about the queue of `document`, for whose kind Kueue has no integration.
fn without_integration(document: &Document, kind: &str, namespace: &str) -> Option<DocumentWarning> {
    let queue = document.value.get("metadata")?.get("labels")?.get(KUEUE_QUEUE)?.as_str()?;
    let api_version = json::text(&document.value, "apiVersion").unwrap_or_default();
    let name = super::name_of(document);
    let message = format!(
        "{kind} {namespace}/{name}: {KUEUE_QUEUE} has no effect: Kueue has no integration for {api_version} {kind}: use a JobSet, or set \
         spec.queue, a queue of Volcano"
    );
    let position = document.path_position(&format!(".metadata.labels[{KUEUE_QUEUE}]"));
    (!queue.is_empty()).then(|| DocumentWarning::at(document, position, MISPLACED_KEYS.code(), message))
}

/// Returns the paths of the labels in `object` that contain a queue.
fn queued(object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    visit_objects(object, &mut Vec::new(), &mut |path, fields| {
        let queue = fields.get("metadata").and_then(|metadata| metadata.get("labels")?.get(KUEUE_QUEUE)?.as_str());
        if queue.is_some_and(|queue| !queue.is_empty()) {
            found.push(format!("{}.metadata.labels", joined(path)));
        }
        if found.len() < MAX_WARNINGS { Next::Inside } else { Next::Stop }
    });
    found
}
