//! Resources of a `TrainJob`'s nodes, and the number of processes derived from them.

use serde_json::{Map, Value};

use super::merge::strategic_merge;
use super::runtime::{ReplicatedJob, Runtime};
use super::{NODE, TRAINER};
use crate::quantity::whole_units;
use crate::workload::RenderError;
use crate::workload::template::{Field, container_named};

/// Resources of a node, from which Trainer derives the number of processes.
#[derive(Debug)]
pub(super) struct NodeResources {
    resources: Value,
}

impl NodeResources {
    /// Reads `spec.trainer.resourcesPerNode`, or else the resources of the runtime's main container.
    pub(super) fn read(runtime: &mut Runtime<'_>) -> Result<Self, RenderError> {
        let resources_per_node = runtime.job.get("trainer").get("resourcesPerNode");
        if let Some(resources) = resources_per_node.object()? {
            return Ok(Self { resources: Value::Object(resources.clone()) });
        }
        let is_trainer = |replicated_job: &&mut ReplicatedJob<'_>| {
            replicated_job.name == NODE || replicated_job.ancestor.as_deref() == Some(TRAINER)
        };
        let mut containers = runtime
            .replicated_jobs
            .iter_mut()
            .filter(is_trainer)
            .filter_map(|replicated_job| container_named(&mut replicated_job.pod, NODE));
        let resources = containers.next().and_then(|container| container.get("resources")).cloned();
        Ok(Self { resources: resources.unwrap_or(Value::Null) })
    }

    /// Returns the number of GPUs of a node. Requests take precedence over limits, as in Trainer.
    pub(super) fn gpus(&self) -> u64 {
        let gpus = |list| {
            let amounts = self.resources.get(list).and_then(Value::as_object).into_iter().flatten();
            amounts.filter(|(name, _)| name.to_lowercase().contains("gpu")).find_map(|(_, amount)| whole_units(amount))
        };
        gpus("requests").filter(|count| *count > 0).or_else(|| gpus("limits")).unwrap_or(0)
    }

    /// Returns the number of CPUs of a node, rounded up.
    pub(super) fn cpus(&self) -> u64 {
        let cpus = |list| self.resources.get(list).and_then(|list: &Value| whole_units(list.get("cpu")?));
        cpus("requests").filter(|count| *count > 0).or_else(|| cpus("limits")).unwrap_or(0)
    }
}

/// Merges `spec.trainer.resourcesPerNode` into the main container. Drops resource claims, as Trainer does.
pub(super) fn merge(runtime: &mut Runtime<'_>) -> Result<(), RenderError> {
    let resources_per_node = runtime.job.get("trainer").get("resourcesPerNode");
    let (Some(_), true) = (resources_per_node.object()?, runtime.policy.is_present()) else { return Ok(()) };
    let launcher_is_worker = runtime.launcher_is_worker()?;
    for replicated_job in &mut runtime.replicated_jobs {
        let is_trainer =
            replicated_job.ancestor.as_deref() == Some(TRAINER) || launcher_is_worker && replicated_job.name == NODE;
        if let (true, Some(container)) = (is_trainer, container_named(&mut replicated_job.pod, NODE)) {
            let merged = merged(container.get("resources"), &resources_per_node)?;
            container.insert("resources".to_owned(), Value::Object(merged));
        }
    }
    Ok(())
}

fn merged(present: Option<&Value>, resources_per_node: &Field<'_>) -> Result<Map<String, Value>, RenderError> {
    let mut merged = Map::new();
    for list in ["limits", "requests"] {
        let mut amounts = present.and_then(|present| present.get(list)).cloned().unwrap_or(Value::Null);
        if let Some(resources_per_node) = resources_per_node.get(list).object()? {
            strategic_merge(&mut amounts, &Value::Object(resources_per_node.clone()));
        }
        if amounts.is_object() {
            merged.insert(list.to_owned(), amounts);
        }
    }
    Ok(merged)
}
