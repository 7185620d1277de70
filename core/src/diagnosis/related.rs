//! Objects besides pods that the controller reads for a diagnosis, each only if it may.

use super::DiagnosisCode;

/// Objects that pods depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RelatedObjects {
    /// `PodGroups` of the gangs of pods.
    PodGroups,
    /// The workloads of pods.
    Workloads,
    /// `ResourceClaims` of pods.
    ResourceClaims,
    /// Nodes.
    Nodes,
    /// Nodes to which pods are limited by name.
    PinnedNodes,
}

impl RelatedObjects {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::PodGroups, Self::Workloads, Self::ResourceClaims, Self::Nodes, Self::PinnedNodes];

    /// Returns the label value in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PodGroups => "podgroups",
            Self::Workloads => "workloads",
            Self::ResourceClaims => "resourceclaims",
            Self::Nodes => "nodes",
            Self::PinnedNodes => "pinned_nodes",
        }
    }

    /// Returns true if a finding needs these objects, so that nothing is known about it without them.
    #[must_use]
    pub fn prove(self, code: DiagnosisCode) -> bool {
        let codes: &[DiagnosisCode] = match self {
            Self::PodGroups => &[
                DiagnosisCode::PodGroupMissing,
                DiagnosisCode::PodGroupTooLarge,
                DiagnosisCode::PodGroupShared,
                DiagnosisCode::PodGroupStale,
                DiagnosisCode::PodGroupOrphaned,
                DiagnosisCode::LauncherAwaitsGang,
            ],
            Self::Workloads => &[
                DiagnosisCode::PodGroupTooLarge,
                DiagnosisCode::LauncherAwaitsGang,
                DiagnosisCode::RankMissing,
                DiagnosisCode::JobSuspended,
                DiagnosisCode::FailureUnreported,
                DiagnosisCode::InjectionKeyOnWorkload,
            ],
            Self::ResourceClaims => &[DiagnosisCode::ClaimNotAllocated],
            Self::Nodes => &[
                DiagnosisCode::PinnedNodeMissing,
                DiagnosisCode::NodeNotReporting,
                DiagnosisCode::AcceleratorUnhealthy,
                DiagnosisCode::DeviceOnNoNode,
                DiagnosisCode::GangsDeadlocked,
            ],
            Self::PinnedNodes => &[DiagnosisCode::PinnedNodeMissing],
        };
        codes.contains(&code)
    }
}
