//! Fields that objects of all kinds have, beside their `spec`: those of the metadata, and those of the object itself.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value};

use super::operator_fields::{POD_SPEC, has_table};
use crate::hint::nearest;
use crate::known_fields::{Found, Problem, unknown_fields_except};
use crate::step::Step;
use crate::workload::{self, CLUSTER_RUNTIME, TRAINER_GROUP};

/// Fields of the object itself.
const FIELDS: &[&str] = &["apiVersion", "kind", "metadata", "spec", "status"];

/// Returns the unknown fields of the metadata of `object`, a manifest of this kind, and those of the object itself that are similar
/// to a known one, with their paths. Pods, whose findings contain them, have none, nor have kinds that are not checked.
pub(super) fn unknown<'a>(api_version: &str, kind: &str, object: &'a Value) -> Vec<Found<'a>> {
    let workload = workload::find(api_version, kind).map(|workload| workload.kind);
    let group = api_version.split('/').next();
    let is_context = match kind {
        "Namespace" => api_version == "v1",
        "TrainingRuntime" | CLUSTER_RUNTIME => group == Some(TRAINER_GROUP),
        _ => has_table(api_version, kind),
    };
    if kind == "Pod" || workload.is_none() && !is_context {
        return Vec::new();
    }
    let mut found = Vec::new();
    // A Namespace without its metadata would be another one.
    let of_namespace = (kind == "Namespace").then_some("Namespace");
    if let Some(owner) = workload.or(of_namespace) {
        let unknown = object.as_object().into_iter().flat_map(Map::keys);
        let unknown = unknown.filter(|key| !FIELDS.contains(&key.as_str()) && nearest(key, FIELDS).is_some());
        found.extend(unknown.map(|name| (vec![Step::Key(name)], Problem::Field { owner, name, known: FIELDS })));
    }
    if let Some(metadata) = object.get("metadata") {
        let problems = unknown_fields_except::<ObjectMeta>(metadata, POD_SPEC);
        found
            .extend(problems.into_iter().map(|(path, problem)| ([&[Step::Key("metadata")], &*path].concat(), problem)));
    }
    found
}
