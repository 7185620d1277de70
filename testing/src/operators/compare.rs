//! Compares a workload on the cluster with its preview.

use std::fmt::Write as _;

use serde_json::Value;
use similar::TextDiff;
use trainmesh_core::yaml;

use super::case::{Case, prepare};
use super::nondeterminism::{describe, normalize};
use crate::cli::trainmesh;
use crate::cluster::{Cluster, Namespace, TIMEOUT, creates_pod, eventually, list};
use crate::webhook::Webhook;

/// A pod of the preview and its counterpart on the cluster.
#[derive(Clone, Copy, Debug)]
struct Expectation {
    /// Field of a preview result.
    preview_field: &'static str,
    /// Extracts the counterpart from the audit event that created the pod.
    actual: fn(&Value) -> Value,
}

/// The pod as its controller sent it.
const ORIGINAL: Expectation = Expectation { preview_field: "original", actual: sent_pod };

/// The pod with the webhook's patch.
const PATCHED: Expectation = Expectation { preview_field: "pod", actual: patched_pod };

/// Opted in, and injected by a revision that is not installed: only trainmesh changes the pods.
const LABELS: [(&str, &str); 2] = [("trainmesh.dev/inject", "enabled"), ("istio.io/rev", "none")];

/// Asserts that the preview of a workload equals what its controller sends and what the webhook patches.
pub fn check(case: &Case) {
    let webhook = Webhook::start();
    let created = Created::new(case, &webhook);
    created.check(ORIGINAL);
    created.check(PATCHED);
}

/// A workload that was created and previewed.
#[derive(Debug)]
struct Created {
    namespace: Namespace,
    roles: Vec<CreatedRole>,
    generated: Vec<(String, String)>,
}

/// A role of a workload.
#[derive(Debug)]
struct CreatedRole {
    /// Result of the preview.
    result: Value,
    /// Audit event of the request that created the pod of replica 0.
    event: Value,
}

impl Created {
    /// Creates the workload in a new namespace that `webhook` covers, and waits for a pod of each role.
    fn new(case: &Case, webhook: &Webhook) -> Self {
        case.start(Cluster::get());
        let namespace = webhook.namespace(&LABELS);
        let manifest = case.manifest(&namespace.name);
        let results = preview(&manifest, &LABELS);
        prepare(&manifest, &namespace);
        let generated = generated(&create(&namespace, &manifest), &results);
        let events = eventually(TIMEOUT, "a pod of each role", || {
            let created = namespace.audit(|event| creates_pod(event) && !is_dry_run(event));
            find_all(&results, &created, &generated).inspect_err(|_| (case.simulate)(&namespace))
        });
        let roles = results.into_iter().zip(events).map(|(result, event)| CreatedRole { result, event }).collect();
        Self { namespace, roles, generated }
    }

    /// Compares every role.
    fn check(&self, expectation: Expectation) {
        let previews =
            self.decode_pods(self.roles.iter().map(|role| role.result[expectation.preview_field].clone()).collect());
        let mut differences = String::new();
        for (role, preview) in self.roles.iter().zip(previews) {
            let actual = normalize(&(expectation.actual)(&role.event), &self.generated);
            let preview = normalize(&preview, &self.generated);
            if actual != preview {
                let (preview, actual) = (sorted_yaml(preview), sorted_yaml(actual));
                let diff = TextDiff::from_lines(&preview, &actual);
                let diff = diff.unified_diff().header("preview", "cluster").to_string();
                let name = ["kind", "name", "role"].map(|key| role.result[key].as_str().unwrap_or_default()).join(" ");
                writeln!(differences, "{name}:\n{diff}").unwrap();
            }
        }
        assert!(differences.is_empty(), "{differences}\nnot compared:\n{}", describe());
    }

    /// Returns pods as the apiserver decodes them: with the defaults of its schema and canonical quantities, like the
    /// pods of the controllers in the audit log.
    fn decode_pods(&self, pods: Vec<Value>) -> Vec<Value> {
        let dry_runs = || self.namespace.audit(|event| creates_pod(event) && is_dry_run(event));
        let (count, before) = (pods.len(), dry_runs().len());
        // The result of admission does not matter: the audit log has the request.
        let output = self.namespace.kubectl(&["create", "--dry-run=server", "-f", "-"], &list(pods));
        // The apiserver may respond before it writes the event.
        eventually(TIMEOUT, "the audit log has the pods of the preview", || {
            let recent = dry_runs().split_off(before);
            let decoded: Vec<_> = recent.into_iter().map(|mut event| event["requestObject"].take()).collect();
            let complete = decoded.len() == count && decoded.iter().all(Value::is_object);
            if complete { Ok(decoded) } else { Err(format!("the apiserver could not decode them: {}", output.stderr)) }
        })
    }
}

/// Returns the pod of the request. Built-in controllers leave out the namespace, which the apiserver adds before
/// admission.
fn sent_pod(event: &Value) -> Value {
    let mut pod = event["requestObject"].clone();
    if pod["metadata"]["namespace"].is_null() {
        pod["metadata"]["namespace"] = event["objectRef"]["namespace"].clone();
    }
    pod
}

/// Returns the pod of the request with trainmesh's patches, which the audit event records.
fn patched_pod(event: &Value) -> Value {
    let mut pod = sent_pod(event);
    for (key, text) in event["annotations"].as_object().into_iter().flatten() {
        if !key.starts_with("patch.webhook.admission.k8s.io/") {
            continue;
        }
        let entry: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
        if entry["configuration"].as_str().is_some_and(|name| name.starts_with("0-trainmesh")) {
            let patch: json_patch::Patch = serde_json::from_value(entry["patch"].clone()).unwrap();
            json_patch::patch(&mut pod, &patch).unwrap();
        }
    }
    pod
}

fn preview(manifest: &str, labels: &[(&str, &str)]) -> Vec<Value> {
    let mut arguments = vec!["preview", "-f", "-", "-o", "json"];
    let labels: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let labels = labels.join(",");
    if !labels.is_empty() {
        arguments.extend(["--namespace-labels", &labels]);
    }
    let run = trainmesh(&arguments, manifest);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let mut report: Value = serde_json::from_str(&run.stdout).unwrap();
    serde_json::from_value(report["results"].take()).unwrap()
}

/// Creates the objects of the manifest and returns their names. Retries rejected objects: Trainer's webhook reads the
/// runtime from a cache, which lags.
fn create(namespace: &Namespace, manifest: &str) -> Vec<String> {
    let mut names = Vec::new();
    eventually(TIMEOUT, "all objects are accepted", || {
        let output = namespace.create(manifest);
        names.extend(output.names().into_iter().map(str::to_owned));
        let mut errors = output.errors().filter(|line| !line.contains("AlreadyExists")).peekable();
        if errors.peek().is_none() { Ok(()) } else { Err(errors.collect::<String>()) }
    });
    names
}

fn sorted_yaml(mut value: Value) -> String {
    value.sort_all_objects();
    yaml::to_string(&value)
}

/// Returns the names that the apiserver completed, each with the placeholder of the preview.
fn generated(names: &[String], results: &[Value]) -> Vec<(String, String)> {
    /// Length to which the apiserver truncates a prefix before it appends five characters.
    const MAX_PREFIX: usize = 58;
    let prefixes = results.iter().filter_map(|result| result["name"].as_str()).filter(|name| name.ends_with('-'));
    let prefixes: Vec<_> = prefixes.map(|prefix| &prefix[..prefix.len().min(MAX_PREFIX)]).collect();
    let completed = |name: &String| {
        let prefix = prefixes.iter().find(|prefix| name.len() == prefix.len() + 5 && name.starts_with(**prefix))?;
        Some((name.clone(), format!("{prefix}00000")))
    };
    names.iter().filter_map(completed).collect()
}

/// Finds the request that created the pod of each role. The error lists the pods created so far.
fn find_all(results: &[Value], created: &[Value], generated: &[(String, String)]) -> Result<Vec<Value>, String> {
    let name = |pod: &Value| {
        let metadata = &normalize(pod, generated)["metadata"];
        (metadata["name"].clone(), metadata["generateName"].clone())
    };
    let names: Vec<_> = created.iter().map(|event| name(&event["requestObject"])).collect();
    let find = |result: &Value| {
        let wanted = name(&result["original"]);
        let index = names.iter().position(|name| *name == wanted);
        index.map(|index| created[index].clone()).ok_or_else(|| format!("no pod {wanted:?} among {names:?}"))
    };
    results.iter().map(find).collect()
}

fn is_dry_run(event: &Value) -> bool {
    event["requestURI"].as_str().is_some_and(|uri| uri.contains("dryRun=All"))
}
