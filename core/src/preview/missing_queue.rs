//! TR016: workloads that gang mode `kueue` leaves to Kueue, which does not manage them, and misspelled labels of queues.

use serde_json::{Map, Value};

use super::queue_labels::{has_queue, integration, managed_path};
use super::walk::{Next, is_pod_template, joined, visit_objects};
use super::{MAX_WARNINGS, PodReport, name_of};
use crate::config::LintSettings;
use crate::gang::GangMode;
use crate::hint::nearest;
use crate::json;
use crate::keys::{self, KUEUE_QUEUE};
use crate::lint::MISSING_QUEUE;
use crate::manifest::{Document, DocumentWarning};
use crate::mutate::{Reason, RuleId};
use crate::pod::Pod;
use crate::workload::kueue_queue;

/// Start of the keys of Kueue.
const PREFIX: &str = "kueue";
/// Names of the label without its domain and separators, as people remember them.
const NAMES: [&str; 4] = ["queuename", "queue", "localqueue", "localqueuename"];
/// Label of the pods of admitted jobs, which Kueue sets (kubernetes-sigs/kueue 0.19, `pkg/constants`).
const SET_BY_KUEUE: &str = "kueue.x-k8s.io/local-queue-name";
/// API versions and kinds that Kueue manages as pods, by the same label (kubernetes-sigs/kueue 0.19, `pkg/controller/jobs`).
const MANAGED_AS_PODS: [(&str, &str); 3] = [("v1", "Pod"), ("apps/v1", "Deployment"), ("apps/v1", "StatefulSet")];

/// Condition on which Kueue gives a job without the label a queue.
const UNLESS_DEFAULT: &str = "unless the namespace has a LocalQueue called default";

/// A label or annotation that resembles the label of a queue, or is that label.
struct SimilarKey<'a> {
    /// Path of the object that has it.
    owner: String,
    /// `labels` or `annotations`.
    map: &'static str,
    key: &'a str,
    /// True if the object is a pod template.
    is_of_pods: bool,
}

/// Returns the warnings about `document`, of this `kind`: one for each label that resembles that of a queue, if the job has none, or else
/// one if its pods, which `reports` contains, are left to Kueue, but it names no queue, nor has its namespace a default one.
pub(super) fn warnings(
    document: &Document,
    kind: &str,
    namespace: &str,
    reports: &[PodReport],
    has_default_queue: bool,
    settings: &LintSettings,
) -> Vec<DocumentWarning> {
    let value = &document.value;
    if !settings.warns(MISSING_QUEUE) || kueue_queue(value).is_some() {
        return Vec::new();
    }
    let (integration, path) = (integration(value, kind), managed_path(kind));
    let is_queued = has_default_queue && integration.is_some();
    let is_left = reports.iter().any(is_left_to_kueue) && !is_queued;
    let subject = format!("{kind} {namespace}/{}", name_of(document));
    let warning = |field: &str, message: &str| {
        let message = format!("{subject}: {message}");
        DocumentWarning::at(document, document.path_position(field), MISSING_QUEUE.code(), message)
    };
    let enable = match integration {
        Some(integration) if is_left => format!(", and enable Kueue's integration {integration}"),
        _ => String::new(),
    };
    let consequence = if is_left {
        format!(", so that Kueue does not manage the pods of gang mode kueue, {UNLESS_DEFAULT}")
    } else {
        String::new()
    };
    let api_version = json::text(value, "apiVersion").unwrap_or_default();
    let is_managed = integration.is_some() || MANAGED_AS_PODS.contains(&(api_version, kind));
    let keys = if is_managed { similar_keys(value, path) } else { Vec::new() };
    // Templates of charts leave the queue empty where there is none, and those of pods are copied from pods of admitted jobs. TR006
    // reports a queue of the pod templates.
    let is_mistake = |entry: &SimilarKey<'_>| match (entry.map, entry.key) {
        ("labels", KUEUE_QUEUE) => is_left && !entry.is_of_pods,
        ("labels", SET_BY_KUEUE) => kind != "Pod" && !entry.is_of_pods,
        _ => true,
    };
    let mistakes = keys.into_iter().filter(is_mistake);
    let mut warnings: Vec<DocumentWarning> = Vec::new();
    for similar in mistakes {
        let fix = similar.fix(path);
        let SimilarKey { owner, map, key, is_of_pods: _ } = similar;
        let entry = map.trim_end_matches('s');
        let message = format!("{entry} {key} names no queue{consequence}: {fix}{enable}");
        warnings.push(warning(&format!("{owner}.metadata.{map}[{key}]"), &message));
    }
    // TR006 reports a queue of the pod templates.
    if !is_left || has_queue(value) {
        return warnings;
    }
    if integration.is_none() {
        let is_labeled =
            |report: &PodReport| Pod::new(&report.original).label(keys::GANG) == Some(GangMode::Kueue.name());
        // FP045 reports the label of a pod.
        if !reports.iter().all(is_labeled) {
            let message = "gang mode kueue, but Kueue has no integration for this kind: its pods start one by one";
            warnings.push(warning("metadata", message));
        }
    } else if warnings.is_empty() {
        let message = format!(
            "gang mode kueue, but no queue: Kueue does not manage the pods, which start outside of every quota, {UNLESS_DEFAULT}: set the \
             label {KUEUE_QUEUE} in {path}.metadata.labels{enable}"
        );
        warnings.push(warning(&format!("{path}.metadata.labels"), &message));
    }
    warnings
}

/// Returns true if the rule `gang` leaves the pods to Kueue.
fn is_left_to_kueue(report: &PodReport) -> bool {
    report.rules.iter().any(|rule| rule.rule == RuleId::Gang && rule.reason == Reason::GangLeftToKueue)
}

/// Returns the keys of `workload`, in the object at `path` and in the pod templates, that resemble the label of a queue.
fn similar_keys<'a>(workload: &'a Value, path: &str) -> Vec<SimilarKey<'a>> {
    let managed = if path.is_empty() { Some(workload) } else { workload.pointer(&path.replace('.', "/")) };
    let mut found = Vec::new();
    if let Some(fields) = managed.and_then(Value::as_object) {
        found.extend(SimilarKey::all(path, fields, false));
    }
    visit_objects(workload, &mut Vec::new(), &mut |path, fields| {
        if !path.is_empty() && is_pod_template(fields) {
            found.extend(SimilarKey::all(&joined(path), fields, true));
        }
        if found.len() < MAX_WARNINGS { Next::Inside } else { Next::Stop }
    });
    found.truncate(MAX_WARNINGS);
    found
}

impl<'a> SimilarKey<'a> {
    /// Returns those in the metadata of the object at `owner`.
    fn all(owner: &str, object: &'a Map<String, Value>, is_of_pods: bool) -> Vec<Self> {
        let Some(metadata) = object.get("metadata") else { return Vec::new() };
        let mut found = Vec::new();
        for map in ["labels", "annotations"] {
            let keys = metadata.get(map).and_then(Value::as_object).into_iter().flat_map(Map::keys).map(String::as_str);
            let similar = keys.filter(|key| resembles_queue(key));
            found.extend(similar.map(|key| Self { owner: owner.to_owned(), map, key, is_of_pods }));
        }
        found
    }

    /// Returns how to give the object at `path`, which Kueue manages, the label of a queue instead.
    fn fix(&self, path: &str) -> String {
        let place = if self.is_of_pods { format!(" in {path}.metadata.labels") } else { String::new() };
        match (self.map, self.key) {
            ("labels", KUEUE_QUEUE) => "set it to the name of a LocalQueue".to_owned(),
            (_, KUEUE_QUEUE) if self.is_of_pods => format!("set the label{place}"),
            (_, KUEUE_QUEUE) => "make it a label".to_owned(),
            _ => format!("use {KUEUE_QUEUE}{place}"),
        }
    }
}

fn resembles_queue(key: &str) -> bool {
    let (domain, name) = key.split_once('/').unwrap_or_default();
    let folded: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    nearest(key, &[KUEUE_QUEUE]).is_some_and(|_| NAMES.iter().any(|known| nearest(&folded, &[known]).is_some()))
        || domain.starts_with(PREFIX) && NAMES.contains(&folded.as_str())
}
