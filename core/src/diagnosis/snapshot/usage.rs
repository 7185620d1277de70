//! The use of a pod: fields that an inventory shows, and what trainmesh did to the pod.

use serde_json::Value;

use super::read::{MAX_NAME, items, truncate};
use crate::keys;
use crate::pod::Pod;
use crate::rule::applied_text;

/// Maximum number of volumes that are searched.
const MAX_VOLUMES: usize = 128;

/// The use of a pod.
#[derive(Clone, Debug, Default)]
pub(in crate::diagnosis) struct UsageRecord {
    /// Fabric profile that the webhook applied.
    pub(in crate::diagnosis) fabric: Option<Box<str>>,
    pub(in crate::diagnosis) management: Management,
    /// True if the pod has resource claims.
    pub(in crate::diagnosis) claims_devices: bool,
    /// True if the pod mounts a persistent volume claim.
    pub(in crate::diagnosis) has_volume_claim: bool,
    /// True if a notebook controller created the pod.
    pub(in crate::diagnosis) is_notebook: bool,
}

/// Treatment of a pod by the controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::diagnosis) enum Management {
    /// No label of trainmesh.
    #[default]
    Absent,
    /// The controller watches the pod.
    Managed,
    /// A label excludes the pod.
    Excluded,
}

impl Management {
    fn read(pod: Pod<'_>) -> Self {
        if pod.label(keys::INJECT) == Some("disabled") {
            Self::Excluded
        } else if pod.label(keys::MANAGED) == Some("true") {
            Self::Managed
        } else {
            Self::Absent
        }
    }
}

impl UsageRecord {
    pub(super) fn read(raw: &Value, pod: Pod<'_>) -> Self {
        let fabric = applied_text(pod).and_then(|text| text.split(',').find_map(|rule| rule.strip_prefix("fabric=")));
        Self {
            management: Management::read(pod),
            fabric: fabric.map(|name| truncate(name, MAX_NAME)),
            claims_devices: items(raw, "/spec/resourceClaims", 1).next().is_some(),
            has_volume_claim: items(raw, "/spec/volumes", MAX_VOLUMES)
                .any(|volume| volume.get("persistentVolumeClaim").is_some_and(Value::is_object)),
            is_notebook: pod.label(keys::NOTEBOOK).is_some(),
        }
    }
}
