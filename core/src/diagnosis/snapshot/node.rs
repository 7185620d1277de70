//! Nodes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::condition::{self, ConditionRecord, conditions};
use super::device::is_extended;
use super::read::{items, name, truncate};
use crate::pod::is_accelerator;
use crate::quantity::whole_units;

/// Maximum number of taints of a node.
const MAX_TAINTS: usize = 64;
/// Maximum number of resources of a node.
const MAX_RESOURCES: usize = 128;
/// Label with the health of a node of `HyperPod`, and the start of its values for nodes that have failed a check. While checks
/// run, it is `Unschedulable`.
const HYPERPOD_HEALTH: &str = "/metadata/labels/sagemaker.amazonaws.com~1node-health-status";
const HYPERPOD_FAILED: &str = "UnschedulablePending";
/// Label of `HyperPod` with the faults that its checks found.
const HYPERPOD_FAULTS: &str = "/metadata/labels/sagemaker.amazonaws.com~1fault-types";

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeRecord {
    pub(in crate::diagnosis) name: Box<str>,
    pub(in crate::diagnosis) conditions: Vec<ConditionRecord>,
    /// Keys of the taints, with their values.
    pub(in crate::diagnosis) taints: Vec<(Box<str>, Option<Box<str>>)>,
    /// Mark of `HyperPod` for a node that needs a reboot or a replacement, with the faults.
    pub(in crate::diagnosis) mark: Option<Box<str>>,
    /// True if the node is cordoned.
    pub(in crate::diagnosis) unschedulable: bool,
    /// Names of the extended resources that the node offers.
    pub(in crate::diagnosis) devices: Vec<Box<str>>,
    /// Number of accelerators by resource.
    pub(in crate::diagnosis) accelerators: BTreeMap<Box<str>, u64>,
}

impl NodeRecord {
    /// Reads a node.
    #[must_use]
    pub fn read(raw: &Value) -> Self {
        let taint = |taint: &Value| Some((name(taint, "/key")?, name(taint, "/value")));
        let allocatable = raw.pointer("/status/allocatable").and_then(Value::as_object).into_iter().flatten();
        let devices = allocatable.clone().take(MAX_RESOURCES).filter(|(name, _)| is_extended(name));
        let devices = devices.filter(|(_, count)| whole_units(count) != Some(0)).map(|(name, _)| truncate(name, 316));
        let accelerators = allocatable
            .take(MAX_RESOURCES)
            .filter(|(resource, _)| is_accelerator(resource))
            .filter_map(|(resource, count)| Some((resource.as_str().into(), whole_units(count)?)));
        Self {
            name: name(raw, "/metadata/name").unwrap_or_default(),
            conditions: conditions(raw),
            taints: items(raw, "/spec/taints", MAX_TAINTS).filter_map(taint).collect(),
            mark: mark(raw),
            unschedulable: raw.pointer("/spec/unschedulable").and_then(Value::as_bool) == Some(true),
            devices: devices.collect(),
            accelerators: accelerators.collect(),
        }
    }

    /// Returns the condition `Ready`.
    pub(in crate::diagnosis) fn ready(&self) -> Option<&ConditionRecord> {
        condition::find(&self.conditions, "Ready")
    }
}

/// Reads the mark of `HyperPod`.
fn mark(raw: &Value) -> Option<Box<str>> {
    let health = name(raw, HYPERPOD_HEALTH).filter(|health| health.starts_with(HYPERPOD_FAILED))?;
    let faults = name(raw, HYPERPOD_FAULTS);
    Some(faults.map_or_else(|| health.clone(), |faults| format!("{health} (fault-types: {faults})").into()))
}
