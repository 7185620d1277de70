//! Changes of a `TrainJob` to the templates of its runtime: `podSpecOverrides` in Kubeflow Trainer v2.0,
//! `podTemplateOverrides` in v2.1, and `runtimePatches` since v2.2.
//!
//! Follows `mergePodSpecOverrides`, `mergePodTemplateOverrides` and `mergeRuntimePatches` in
//! `pkg/runtime/core/trainingruntime.go` of kubeflow/trainer at v2.0.1, v2.1.0 and v2.2.1, and the validation in
//! `pkg/runtime/framework/plugins/jobset/jobset.go`, which rejects changes to what the runtime does not contain.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::merge::strategic_merge;
use super::schema::Schema;
use super::{DATASET_INITIALIZER, MODEL_INITIALIZER, NODE, PROCESSES};
use crate::names::join_names;
use crate::own_keys::excerpt;
use crate::workload::template::{Field, object_mut, objects};
use crate::workload::{RenderError, StockRuntimes, TrainerVersion};

/// Fields that only some versions have, each with the newest version that has it.
const VERSIONED_FIELDS: [(&str, TrainerVersion); 3] = [
    ("runtimePatches", TrainerVersion::V2_3),
    ("podTemplateOverrides", TrainerVersion::V2_1),
    ("podSpecOverrides", TrainerVersion::V2_0),
];

/// Newest version in which the number of processes of a node may be a word, such as `gpu`.
const NEWEST_WITH_WORDS: TrainerVersion = TrainerVersion::V2_1;

/// Field with the replicated jobs that a change targets.
const TARGET_JOBS: &str = "targetJobs";

/// Lists of containers.
const CONTAINER_LISTS: [&str; 2] = ["initContainers", "containers"];

/// Containers whose environment only `spec.trainer` and `spec.initializer` can set.
const CONTAINERS_WITH_RESERVED_ENV: [&str; 3] = [NODE, DATASET_INITIALIZER, MODEL_INITIALIZER];

/// Replicated jobs of a runtime, which changes target by name.
struct ReplicatedJobs<'set> {
    jobs: Vec<&'set mut Map<String, Value>>,
    /// Index of the first job of each name.
    indexes: HashMap<String, usize>,
}

impl<'set> ReplicatedJobs<'set> {
    /// Returns the jobs of the `JobSet` with this spec.
    fn new(job_set: &'set mut Value) -> Self {
        let set = job_set.as_object_mut().into_iter();
        let jobs: Vec<&'set mut Map<String, Value>> = set.flat_map(|set| objects(set, "replicatedJobs")).collect();
        let mut indexes = HashMap::new();
        for (index, job) in jobs.iter().enumerate() {
            if let Some(name) = job.get("name").and_then(Value::as_str) {
                indexes.entry(name.to_owned()).or_insert(index);
            }
        }
        Self { jobs, indexes }
    }

    /// Returns the job that the field `name` names.
    fn target(&mut self, name: &Field<'_>) -> Result<&mut Map<String, Value>, RenderError> {
        let Some(index) = self.indexes.get(name.required_text()?).copied() else {
            let known = names(self.jobs.iter().filter_map(|job| job.get("name")));
            return Err(name.invalid(format!("the name of a replicated job of the runtime{known}")));
        };
        Ok(&mut *self.jobs[index])
    }
}

/// Returns the version of Kubeflow Trainer for `job`, the spec of a `TrainJob`: the version that `stock` selects. If
/// `stock` selects none, returns the newest version that has the fields and values of the job.
pub(super) fn version(job: &Field<'_>, stock: StockRuntimes) -> TrainerVersion {
    known_version(job, stock).unwrap_or(TrainerVersion::V2_3)
}

/// Returns the version that `stock` or the job selects; `None` if the job is valid in all versions.
pub(super) fn known_version(job: &Field<'_>, stock: StockRuntimes) -> Option<TrainerVersion> {
    if let StockRuntimes::Version(version) = stock {
        return Some(version);
    }
    let used = VERSIONED_FIELDS.iter().find(|(field, _)| job.get(field).is_present());
    let has_word = || job.get("trainer").get(PROCESSES).value().is_some_and(Value::is_string);
    used.map(|(_, version)| *version).or_else(|| has_word().then_some(NEWEST_WITH_WORDS))
}

/// Returns true if the number of processes of a node may be a word in `version`, and a runtime for PyTorch may set it; `None`
/// stands for any version.
pub(super) fn has_words(version: Option<TrainerVersion>) -> bool {
    version.is_none_or(|version| version <= NEWEST_WITH_WORDS)
}

/// Returns the newest version that has the field `name` of the spec, if only some versions have it.
pub(super) fn newest_version_with(name: &str) -> Option<TrainerVersion> {
    VERSIONED_FIELDS.iter().find(|(field, _)| *field == name).map(|(_, version)| *version)
}

/// Returns the field of a job's spec that changes the templates of its runtime in this version.
pub(super) fn override_field(version: TrainerVersion) -> &'static str {
    VERSIONED_FIELDS.iter().rfind(|(_, newest)| version <= *newest).map_or(VERSIONED_FIELDS[0].0, |(field, _)| field)
}

/// Returns the path of the pods' spec in the changes of this version, below the job's spec.
pub(super) fn pod_spec_of_override(version: TrainerVersion) -> &'static str {
    match version {
        TrainerVersion::V2_0 => "podSpecOverrides",
        TrainerVersion::V2_1 => "podTemplateOverrides.spec",
        TrainerVersion::V2_2 | TrainerVersion::V2_3 => {
            "runtimePatches.trainingRuntimeSpec.template.spec.replicatedJobs.template.spec.template.spec"
        }
    }
}

/// Applies the changes of `job` to the annotations and the spec of the `JobSet`.
pub(super) fn apply(
    job: &Field<'_>,
    version: TrainerVersion,
    annotations: &mut Map<String, Value>,
    job_set: &mut Value,
) -> Result<(), RenderError> {
    let schema = Schema::of_spec(version);
    if schema.get("annotations").is_some() {
        annotations.extend(job.get("annotations").cloned_object()?);
    }
    let name = override_field(version);
    let field = job.get(name);
    field.items()?;
    let Some(stored) = field.value().zip(schema.get(name)).map(|(value, schema)| schema.pruned(value)) else {
        return Ok(());
    };
    let mut jobs = ReplicatedJobs::new(job_set);
    let mut managers = HashSet::new();
    for item in Field::with_path(&stored, field.path()).items()? {
        match version {
            TrainerVersion::V2_0 => change_pods(&item, None, &item, &mut jobs)?,
            TrainerVersion::V2_1 => change_pods(&item, item.get("metadata").object()?, &item.get("spec"), &mut jobs)?,
            TrainerVersion::V2_2 | TrainerVersion::V2_3 => {
                unique(&item.get("manager"), &mut managers, "a manager that no other patch has")?;
                let template = item.get("trainingRuntimeSpec").get("template");
                annotations.extend(template.get("metadata").get("annotations").cloned_object()?);
                let mut names = HashSet::new();
                for patch in template.get("spec").get("replicatedJobs").items()? {
                    unique(&patch.get("name"), &mut names, "a name that no other item has")?;
                    let target = jobs.target(&patch.get("name"))?;
                    validate_containers(target, &patch.get("template").get("spec").get("template").get("spec"))?;
                    if let Some(changes) = patch.get("template").object()? {
                        merge(target, "template", &Value::Object(changes.clone()));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Merges `metadata` and `spec` into the pod templates of the replicated jobs that `item` targets.
fn change_pods(
    item: &Field<'_>,
    metadata: Option<&Map<String, Value>>,
    spec: &Field<'_>,
    jobs: &mut ReplicatedJobs<'_>,
) -> Result<(), RenderError> {
    let mut patch = Map::new();
    patch.extend(metadata.map(|metadata| ("metadata".to_owned(), Value::Object(metadata.clone()))));
    if let Some(spec) = spec.object()? {
        let fields = spec.iter().filter(|(key, _)| *key != TARGET_JOBS);
        patch.insert("spec".to_owned(), fields.map(|(key, value)| (key.clone(), value.clone())).collect());
    }
    let patch = Value::Object(patch);
    for reference in item.get(TARGET_JOBS).items()? {
        let target = jobs.target(&reference.get("name"))?;
        validate_containers(target, spec)?;
        if let Some(job) = object_mut(target, "template").and_then(|job| object_mut(job, "spec")) {
            merge(job, "template", &patch);
        }
    }
    Ok(())
}

/// Fails unless `key`, by which the items of a list are merged, has a value that is not in `known`.
fn unique(key: &Field<'_>, known: &mut HashSet<String>, expected: &'static str) -> Result<(), RenderError> {
    let is_new = known.insert(key.required_text()?.to_owned());
    if is_new { Ok(()) } else { Err(key.invalid(expected)) }
}

fn merge(parent: &mut Map<String, Value>, key: &str, patch: &Value) {
    strategic_merge(parent.entry(key).or_insert_with(|| json!({})), patch);
}

/// Joins the strings in `names` for a message, after a colon; empty if there are none.
fn names<'name>(names: impl Iterator<Item = &'name Value>) -> String {
    let names = join_names(names.filter_map(Value::as_str).map(excerpt));
    if names.is_empty() { names } else { format!(": {names}") }
}

/// Fails if `spec` changes containers that the replicated job `target` does not have, or their reserved environment.
fn validate_containers(target: &Map<String, Value>, spec: &Field<'_>) -> Result<(), RenderError> {
    let pod = target.get("template").and_then(|job| job.get("spec")?.get("template")?.get("spec"));
    let containers = || CONTAINER_LISTS.iter().filter_map(|list| pod?.get(list)?.as_array()).flatten();
    let is_known =
        |name: &str| containers().any(|container| container.get("name").and_then(Value::as_str) == Some(name));
    for list in CONTAINER_LISTS {
        for container in spec.get(list).items()? {
            let name = container.get("name").required_text()?;
            if !is_known(name) {
                let known = names(containers().filter_map(|container| container.get("name")));
                let expected = format!("the name of a container of the replicated job{known}");
                return Err(container.get("name").invalid(expected));
            }
            let env = container.get("env");
            if list == "containers" && CONTAINERS_WITH_RESERVED_ENV.contains(&name) && !env.items()?.is_empty() {
                return Err(
                    env.invalid("no variables: for this container, set them in spec.trainer or spec.initializer")
                );
            }
        }
    }
    Ok(())
}
