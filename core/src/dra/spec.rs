//! Content of `ResourceClaims` and `ResourceClaimTemplates`: which devices they request.

mod content;

use std::mem::size_of;

use serde::Deserialize as _;
use serde_json::Value;

use super::count::Count;
use super::selectors::Traits;
pub use content::ClaimContent;

/// Devices that a claim requests. Parsing never fails: a claim that the apiserver would reject, or that exceeds the
/// limits, exists but requests unknown devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimSpec {
    requests: Option<Box<[DeviceRequest]>>,
}

/// A request of a claim, to which containers can refer by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeviceRequest {
    pub(super) name: Box<str>,
    /// The devices, or alternatives of which the scheduler selects one (`firstAvailable`).
    pub(super) alternatives: Box<[Alternative]>,
    /// Access for monitoring, to devices that other pods use.
    pub(super) is_admin: bool,
}

/// Devices of one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alternative {
    pub(super) class: Box<str>,
    pub(super) count: Count,
    /// Properties that the request's own selectors require.
    pub(super) traits: Traits,
}

/// API group of the kinds.
pub const GROUP: &str = "resource.k8s.io";

/// Annotations of claims that Kubernetes creates for single pods (`PodResourceClaimAnnotation` and
/// `ExtendedResourceClaimAnnotation` in kubernetes/api). No manifest names such a claim.
const GENERATED: [&str; 2] =
    ["resource.kubernetes.io/pod-claim-name", "resource.kubernetes.io/extended-resource-claim"];
/// Version of the API in which the fields of `exactly` are fields of the request.
const FLAT_VERSION: &str = "v1beta1";

/// Maximum number of requests (`DeviceRequestsMaxSize` in kubernetes/api).
const MAX_REQUESTS: usize = 32;
/// Maximum number of alternatives (`FirstAvailableDeviceRequestMaxSize` in kubernetes/api).
const MAX_ALTERNATIVES: usize = 8;
/// Maximum number of devices of a request (`AllocationResultsMaxSize` in kubernetes/api).
const MAX_COUNT: u64 = 32;
/// Maximum length in bytes of all names in a claim, to bound the memory that the claims of a tenant take. Claims in
/// vendors' examples have a few names of 20 bytes.
const MAX_NAMES: usize = 4096;
/// Maximum number of alternatives in all requests of a claim, for the same reason. Claims in vendors' examples have up to four.
const MAX_ALL_ALTERNATIVES: usize = 64;

/// Returns true if Kubernetes created the claim for a pod.
#[must_use]
pub fn is_generated<'a>(mut annotations: impl Iterator<Item = &'a String>) -> bool {
    annotations.any(|key| GENERATED.contains(&key.as_str()))
}

impl ClaimSpec {
    /// Reads a `ResourceClaim` of `version`, such as `v1beta1`.
    #[must_use]
    pub fn from_claim(object: &Value, version: &str) -> Self {
        Self::from_claim_content(content(object), version)
    }

    /// Reads a `ResourceClaimTemplate` of `version`, such as `v1beta1`.
    #[must_use]
    pub fn from_template(object: &Value, version: &str) -> Self {
        Self::from_template_content(content(object), version)
    }

    /// Reads the content of a `ResourceClaim` of `version`.
    #[must_use]
    pub fn from_claim_content(content: ClaimContent, version: &str) -> Self {
        Self::bounded(content.claim_requests(version))
    }

    /// Reads the content of a `ResourceClaimTemplate` of `version`.
    #[must_use]
    pub fn from_template_content(content: ClaimContent, version: &str) -> Self {
        Self::bounded(content.template_requests(version))
    }

    /// Returns the content of the template that belongs to a `ComputeDomain`: one channel.
    #[must_use]
    pub fn channel() -> Self {
        let class = "compute-domain-default-channel.nvidia.com".into();
        let channel = Alternative { class, count: Count::exactly(1), traits: Traits::default() };
        let request = DeviceRequest { name: "channel".into(), alternatives: Box::new([channel]), is_admin: false };
        Self { requests: Some(Box::new([request])) }
    }

    /// Returns the requests; `None` if they are unknown.
    pub(super) fn requests(&self) -> Option<&[DeviceRequest]> {
        self.requests.as_deref()
    }

    /// Returns about how many bytes of memory the content takes.
    #[must_use]
    pub fn size(&self) -> usize {
        let requests = self.requests.iter().flatten();
        let size = |request: &DeviceRequest| {
            size_of::<DeviceRequest>() + names_length(request) + request.alternatives.len() * size_of::<Alternative>()
        };
        size_of::<Self>() + requests.map(size).sum::<usize>()
    }

    fn bounded(requests: Option<Box<[DeviceRequest]>>) -> Self {
        let fits = |requests: &[DeviceRequest]| {
            requests.iter().map(names_length).sum::<usize>() <= MAX_NAMES
                && requests.iter().map(|request| request.alternatives.len()).sum::<usize>() <= MAX_ALL_ALTERNATIVES
        };
        Self { requests: requests.filter(|requests| fits(requests)) }
    }
}

fn content(object: &Value) -> ClaimContent {
    object.get("spec").and_then(|spec| ClaimContent::deserialize(spec).ok()).unwrap_or_default()
}

fn names_length(request: &DeviceRequest) -> usize {
    request.name.len() + request.alternatives.iter().map(|alternative| alternative.class.len()).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn describe(spec: &ClaimSpec) -> String {
        let Some(requests) = spec.requests() else { return "unknown".to_owned() };
        let request = |request: &DeviceRequest| {
            let devices = request.alternatives.iter().map(|one| format!("{} {}", one.count, one.class));
            let admin = if request.is_admin { " (admin)" } else { "" };
            format!("{}: {}{admin}", request.name, devices.collect::<Vec<_>>().join(" or "))
        };
        requests.iter().map(request).collect::<Vec<_>>().join(", ")
    }

    fn gpu(fields: &Value) -> Value {
        let mut gpu = json!({"deviceClassName": "gpu.nvidia.com"});
        gpu.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        gpu
    }

    #[rstest]
    #[case::default_count("v1", json!([{"name": "gpu", "exactly": gpu(&json!({}))}]), "gpu: 1 gpu.nvidia.com")]
    #[case::exact_count("v1", json!([{"name": "gpu", "exactly": gpu(&json!({"allocationMode": "ExactCount", "count": 8}))}]), "gpu: 8 gpu.nvidia.com")]
    #[case::zero_is_the_default("v1", json!([{"name": "gpu", "exactly": gpu(&json!({"count": 0}))}]), "gpu: 1 gpu.nvidia.com")]
    #[case::all("v1", json!([{"name": "gpu", "exactly": gpu(&json!({"allocationMode": "All"}))}]), "gpu: at least 1 gpu.nvidia.com")]
    #[case::unknown_mode("v1", json!([{"name": "gpu", "exactly": gpu(&json!({"allocationMode": "Some"}))}]), "gpu: an unknown number of gpu.nvidia.com")]
    #[case::first_available("v1", json!([{"name": "gpu", "firstAvailable": [gpu(&json!({"count": 8})), gpu(&json!({"count": 4}))]}]), "gpu: 8 gpu.nvidia.com or 4 gpu.nvidia.com")]
    #[case::admin("v1", json!([{"name": "gpu", "exactly": gpu(&json!({"adminAccess": true}))}]), "gpu: 1 gpu.nvidia.com (admin)")]
    #[case::several("v1beta2", json!([{"name": "a", "exactly": gpu(&json!({}))}, {"name": "b", "exactly": gpu(&json!({"count": 2}))}]), "a: 1 gpu.nvidia.com, b: 2 gpu.nvidia.com")]
    #[case::flat("v1beta1", json!([{"name": "gpu", "deviceClassName": "gpu.nvidia.com", "count": 2, "adminAccess": true}]), "gpu: 2 gpu.nvidia.com (admin)")]
    #[case::flat_first_available("v1beta1", json!([{"name": "gpu", "firstAvailable": [gpu(&json!({"count": 2}))]}]), "gpu: 2 gpu.nvidia.com")]
    #[case::flat_in_v1("v1", json!([{"name": "gpu", "deviceClassName": "gpu.nvidia.com"}]), "unknown")]
    #[case::nested_in_v1beta1("v1beta1", json!([{"name": "gpu", "exactly": gpu(&json!({}))}]), "unknown")]
    #[case::both("v1", json!([{"name": "gpu", "exactly": gpu(&json!({})), "firstAvailable": [gpu(&json!({}))]}]), "unknown")]
    #[case::neither("v1", json!([{"name": "gpu"}]), "unknown")]
    #[case::negative("v1", json!([{"name": "gpu", "exactly": gpu(&json!({"count": -1}))}]), "unknown")]
    #[case::text("v1", json!([{"name": "gpu", "exactly": gpu(&json!({"count": "8"}))}]), "unknown")]
    #[case::most_devices("v1", json!([{"name": "gpu", "exactly": gpu(&json!({"count": MAX_COUNT}))}]), "gpu: 32 gpu.nvidia.com")]
    #[case::too_many_devices("v1", json!([{"name": "gpu", "exactly": gpu(&json!({"count": MAX_COUNT + 1}))}]), "unknown")]
    #[case::too_many_requests("v1", json!(vec![json!({"name": "a", "exactly": gpu(&json!({}))}); MAX_REQUESTS + 1]), "unknown")]
    #[case::too_many_alternatives("v1", json!([{"name": "a", "firstAvailable": vec![gpu(&json!({})); MAX_ALTERNATIVES + 1]}]), "unknown")]
    #[case::exactly_is_null("v1", json!([{"name": "gpu", "exactly": null, "firstAvailable": [gpu(&json!({}))]}]), "gpu: 1 gpu.nvidia.com")]
    #[case::no_alternatives("v1", json!([{"name": "gpu", "exactly": gpu(&json!({})), "firstAvailable": []}]), "gpu: 1 gpu.nvidia.com")]
    #[case::empty_class("v1beta1", json!([{"name": "gpu", "deviceClassName": "", "firstAvailable": [gpu(&json!({}))]}]), "gpu: 1 gpu.nvidia.com")]
    #[case::too_many_alternatives_of_all_requests("v1", json!(vec![json!({"name": "a", "firstAvailable": vec![gpu(&json!({})); MAX_ALTERNATIVES]}); MAX_ALL_ALTERNATIVES / MAX_ALTERNATIVES + 1]), "unknown")]
    #[case::long_names("v1", json!([{"name": "a".repeat(MAX_NAMES), "exactly": gpu(&json!({}))}]), "unknown")]
    #[case::no_list("v1", json!("gpu"), "unknown")]
    fn claims_and_templates_are_read_in_every_version(
        #[case] version: &str,
        #[case] requests: Value,
        #[case] expected: &str,
    ) {
        let spec = json!({"devices": {"requests": requests}});
        assert_eq!(describe(&ClaimSpec::from_claim(&json!({"spec": spec}), version)), expected);
        assert_eq!(describe(&ClaimSpec::from_template(&json!({"spec": {"spec": spec}}), version)), expected);
    }

    #[test]
    fn the_memory_of_a_claim_is_bounded() {
        let selectors = vec![json!({"cel": {"expression": "true"}}); 32];
        let gpu = json!({"deviceClassName": "a".repeat(32), "selectors": selectors, "tolerations": vec![json!({"key": "x"}); 16]});
        let list =
            |count: usize| json!(vec![json!({"name": "b".repeat(32), "firstAvailable": vec![gpu.clone(); 8]}); count]);
        let size =
            |count: usize| ClaimSpec::from_claim(&json!({"spec": {"devices": {"requests": list(count)}}}), "v1").size();
        assert!((2048..8192).contains(&size(8)), "{}", size(8));
        assert!(size(32) < 64, "{}", size(32));
    }

    #[rstest]
    #[case::of_a_template(GENERATED[0], true)]
    #[case::of_an_extended_resource(GENERATED[1], true)]
    #[case::of_a_person("example.com/owner", false)]
    fn generated_claims_are_recognized(#[case] annotation: &str, #[case] expected: bool) {
        assert_eq!(is_generated(std::iter::once(&annotation.to_owned())), expected);
    }
}
