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

/// Prefixes of accelerators whose libraries for collectives are neither NCCL nor RCCL.
const WITHOUT_NCCL: [&str; 2] = ["google.com/tpu", "aws.amazon.com/neuron"];

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

/// Names after the domain of resources that are GPUs.
const GPUS: [&str; 2] = ["gpu", "gpus"];
/// Accelerator whose domain people abbreviate.
const DEFAULT_GPU: &str = "nvidia.com/gpu";
/// Accelerators whose name after the domain is `gpu`, with the first part of their domain.
const DOMAINS: [(&str, &str); 2] = [("nvidia", DEFAULT_GPU), ("amd", "amd.com/gpu")];
/// Domain of the resources of NVIDIA's partitions, and the start of their names.
const PARTITIONS: &str = "nvidia.com/mig-";
/// Names of partitions of A30, A100, H100, H200 and B200 (NVIDIA, MIG User Guide). The first is the example for any other name.
const PARTITION_NAMES: [&str; 32] = [
    "nvidia.com/mig-1g.10gb",
    "nvidia.com/mig-1g.5gb",
    "nvidia.com/mig-1g.6gb",
    "nvidia.com/mig-1g.12gb",
    "nvidia.com/mig-1g.18gb",
    "nvidia.com/mig-1g.20gb",
    "nvidia.com/mig-1g.23gb",
    "nvidia.com/mig-1g.24gb",
    "nvidia.com/mig-1g.35gb",
    "nvidia.com/mig-1g.45gb",
    "nvidia.com/mig-2g.10gb",
    "nvidia.com/mig-2g.12gb",
    "nvidia.com/mig-2g.20gb",
    "nvidia.com/mig-2g.24gb",
    "nvidia.com/mig-2g.35gb",
    "nvidia.com/mig-2g.45gb",
    "nvidia.com/mig-3g.20gb",
    "nvidia.com/mig-3g.40gb",
    "nvidia.com/mig-3g.48gb",
    "nvidia.com/mig-3g.71gb",
    "nvidia.com/mig-3g.90gb",
    "nvidia.com/mig-4g.20gb",
    "nvidia.com/mig-4g.24gb",
    "nvidia.com/mig-4g.40gb",
    "nvidia.com/mig-4g.48gb",
    "nvidia.com/mig-4g.71gb",
    "nvidia.com/mig-4g.90gb",
    "nvidia.com/mig-7g.40gb",
    "nvidia.com/mig-7g.80gb",
    "nvidia.com/mig-7g.96gb",
    "nvidia.com/mig-7g.141gb",
    "nvidia.com/mig-7g.180gb",
];

/// Returns the accelerator whose name differs from `resource` by one letter, by its case, or by the domain of a GPU. A greater
/// difference may be a custom name.
pub(crate) fn misspelled_accelerator(resource: &str) -> Option<&'static str> {
    if resource.len() > MAX_COMPARED || is_accelerator(resource) || NOT_MISSPELLED.contains(&resource) {
        return None;
    }
    let resource = resource.to_lowercase();
    if let Some(partition) = resource.strip_prefix(PARTITIONS) {
        let near = || PARTITION_NAMES.into_iter().min_by_key(|known| strsim::osa_distance(&resource, known));
        return if is_partition(partition) { None } else { near() };
    }
    if let Some(gpu) = gpu_of_similar_domain(&resource) {
        return Some(gpu);
    }
    let letters = resource.chars().count();
    // A comparison is costly, and the length excludes most names.
    let has_similar_length = |known: &&str| known.len().abs_diff(letters) <= 1;
    ACCELERATORS.into_iter().filter(has_similar_length).find(|known| strsim::osa_distance(&resource, known) <= 1)
}

/// Returns the GPU that `resource` probably means, whose name is `gpu` without a domain, or with one that has no dot or belongs to a
/// vendor: `gpu`, `nvidia/gpu`, `nvidia.io/gpu`.
fn gpu_of_similar_domain(resource: &str) -> Option<&'static str> {
    let (domain, name) = resource.rsplit_once('/').unwrap_or(("", resource));
    if !GPUS.contains(&name) {
        return None;
    }
    let vendor = domain.split('.').next().unwrap_or_default();
    let known = DOMAINS.into_iter().find(|(known, _)| *known == vendor).map(|(_, gpu)| gpu);
    known.or_else(|| (!domain.contains('.')).then_some(DEFAULT_GPU))
}

/// Returns true if `name` is that of a partition after its start: `1g.10gb`, `1c.2g.10gb`, `1g.10gb.me`.
fn is_partition(name: &str) -> bool {
    let is_count = |part: &str, unit: &str| {
        part.strip_suffix(unit)
            .is_some_and(|count| !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut parts = name.split('.').skip_while(|part| is_count(part, "c"));
    parts.next().is_some_and(|part| is_count(part, "g")) && parts.next().is_some_and(|part| is_count(part, "gb"))
}

/// Returns true if `resource` counts as an accelerator.
#[must_use]
pub fn is_accelerator(resource: &str) -> bool {
    ACCELERATORS.contains(&resource)
}

/// Returns true if NCCL or RCCL may connect the accelerators with this name.
pub(crate) fn uses_nccl(resource: &str) -> bool {
    !WITHOUT_NCCL.iter().any(|prefix| resource.starts_with(prefix))
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

impl Container<'_> {
    /// Returns true if the container requests partitions of a GPU, whose names are known.
    pub(crate) fn has_partitions(self) -> bool {
        let limits = self.raw().get("resources").and_then(|resources| resources.get("limits")?.as_object());
        let is_partition = |name: &String| name.starts_with(PARTITIONS) && misspelled_accelerator(name).is_none();
        limits.is_some_and(|limits| limits.keys().any(is_partition))
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
    use super::misspelled_accelerator;

    #[rstest]
    #[case::a_letter("nvidia.com/gpus", Some("nvidia.com/gpu"))]
    #[case::case_of_letters("nvidia.com/GPU", Some("nvidia.com/gpu"))]
    #[case::no_domain("gpu", Some("nvidia.com/gpu"))]
    #[case::no_dot("nvidia/gpu", Some("nvidia.com/gpu"))]
    #[case::another_domain_of_the_vendor("amd.org/gpus", Some("amd.com/gpu"))]
    #[case::cloud("cloud/gpu", Some("nvidia.com/gpu"))]
    #[case::another_vendor("iluvatar.com/gpu", None)]
    #[case::virtual_machine("nvidia.com/pgpu", None)]
    #[case::partition("nvidia.com/mig-1g.10gb", None)]
    #[case::partition_of_instances("nvidia.com/mig-1c.2g.10gb", None)]
    #[case::partition_with_engines("nvidia.com/mig-1g.10gb.me", None)]
    #[case::misspelled_partition("nvidia.com/mig-1g.10gbb", Some("nvidia.com/mig-1g.10gb"))]
    #[case::partition_without_unit("nvidia.com/mig-3g.20g", Some("nvidia.com/mig-3g.20gb"))]
    #[case::large_partition_without_unit("nvidia.com/mig-7g.80g", Some("nvidia.com/mig-7g.80gb"))]
    #[case::known("nvidia.com/gpu.shared", None)]
    fn misspelled_accelerators_are_recognized(#[case] resource: &str, #[case] expected: Option<&str>) {
        assert_eq!(misspelled_accelerator(resource), expected);
    }

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
