//! Fields of a `TrainJob` that the apiserver drops, because its version of Kubeflow Trainer does not have them.

use serde_json::Value;

use super::KIND;
use super::overrides::{newest_version_with, override_field, pod_spec_of_override, version};
use super::schema::Schema;
use crate::hint::nearest;
use crate::workload::template::Field;
use crate::workload::{StockRuntimes, TrainerVersion};

/// Returns the path of each field of `manifest`, a `TrainJob`, that the apiserver drops, with a message. If `stock` does not
/// select a version of Kubeflow Trainer, one is assumed.
pub(crate) fn dropped_fields(manifest: &Value, stock: StockRuntimes) -> Vec<(String, String)> {
    let spec = Field::root(manifest).get("spec");
    let version = version(&spec, stock);
    let assumed = if matches!(stock, StockRuntimes::Version(_)) { "" } else { " (assumed)" };
    let mut messages = Vec::new();
    let Some(value) = spec.value() else { return messages };
    let owner = format!("{} in Kubeflow Trainer {}{assumed}", KIND.kind, version.name());
    Schema::of_spec(version).visit_dropped(value, spec.path(), &mut |path, name, object| {
        let is_of_other_version = newest_version_with(name).is_some() && path == format!("spec.{name}");
        let fix = match nearest(name, &object.fields()) {
            _ if is_of_other_version => format!(": use spec.{}", override_field(version)),
            Some(near) => format!(": did you mean {near}?"),
            None if is_field_of_pods(version, &path, name) => {
                format!(": set it for the pods in spec.{}", override_field(version))
            }
            None => TrainerVersion::ALL
                .into_iter()
                .rfind(|other| Schema::of_spec(*other).contains(&path))
                .map(TrainerVersion::name)
                .map(|name| format!(": {name} has it, which --runtime {name} selects"))
                .unwrap_or_default(),
        };
        let message = format!("{path} has no effect: {owner} has no such field{fix}");
        messages.push((path, message));
    });
    messages
}

/// Returns true if `path` is a field of the job or of its trainer that a change of the runtime's templates can set for the pods.
fn is_field_of_pods(version: TrainerVersion, path: &str, name: &str) -> bool {
    let is_of_job = [format!("spec.{name}"), format!("spec.trainer.{name}")].iter().any(|field| field == path);
    is_of_job && Schema::of_spec(version).contains(&format!("spec.{}.{name}", pod_spec_of_override(version)))
}
