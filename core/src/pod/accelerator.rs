//! Accelerators that a container requests.

use serde_json::Value;

use super::Container;
use crate::hint::MAX_COMPARED;
use crate::json;

/// Extended resources that count as accelerators, including time-sliced GPUs. Partitions (`nvidia.com/mig-…`) are
/// excluded, because NCCL does not use RDMA between them.
pub(crate) const ACCELERATORS: [&str; 8] = [
    "nvidia.com/gpu",
    "nvidia.com/gpu.shared",
    "amd.com/gpu",
    "gpu.intel.com/i915",
    "gpu.intel.com/xe",
    "habana.ai/gaudi",
    "aws.amazon.com/neuron",
    "google.com/tpu",
];

/// Resources whose names resemble those of accelerators: GPUs for virtual machines (`KubeVirt`, Kata Containers).
const NOT_MISSPELLED: [&str; 2] = ["nvidia.com/pgpu", "nvidia.com/vgpu"];

/// Accelerators that a container requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accelerators<'a> {
    /// Name of the extended resource.
    pub resource: &'a str,
    /// Number of accelerators.
    pub count: u64,
}

/// Returns the accelerator whose name differs from `resource` by one letter, or by its case. A greater difference may be a custom
/// name.
pub(crate) fn misspelled_accelerator(resource: &str) -> Option<&'static str> {
    if resource.len() > MAX_COMPARED || is_accelerator(resource) || NOT_MISSPELLED.contains(&resource) {
        return None;
    }
    let resource = resource.to_lowercase();
    let letters = resource.chars().count();
    // A comparison is costly, and the length excludes most names.
    let has_similar_length = |known: &&str| known.len().abs_diff(letters) <= 1;
    ACCELERATORS.into_iter().filter(has_similar_length).find(|known| strsim::osa_distance(&resource, known) <= 1)
}

/// Returns true if `resource` counts as an accelerator.
#[must_use]
pub fn is_accelerator(resource: &str) -> bool {
    ACCELERATORS.contains(&resource)
}

impl<'a> Container<'a> {
    /// Returns the accelerators in the container's limits, which for extended resources equal the requests. A quantity
    /// that is not an integer is treated as absent.
    #[must_use]
    pub fn accelerators(self) -> Option<Accelerators<'a>> {
        let limits = json::get(json::get(self.raw(), "resources")?, "limits")?.as_object()?;
        limits.iter().find_map(|(resource, quantity)| {
            let count = whole_count(quantity).filter(|count| *count > 0)?;
            is_accelerator(resource).then_some(Accelerators { resource, count })
        })
    }
}

fn whole_count(quantity: &Value) -> Option<u64> {
    match quantity {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::Pod;

    #[rstest]
    #[case::text(json!({"nvidia.com/gpu": "8"}), Some(("nvidia.com/gpu", 8)))]
    #[case::number(json!({"amd.com/gpu": 4}), Some(("amd.com/gpu", 4)))]
    #[case::zero(json!({"nvidia.com/gpu": 0}), None)]
    #[case::partition(json!({"nvidia.com/mig-1g.5gb": 1}), None)]
    #[case::not_an_integer(json!({"nvidia.com/gpu": "500m"}), None)]
    #[case::none(json!({"cpu": "8", "memory": "1Gi"}), None)]
    #[case::not_an_object(json!("8"), None)]
    fn accelerators_are_read_from_the_limits(#[case] limits: Value, #[case] expected: Option<(&str, u64)>) {
        let raw = json!({"spec": {"containers": [{"name": "a", "resources": {"limits": limits}}]}});
        let found = Pod::new(&raw).containers().next().unwrap().accelerators();
        assert_eq!(found.map(|found| (found.resource, found.count)), expected);
    }
}
