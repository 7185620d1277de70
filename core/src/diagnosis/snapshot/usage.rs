//! Fields of a pod that only an inventory shows.

use serde_json::Value;

use super::read::{items, truncate};
use crate::keys;
use crate::pod::Pod;

/// Maximum number of volumes that are searched.
const MAX_VOLUMES: usize = 128;
/// Maximum length of the annotation with the applied rules in bytes.
const MAX_APPLIED: usize = 4 * 1024;
/// Label of the pods of Kubeflow's notebooks.
const NOTEBOOK: &str = "notebook-name";

/// Fields of a pod that only an inventory shows.
#[derive(Clone, Debug, Default)]
pub(in crate::diagnosis) struct UsageRecord {
    /// Fabric profile that the webhook applied.
    pub(in crate::diagnosis) fabric: Option<Box<str>>,
    /// True if the pod has resource claims.
    pub(in crate::diagnosis) claims_devices: bool,
    /// True if the pod mounts a persistent volume claim.
    pub(in crate::diagnosis) has_volume_claim: bool,
    /// True if a notebook controller created the pod.
    pub(in crate::diagnosis) is_notebook: bool,
}

impl UsageRecord {
    pub(super) fn read(raw: &Value, pod: Pod<'_>) -> Self {
        let applied = pod.annotation(keys::APPLIED).filter(|text| text.len() <= MAX_APPLIED);
        let fabric = applied.and_then(|text| text.split(',').find_map(|rule| rule.strip_prefix("fabric=")));
        Self {
            fabric: fabric.map(|name| truncate(name, 253)),
            claims_devices: items(raw, "/spec/resourceClaims", 1).next().is_some(),
            has_volume_claim: items(raw, "/spec/volumes", MAX_VOLUMES)
                .any(|volume| volume.get("persistentVolumeClaim").is_some_and(Value::is_object)),
            is_notebook: pod.label(NOTEBOOK).is_some(),
        }
    }
}
