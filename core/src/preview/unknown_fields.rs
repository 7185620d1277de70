//! Fields of a workload, outside the specifications of its pods, that the apiserver drops, and values that it rejects; also those of
//! Services and objects of Istio, which checks read. Those of the pods are reported by FP049 for each pod.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ReplicationController, Service};
use serde_json::Value;

use super::metadata_values;
use super::operator_fields::{POD_SPEC, misspelled};
use crate::config::LintSettings;
use crate::known_fields::{Found, Problem, unknown_fields_except};
use crate::lint::{UNKNOWN_FIELDS, unknown_field_message};
use crate::manifest::{Document, DocumentWarning};
use crate::step::Step;
use crate::workload::{self, StockRuntimes, dropped_fields};

/// Finds the unknown fields of a value, except those of a type.
type Search = for<'a> fn(&'a Value, &'static str) -> Vec<Found<'a>>;

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
    let value = &document.value;
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let search = search_of(api_version, kind);
    let mut messages: Vec<(String, String)> = match search {
        Some(search) => describe(&search(value, POD_SPEC)),
        None if kind == TRAIN_JOB && workload::find(api_version, kind).is_some() => dropped_fields(value, stock),
        None => describe(&misspelled(api_version, kind, value)),
    };
    if search.is_some() || kind != "Pod" && workload::find(api_version, kind).is_some() {
        // Operators may drop the metadata of their templates.
        messages.extend(metadata_values::messages(value, search.is_some()));
    }
    let name = super::name_of(document);
    let warning = |(path, message): (String, String)| {
        let message = format!("{kind} {namespace}/{name}: {message}");
        DocumentWarning::at(document, document.path_position(&path), UNKNOWN_FIELDS.code(), message)
    };
    messages.into_iter().map(warning).collect()
}

/// Returns the path of each problem, and a message that starts with it.
fn describe(found: &[Found<'_>]) -> Vec<(String, String)> {
    let messages = found.iter().map(|(path, problem)| {
        let path: String = path.iter().map(Step::to_string).collect();
        let consequence = if matches!(problem, Problem::Field { .. }) { " has no effect" } else { "" };
        let field = path.trim_start_matches('.');
        let message = format!("{field}{consequence}: {}", unknown_field_message(problem));
        (path, message)
    });
    messages.collect()
}

/// Returns the search for unknown fields of a kind of Kubernetes that creates pods from templates, or leads to pods.
fn search_of(api_version: &str, kind: &str) -> Option<Search> {
    Some(match (api_version, kind) {
        ("batch/v1", "Job") => unknown_fields_except::<Job>,
        ("batch/v1", "CronJob") => unknown_fields_except::<CronJob>,
        ("apps/v1", "Deployment") => unknown_fields_except::<Deployment>,
        ("apps/v1", "ReplicaSet") => unknown_fields_except::<ReplicaSet>,
        ("apps/v1", "StatefulSet") => unknown_fields_except::<StatefulSet>,
        ("apps/v1", "DaemonSet") => unknown_fields_except::<DaemonSet>,
        ("v1", "ReplicationController") => unknown_fields_except::<ReplicationController>,
        ("v1", "Service") => unknown_fields_except::<Service>,
        _ => return None,
    })
}
