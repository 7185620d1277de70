//! A workload on the cluster beside its preview.

use std::fmt::Write as _;

use serde_json::Value;
use similar::TextDiff;
use trainmesh_core::yaml;

use super::case::{Case, prepare};
use super::chance::{reasons, settle};
use crate::cli::trainmesh;
use crate::cluster::{Cluster, Namespace, PATIENCE, creates_pod, eventually, list};
use crate::webhook::Webhook;

/// Which pod of the preview must equal what of the cluster.
#[derive(Clone, Copy, Debug)]
struct Expectation {
    /// The field of a preview's result.
    shown: &'static str,
    /// The same of the request that created the pod.
    real: fn(&Value) -> Value,
}

/// The pod as its controller has sent it.
const ORIGINAL: Expectation = Expectation { shown: "original", real: as_sent };

/// The pod as the webhook has made it.
const PATCHED: Expectation = Expectation { shown: "pod", real: as_patched };

/// Opted in, and injected by a revision that nobody has installed: only trainmesh changes the pods.
const LABELS: [(&str, &str); 2] = [("trainmesh.dev/inject", "enabled"), ("istio.io/rev", "none")];

/// Holds a workload's preview against what its controller sends, and against what the webhook makes of that.
pub fn check(case: &Case) {
    let webhook = Webhook::start();
    let created = Created::new(case, &webhook);
    created.check(ORIGINAL);
    created.check(PATCHED);
}

/// A workload that was created, and previewed.
#[derive(Debug)]
struct Created {
    namespace: Namespace,
    roles: Vec<CreatedRole>,
    generated: Vec<(String, String)>,
}

/// A role of a workload.
#[derive(Debug)]
struct CreatedRole {
    /// The preview's result.
    result: Value,
    /// The audit event of the request that created the pod of replica 0.
    event: Value,
}

impl Created {
    /// Creates the workload in a new namespace that `webhook` serves, and waits for a pod of each role.
    fn new(case: &Case, webhook: &Webhook) -> Self {
        case.start(Cluster::get());
        let namespace = webhook.namespace(&LABELS);
        let manifest = case.manifest(&namespace.name);
        let results = preview(&manifest, &LABELS);
        prepare(&manifest, &namespace);
        let generated = generated(&create(&namespace, &manifest), &results);
        let events = eventually(PATIENCE, "a pod of each role", || {
            let posted = namespace.audit(|event| creates_pod(event) && !is_dry_run(event));
            find_all(&results, &posted, &generated).inspect_err(|_| (case.help)(&namespace))
        });
        let roles = results.into_iter().zip(events).map(|(result, event)| CreatedRole { result, event }).collect();
        Self { namespace, roles, generated }
    }

    /// Compares every role.
    fn check(&self, expectation: Expectation) {
        let shown = self.as_read(self.roles.iter().map(|role| role.result[expectation.shown].clone()).collect());
        let mut differences = String::new();
        for (role, shown) in self.roles.iter().zip(shown) {
            let real = settle(&(expectation.real)(&role.event), &self.generated);
            let shown = settle(&shown, &self.generated);
            if real != shown {
                let (shown, real) = (sorted_yaml(shown), sorted_yaml(real));
                let diff = TextDiff::from_lines(&shown, &real);
                let diff = diff.unified_diff().header("the preview shows", "the cluster has").to_string();
                let name = ["kind", "name", "role"].map(|key| role.result[key].as_str().unwrap_or_default()).join(" ");
                writeln!(differences, "{name}:\n{diff}").unwrap();
            }
        }
        assert!(differences.is_empty(), "{differences}\nnot compared:\n{}", reasons());
    }

    /// Pods as the apiserver reads them: with the defaults of its schema and quantities in their shortest form, as the
    /// audit log shows the controllers' own.
    fn as_read(&self, pods: Vec<Value>) -> Vec<Value> {
        let count = pods.len();
        // Whether admission would accept the pods does not matter: the request is logged as it came.
        let answer = self.namespace.kubectl(&["create", "--dry-run=server", "-f", "-"], &list(pods));
        let mut events = self.namespace.audit(|event| creates_pod(event) && is_dry_run(event));
        let recent = events.split_off(events.len().saturating_sub(count));
        let read: Vec<_> = recent.into_iter().map(|mut event| event["requestObject"].take()).collect();
        let complete = read.len() == count && read.iter().all(Value::is_object);
        assert!(complete, "the apiserver could not read the preview's pods: {}", answer.stderr);
        read
    }
}

/// The built-in controllers leave the namespace to the request's path; the apiserver adds it before any admission.
fn as_sent(event: &Value) -> Value {
    let mut pod = event["requestObject"].clone();
    if pod["metadata"]["namespace"].is_null() {
        pod["metadata"]["namespace"] = event["objectRef"]["namespace"].clone();
    }
    pod
}

/// The pod after the patches that the apiserver has written down.
fn as_patched(event: &Value) -> Value {
    let mut pod = as_sent(event);
    for (key, text) in event["annotations"].as_object().into_iter().flatten() {
        if !key.starts_with("patch.webhook.admission.k8s.io/") {
            continue;
        }
        let written: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
        if written["configuration"].as_str().is_some_and(|name| name.starts_with("0-trainmesh")) {
            let patch: json_patch::Patch = serde_json::from_value(written["patch"].clone()).unwrap();
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

/// Creates what the manifest holds; returns the names. What is refused is tried again: Trainer's webhook looks for the
/// runtime in a cache, which knows of it a moment later.
fn create(namespace: &Namespace, manifest: &str) -> Vec<String> {
    let mut names = Vec::new();
    eventually(PATIENCE, "all objects are accepted", || {
        let answer = namespace.create(manifest);
        names.extend(answer.names().into_iter().map(str::to_owned));
        let mut refusals = answer.errors().filter(|line| !line.contains("AlreadyExists")).peekable();
        if refusals.peek().is_none() { Ok(()) } else { Err(refusals.collect::<String>()) }
    });
    names
}

fn sorted_yaml(mut value: Value) -> String {
    value.sort_all_objects();
    yaml::to_string(&value)
}

/// Names that the apiserver completed, and what the preview shows for them.
fn generated(names: &[String], results: &[Value]) -> Vec<(String, String)> {
    /// The longest prefix that the apiserver does not cut to make room for five letters.
    const LONGEST: usize = 58;
    let prefixes = results.iter().filter_map(|result| result["name"].as_str()).filter(|name| name.ends_with('-'));
    let kept: Vec<_> = prefixes.map(|prefix| &prefix[..prefix.len().min(LONGEST)]).collect();
    let completed = |name: &String| {
        let kept = kept.iter().find(|kept| name.len() == kept.len() + 5 && name.starts_with(**kept))?;
        Some((name.clone(), format!("{kept}00000")))
    };
    names.iter().filter_map(completed).collect()
}

/// The request that created each role's pod, or what was created so far.
fn find_all(results: &[Value], posted: &[Value], generated: &[(String, String)]) -> Result<Vec<Value>, String> {
    let name = |pod: &Value| {
        let metadata = &settle(pod, generated)["metadata"];
        (metadata["name"].clone(), metadata["generateName"].clone())
    };
    let names: Vec<_> = posted.iter().map(|event| name(&event["requestObject"])).collect();
    let find = |result: &Value| {
        let wanted = name(&result["original"]);
        let place = names.iter().position(|name| *name == wanted);
        place.map(|place| posted[place].clone()).ok_or_else(|| format!("no pod {wanted:?} among {names:?}"))
    };
    results.iter().map(find).collect()
}

fn is_dry_run(event: &Value) -> bool {
    event["requestURI"].as_str().is_some_and(|uri| uri.contains("dryRun=All"))
}
