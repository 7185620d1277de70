//! Training runtimes, to which `TrainJobs` refer by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::manifest::Document;

/// API group of runtimes and `TrainJobs`.
pub(crate) const TRAINER_GROUP: &str = "trainer.kubeflow.org";
/// Kind of a runtime without a namespace, to which a `TrainJob` refers by default.
pub(crate) const CLUSTER_RUNTIME: &str = "ClusterTrainingRuntime";
/// Kind of a runtime in the namespace of its `TrainJobs`.
pub(crate) const NAMESPACED_RUNTIME: &str = "TrainingRuntime";

/// `TrainingRuntime` and `ClusterTrainingRuntime` manifests.
#[derive(Clone, Debug, Default)]
pub struct Runtimes {
    /// Manifests by their references.
    pub by_name: BTreeMap<RuntimeReference, Arc<Document>>,
    /// Runtimes that are assumed for references that are not in `by_name`.
    pub stock: StockRuntimes,
}

/// Reference of a `TrainJob` to its runtime.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuntimeReference {
    /// Namespace of a `TrainingRuntime`; `None` for a `ClusterTrainingRuntime`.
    pub namespace: Option<String>,
    /// Name of the runtime.
    pub name: String,
}

/// The runtimes that Kubeflow Trainer installs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StockRuntimes {
    /// Those of the newest version that has a runtime of the name.
    #[default]
    Newest,
    /// Those of one version.
    Version(TrainerVersion),
    /// None, because the runtimes of the cluster have been read.
    None,
}

/// A version of Kubeflow Trainer, with its last patch release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrainerVersion {
    /// v2.0.1, 2025-09-29.
    V2_0,
    /// v2.1.0, 2025-11-07.
    V2_1,
    /// v2.2.1, 2026-06-17.
    V2_2,
    /// v2.3.0, 2026-08-06.
    V2_3,
}

/// A stock runtime that is assumed for a reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AssumedRuntime {
    /// Name of the runtime.
    pub name: String,
    /// Version of Kubeflow Trainer.
    pub trainer: &'static str,
    /// True if the user selected the version.
    #[serde(skip)]
    pub is_selected: bool,
}

impl RuntimeReference {
    /// Returns the references of `object`: that of a `TrainJob`, or those of the `TrainJobs` in an AppWrapper. `namespace` is
    /// that of the object.
    #[must_use]
    pub fn all(object: &Value, namespace: &str) -> Vec<Self> {
        let components = object.pointer("/spec/components").and_then(Value::as_array).into_iter().flatten();
        let objects = components.filter_map(|component| component.get("template")).chain([object]);
        objects.filter_map(|object| Self::from_train_job(object, namespace)).collect()
    }

    /// Returns the reference to `object` if it is a runtime. An object without a namespace is in `namespace`.
    #[must_use]
    pub fn from_runtime(object: &Value, namespace: &str) -> Option<Self> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let (group, _) = text("/apiVersion")?.split_once('/')?;
        let namespace = match text("/kind")? {
            _ if group != TRAINER_GROUP => return None,
            CLUSTER_RUNTIME => None,
            NAMESPACED_RUNTIME => Some(text("/metadata/namespace").unwrap_or(namespace).to_owned()),
            _ => return None,
        };
        Some(Self { namespace, name: text("/metadata/name")?.to_owned() })
    }

    fn from_train_job(object: &Value, namespace: &str) -> Option<Self> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let (group, _) = text("/apiVersion")?.split_once('/')?;
        if group != TRAINER_GROUP || text("/kind")? != "TrainJob" {
            return None;
        }
        let is_cluster_wide = text("/spec/runtimeRef/kind").is_none_or(|kind| kind == CLUSTER_RUNTIME);
        let namespace = (!is_cluster_wide).then(|| namespace.to_owned());
        Some(Self { namespace, name: text("/spec/runtimeRef/name")?.to_owned() })
    }
}

impl TrainerVersion {
    /// All versions, the oldest first.
    pub const ALL: [Self; 4] = [Self::V2_0, Self::V2_1, Self::V2_2, Self::V2_3];

    /// Returns the version as text: `v2.3`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V2_0 => "v2.0",
            Self::V2_1 => "v2.1",
            Self::V2_2 => "v2.2",
            Self::V2_3 => "v2.3",
        }
    }

    /// Parses a version such as `v2.3`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.name() == text)
    }
}

impl fmt::Display for AssumedRuntime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, trainer, is_selected } = self;
        write!(formatter, "runtime {name} is not in the input: assumed as Kubeflow Trainer {trainer} installs it")?;
        if *is_selected {
            return Ok(());
        }
        // Fields of the job often need a version: that before the assumed one has most of them.
        let names = TrainerVersion::ALL.map(TrainerVersion::name);
        let assumed = names.iter().position(|name| name == trainer).unwrap_or_default();
        let other = names[assumed.checked_sub(1).unwrap_or(1)];
        write!(formatter, "; set --runtime FILE, or another version, for example --runtime {other}")
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn job(reference: &Value) -> Value {
        json!({"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "spec": {"runtimeRef": reference}})
    }

    #[rstest]
    #[case::newest("v2.3", "for example --runtime v2.2")]
    #[case::oldest("v2.0", "for example --runtime v2.1")]
    fn an_assumed_runtime_names_a_version_beside_it(#[case] trainer: &'static str, #[case] expected: &str) {
        let assumed = AssumedRuntime { name: "a".to_owned(), trainer, is_selected: false };
        assert!(assumed.to_string().ends_with(expected), "{assumed}");
    }

    #[rstest]
    #[case::default_kind(job(&json!({"name": "a"})), &[(None, "a")])]
    #[case::cluster_wide(job(&json!({"name": "a", "kind": "ClusterTrainingRuntime"})), &[(None, "a")])]
    #[case::namespaced(job(&json!({"name": "a", "kind": "TrainingRuntime"})), &[(Some("team"), "a")])]
    #[case::no_name(job(&json!({})), &[])]
    #[case::another_kind(json!({"apiVersion": "v1", "kind": "Pod", "spec": {"runtimeRef": {"name": "a"}}}), &[])]
    #[case::wrapped(
        json!({"spec": {"components": [{"template": job(&json!({"name": "a"}))}, {"template": job(&json!({"name": "b"}))}]}}),
        &[(None, "a"), (None, "b")]
    )]
    fn references_are_read(#[case] object: Value, #[case] expected: &[(Option<&str>, &str)]) {
        let found = RuntimeReference::all(&object, "team");
        let found: Vec<_> =
            found.iter().map(|reference| (reference.namespace.as_deref(), reference.name.as_str())).collect();
        assert_eq!(found, expected);
    }
}
