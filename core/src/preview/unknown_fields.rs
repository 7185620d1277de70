//! Fields of a workload, outside the specifications of its pods, that the apiserver drops, and values that it rejects; also those of
//! Services, claims and objects of Istio, which checks read. Those of the pods are reported by FP049 for each pod.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, ReplicationController, Service};
use k8s_openapi::api::resource::{v1, v1beta1, v1beta2};
use serde_json::Value;

use super::operator_fields::{POD_SPEC, misspelled};
use super::{claim_quantities, components, job_policies, metadata_values, object_fields};
use crate::config::LintSettings;
use crate::finding::Severity;
use crate::json;
use crate::known_fields::{Found, Problem, Searched, search_except};
use crate::lint::{UNKNOWN_FIELDS, unknown_field_message};
use crate::manifest::{Document, DocumentWarning};
use crate::step::Step;
use crate::workload::{self, CLUSTER_RUNTIME, StockRuntimes, dropped_fields};

/// Finds the unknown fields and the values of wrong types in a value, except in those of a type.
pub(super) type Search = for<'a> fn(&'a Value, &'static str) -> Searched<'a>;

/// Path of a field, a message that starts with it, and the severity.
type PathProblem = (String, String, Severity);

/// Kind whose fields depend on the version of its operator.
const TRAIN_JOB: &str = "TrainJob";

/// Returns a warning of FP049 for each field of `document` that the apiserver drops, and each value that it rejects. `stock` may select the version of
/// Kubeflow Trainer. Returns none if `settings` disable the check, or lower its severity to information.
pub(super) fn warnings(
    document: &Document,
    namespace: &str,
    stock: StockRuntimes,
    settings: &LintSettings,
) -> Vec<DocumentWarning> {
    if !settings.warns(UNKNOWN_FIELDS) {
        return Vec::new();
    }
    let (kind, name) = (json::text(&document.value, "kind").unwrap_or_default(), super::name_of(document));
    let is_global = ["Namespace", CLUSTER_RUNTIME].contains(&kind);
    let subject = match name {
        "" if is_global => kind.to_owned(),
        name if is_global => format!("{kind} {name}"),
        "" => format!("{kind} in {namespace}"),
        name => format!("{kind} {namespace}/{name}"),
    };
    let mut warnings = Vec::new();
    for (path, object) in components::objects(&document.value) {
        let dot = if path.is_empty() { "" } else { "." };
        let mut problems = problems(object, stock);
        problems.extend(nameless_pod(object).filter(|_| !document.is_reviewed));
        let found = problems.into_iter().map(|(field, message, severity)| {
            let position = document.path_position(&format!("{path}{dot}{}", field.trim_start_matches('.')));
            let message = format!("{subject}: {path}{dot}{message}");
            DocumentWarning::at(document, position, UNKNOWN_FIELDS.code(), message).with_severity(severity)
        });
        warnings.extend(found);
    }
    warnings
}

/// Returns the paths of the fields and values of `object`, a manifest, that are problems, each with a message that starts with it.
fn problems(object: &Value, stock: StockRuntimes) -> Vec<PathProblem> {
    let text = |key: &str| json::text(object, key).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let search = search_of(api_version, kind);
    let mut messages: Vec<PathProblem> = match search {
        Some(search) => describe(&search(object, POD_SPEC).found),
        None if kind == TRAIN_JOB && workload::find(api_version, kind).is_some() => {
            with_severity(dropped_fields(object, stock), Severity::Warning).collect()
        }
        None => describe(&misspelled(api_version, kind, object)),
    };
    if search.is_some() {
        messages.extend(with_severity(claim_quantities::messages(kind, object), Severity::Error));
    } else {
        messages.extend(describe(&object_fields::unknown(api_version, kind, object)));
    }
    if search.is_some() || kind != "Pod" && workload::find(api_version, kind).is_some() {
        // Operators may drop the metadata of their templates.
        messages.extend(with_severity(metadata_values::messages(object, search.is_some()), Severity::Error));
    }
    messages.extend(with_severity(job_policies::messages(api_version, kind, object), Severity::Error));
    messages
}

/// Returns the problem of a Pod without a name, which may be the template of another program.
fn nameless_pod(object: &Value) -> Option<PathProblem> {
    let is_pod = ["apiVersion", "kind"].map(|key| json::text(object, key)) == [Some("v1"), Some("Pod")];
    let message = "metadata.name is missing: kubectl create requires it".to_owned();
    (is_pod && !has_name(object)).then(|| ("metadata".to_owned(), message, Severity::Warning))
}

/// Returns true if `object` has a name, or the start of a name. Those of other types are errors of their own.
fn has_name(object: &Value) -> bool {
    let is_set = |name: &Value| !name.is_null() && name.as_str() != Some("");
    match object.get("metadata") {
        None | Some(Value::Null) => false,
        Some(Value::Object(metadata)) => {
            ["name", "generateName"].into_iter().any(|field| metadata.get(field).is_some_and(is_set))
        }
        Some(_) => true,
    }
}

/// Adds `severity` to each path with its message.
fn with_severity(found: Vec<(String, String)>, severity: Severity) -> impl Iterator<Item = PathProblem> {
    found.into_iter().map(move |(path, message)| (path, message, severity))
}

/// Returns the path of each problem, a message that starts with it, and its severity: what the apiserver rejects is an error.
fn describe(found: &[Found<'_>]) -> Vec<PathProblem> {
    let messages = found.iter().map(|(path, problem)| {
        let path: String = path.iter().map(Step::to_string).collect();
        let consequence = if problem.is_field() { " has no effect" } else { "" };
        let field = path.trim_start_matches('.');
        let message = format!("{field}{consequence}: {}", unknown_field_message(problem));
        let is_rejected = matches!(problem, Problem::Value { .. });
        (path, message, if is_rejected { Severity::Error } else { Severity::Warning })
    });
    messages.collect()
}

/// Returns the search for unknown fields of a kind of Kubernetes that creates pods from templates, or that pods use.
pub(super) fn search_of(api_version: &str, kind: &str) -> Option<Search> {
    Some(match (api_version, kind) {
        ("batch/v1", "Job") => search_except::<Job>,
        ("batch/v1", "CronJob") => search_except::<CronJob>,
        ("apps/v1", "Deployment") => search_except::<Deployment>,
        ("apps/v1", "ReplicaSet") => search_except::<ReplicaSet>,
        ("apps/v1", "StatefulSet") => search_except::<StatefulSet>,
        ("apps/v1", "DaemonSet") => search_except::<DaemonSet>,
        ("v1", "ReplicationController") => search_except::<ReplicationController>,
        ("v1", "Service") => search_except::<Service>,
        ("v1", "PersistentVolumeClaim") => search_except::<PersistentVolumeClaim>,
        ("resource.k8s.io/v1", "ResourceClaim") => search_except::<v1::ResourceClaim>,
        ("resource.k8s.io/v1", "ResourceClaimTemplate") => search_except::<v1::ResourceClaimTemplate>,
        ("resource.k8s.io/v1beta2", "ResourceClaim") => search_except::<v1beta2::ResourceClaim>,
        ("resource.k8s.io/v1beta2", "ResourceClaimTemplate") => search_except::<v1beta2::ResourceClaimTemplate>,
        ("resource.k8s.io/v1beta1", "ResourceClaim") => search_except::<v1beta1::ResourceClaim>,
        ("resource.k8s.io/v1beta1", "ResourceClaimTemplate") => search_except::<v1beta1::ResourceClaimTemplate>,
        _ => return None,
    })
}
