//! Accelerators that are idle because of a problem.

/// Accelerators that are idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waste {
    /// Number of accelerators.
    pub accelerators: u64,
    /// Sum of the times for which they have been idle, in seconds.
    pub accelerator_seconds: u64,
    /// True if they include those of peers, which wait although nothing is wrong with them.
    pub includes_peers: bool,
}

/// A cause of idle accelerators that no metric of Kubernetes shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WasteCause {
    /// The main containers have finished, and a proxy or another sidecar keeps the pod.
    SidecarRunning,
    /// All pods of a job wait for one.
    PeersWaiting,
    /// The ranks of a job have different fabric profiles.
    FabricMixed,
}

impl WasteCause {
    /// Every cause.
    pub const ALL: [Self; 3] = [Self::SidecarRunning, Self::PeersWaiting, Self::FabricMixed];

    /// Returns the label value in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SidecarRunning => "sidecar_running",
            Self::PeersWaiting => "peers_waiting",
            Self::FabricMixed => "fabric_mixed",
        }
    }
}
