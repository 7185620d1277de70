//! The lookup of a `TrainJob`'s runtime.

use super::stock;
use crate::workload::template::Field;
use crate::workload::{
    AssumedRuntime, CLUSTER_RUNTIME, Manifest, RenderError, RuntimeReference, StockRuntimes, TRAINER_GROUP,
};

/// Returns the spec of the runtime, and the stock runtime that is assumed if there is no manifest.
pub(super) fn find<'a>(
    manifest: &Manifest<'a>,
    job: &Field<'a>,
) -> Result<(Field<'a>, Option<AssumedRuntime>), RenderError> {
    let reference = job.get("runtimeRef");
    let name = reference.get("name").required_text()?;
    if reference.get("apiGroup").raw_text()?.is_some_and(|group| group != TRAINER_GROUP) {
        return Err(reference.get("apiGroup").invalid(TRAINER_GROUP));
    }
    let namespace = match reference.get("kind").raw_text()?.unwrap_or(CLUSTER_RUNTIME) {
        CLUSTER_RUNTIME => None,
        "TrainingRuntime" => Some(manifest.namespace.to_owned()),
        _ => return Err(reference.get("kind").invalid("TrainingRuntime or ClusterTrainingRuntime")),
    };
    let key = RuntimeReference { namespace, name: name.to_owned() };
    let spec = |found| Field::with_path(found, format!("runtime {name}")).get("spec");
    let runtimes = manifest.runtimes;
    if let Some(found) = runtimes.by_name.get(&key) {
        return Ok((spec(found), None));
    }
    if key.namespace.is_none()
        && let Some((found, assumed)) = stock::find(name, runtimes.stock)
    {
        return Ok((spec(found), Some(assumed)));
    }
    Err(RenderError::Unresolved(match runtimes.stock {
        StockRuntimes::None => format!("runtime {name} is neither in the input nor in the cluster: add its manifest"),
        StockRuntimes::Newest => format!("runtime {name} is not in the input: add its manifest, or set --runtime FILE"),
        StockRuntimes::Version(version) => {
            let version = version.name();
            format!("runtime {name} is neither in the input nor in Kubeflow Trainer {version}: set --runtime FILE")
        }
    }))
}
