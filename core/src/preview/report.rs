//! The stable machine form of a preview: one report for each role of a workload.

use serde::Serialize;
use serde_json::Value;

use crate::finding::Finding;
use crate::mutate::{Patch, RuleOutcome};

/// What the pods of one role would get.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodReport {
    /// File that the manifest came from; `-` for standard input.
    pub source: String,
    /// Its document, counted from 0, empty ones included.
    pub document: usize,
    /// Its index in a `List`.
    pub item: Option<usize>,
    /// The manifest's `apiVersion`.
    pub api_version: String,
    /// The manifest's `kind`.
    pub kind: &'static str,
    /// The namespace that the pods are created in.
    pub namespace: String,
    /// Name or `generateName` of the workload.
    pub name: String,
    /// The role.
    pub role: String,
    /// How many pods of this role there are.
    pub replicas: u64,
    /// Whether the patch is not empty.
    pub changed: bool,
    /// What every rule decided.
    pub rules: Vec<RuleOutcome>,
    /// What the webhook would warn of, word for word.
    pub warnings: Vec<String>,
    /// What the lint says of the pod after the patch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lint: Vec<Finding>,
    /// The pod as its operator would create replica 0.
    pub original: Value,
    /// What the webhook would answer for it.
    pub patch: Patch,
    /// `original` after `patch`.
    pub pod: Value,
    /// Objects that the controller would create for the workload.
    pub objects: Vec<Value>,
}
