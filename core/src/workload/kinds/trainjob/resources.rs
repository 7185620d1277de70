//! What a node of a `TrainJob` asks for, and how many processes that means.

use serde_json::{Map, Value};

use super::merge::strategic_merge;
use super::runtime::{Part, Runtime};
use super::{NODE, TRAINER};
use crate::quantity::whole_units;
use crate::workload::RenderError;
use crate::workload::template::{Field, container_named};

/// The resources that Trainer counts processes from.
#[derive(Debug)]
pub(super) struct PerNode {
    resources: Value,
}

impl PerNode {
    /// `spec.trainer.resourcesPerNode`, else the resources of the runtime's container.
    pub(super) fn read(runtime: &mut Runtime<'_>) -> Result<Self, RenderError> {
        let own = runtime.job.get("trainer").get("resourcesPerNode");
        if let Some(resources) = own.object()? {
            return Ok(Self { resources: Value::Object(resources.clone()) });
        }
        let trains = |part: &&mut Part<'_>| part.name == NODE || part.ancestor.as_deref() == Some(TRAINER);
        let mut containers =
            runtime.parts.iter_mut().filter(trains).filter_map(|part| container_named(&mut part.pod, NODE));
        let resources = containers.next().and_then(|container| container.get("resources")).cloned();
        Ok(Self { resources: resources.unwrap_or(Value::Null) })
    }

    /// GPUs of a node: a request beats a limit, as in Trainer.
    pub(super) fn gpus(&self) -> u64 {
        let gpus = |list| {
            let amounts = self.resources.get(list).and_then(Value::as_object).into_iter().flatten();
            amounts.filter(|(name, _)| name.to_lowercase().contains("gpu")).find_map(|(_, amount)| whole_units(amount))
        };
        gpus("requests").filter(|count| *count > 0).or_else(|| gpus("limits")).unwrap_or(0)
    }

    /// CPUs of a node, rounded up.
    pub(super) fn cpus(&self) -> u64 {
        let cpus = |list| self.resources.get(list).and_then(|list: &Value| whole_units(list.get("cpu")?));
        cpus("requests").filter(|count| *count > 0).or_else(|| cpus("limits")).unwrap_or(0)
    }
}

/// Lays `spec.trainer.resourcesPerNode` over the container that trains. Claims get lost, as in Trainer.
pub(super) fn merge(runtime: &mut Runtime<'_>) -> Result<(), RenderError> {
    let own = runtime.job.get("trainer").get("resourcesPerNode");
    let (Some(_), true) = (own.object()?, runtime.policy.is_present()) else { return Ok(()) };
    let launcher_works = runtime.launcher_works()?;
    for part in &mut runtime.parts {
        let trains = part.ancestor.as_deref() == Some(TRAINER) || launcher_works && part.name == NODE;
        if let (true, Some(container)) = (trains, container_named(&mut part.pod, NODE)) {
            let merged = merged(container.get("resources"), &own)?;
            container.insert("resources".to_owned(), Value::Object(merged));
        }
    }
    Ok(())
}

fn merged(present: Option<&Value>, own: &Field<'_>) -> Result<Map<String, Value>, RenderError> {
    let mut merged = Map::new();
    for list in ["limits", "requests"] {
        let mut amounts = present.and_then(|present| present.get(list)).cloned().unwrap_or(Value::Null);
        if let Some(own) = own.get(list).object()? {
            strategic_merge(&mut amounts, &Value::Object(own.clone()));
        }
        if amounts.is_object() {
            merged.insert(list.to_owned(), amounts);
        }
    }
    Ok(merged)
}
