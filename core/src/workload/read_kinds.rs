//! Kinds that are no workloads, but whose objects checks read.

use super::type_name;

/// A kind whose objects checks read.
pub(super) struct ReadKind {
    /// API group; empty for the core group.
    pub(super) group: &'static str,
    /// Name of the kind.
    pub(super) kind: &'static str,
    /// True if other projects have a kind of this name in a similar group.
    pub(super) has_namesakes: bool,
    /// Versions that are read.
    versions: &'static [&'static str],
}

/// API groups of objects that checks read, with their kinds (Istio 1.26, Kueue 0.19). Kinds that no other resembles may be absent.
pub(super) const READ_GROUPS: [(&str, &[&str]); 9] = [
    ("security.istio.io", &["AuthorizationPolicy", "PeerAuthentication", "RequestAuthentication"]),
    (
        "networking.istio.io",
        &[
            "DestinationRule",
            "EnvoyFilter",
            "Gateway",
            "ProxyConfig",
            "ServiceEntry",
            "Sidecar",
            "VirtualService",
            "WorkloadEntry",
            "WorkloadGroup",
        ],
    ),
    (
        "kueue.x-k8s.io",
        &[
            "AdmissionCheck",
            "ClusterQueue",
            "Cohort",
            "LocalQueue",
            "MultiKueueCluster",
            "MultiKueueConfig",
            "ProvisioningRequestConfig",
            "ResourceFlavor",
            "Topology",
            "Workload",
            "WorkloadPriorityClass",
        ],
    ),
    (
        "resource.k8s.io",
        &["DeviceClass", "DeviceTaintRule", "ResourceClaim", "ResourceClaimTemplate", "ResourceClass", "ResourceSlice"],
    ),
    ("resource.nvidia.com", &["ComputeDomain", "ComputeDomainClique"]),
    ("scheduling.k8s.io", &["PodGroup", "PriorityClass", "Workload"]),
    ("scheduling.volcano.sh", &["PodGroup", "Queue"]),
    ("scheduling.x-k8s.io", &["ElasticQuota", "PodGroup"]),
    ("trainer.kubeflow.org", &["ClusterTrainingRuntime", "TrainJob", "TrainingRuntime"]),
];

/// Kinds whose objects checks read.
pub(super) static READ_KINDS: [ReadKind; 13] = [
    ReadKind::new("", "Namespace", &["v1"]),
    ReadKind::new("", "PersistentVolumeClaim", &["v1"]),
    ReadKind::new("", "Service", &["v1"]),
    ReadKind::new("networking.istio.io", "DestinationRule", &["v1", "v1beta1", "v1alpha3"]),
    ReadKind::new("resource.k8s.io", "DeviceClass", CLAIM_VERSIONS),
    ReadKind::new("resource.k8s.io", "ResourceClaim", CLAIM_VERSIONS),
    ReadKind::new("resource.k8s.io", "ResourceClaimTemplate", CLAIM_VERSIONS),
    ReadKind::new("resource.nvidia.com", "ComputeDomain", &["v1beta1"]),
    ReadKind::new("security.istio.io", "PeerAuthentication", &["v1", "v1beta1"]),
    ReadKind::new("trainer.kubeflow.org", "ClusterTrainingRuntime", &["v1alpha1"]),
    ReadKind::new("trainer.kubeflow.org", "TrainingRuntime", &["v1alpha1"]),
    ReadKind { has_namesakes: true, ..ReadKind::new("scheduling.volcano.sh", "PodGroup", &["v1beta1"]) },
    ReadKind { has_namesakes: true, ..ReadKind::new("scheduling.x-k8s.io", "PodGroup", &["v1alpha1"]) },
];
const CLAIM_VERSIONS: &[&str] = &["v1", "v1beta2", "v1beta1"];

impl ReadKind {
    const fn new(group: &'static str, kind: &'static str, versions: &'static [&'static str]) -> Self {
        Self { group, kind, has_namesakes: false, versions }
    }

    /// Returns true if objects of this version are not read.
    pub(super) fn lacks_version(&self, version: &str) -> bool {
        !self.versions.contains(&version)
    }

    /// Returns the `apiVersion`s that are read, and the kind, as in a manifest.
    pub(super) fn name(&self) -> String {
        type_name(self.group, self.versions, self.kind)
    }
}
