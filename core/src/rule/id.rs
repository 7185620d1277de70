//! The names of the rules.

use serde::{Serialize, Serializer};

use crate::keys;

/// Identifies a rule. The order is that of the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RuleId {
    /// Holds the application until the proxy is ready.
    MeshHold,
    /// Requests a native sidecar.
    MeshNative,
    /// Lets traffic of the main containers bypass Envoy.
    MeshTraffic,
    /// Applies the pod's fabric profile.
    Fabric,
    /// Gives the pods of a job the keys by which a scheduler places them together.
    Gang,
    /// Sets the interval between checkpoints, for pods with its annotations.
    Checkpoint,
    /// Labels pods that have sidecars, so that the controller watches them.
    TerminationManaged,
}

impl RuleId {
    /// All rules, in the order of the documentation.
    pub const ALL: [Self; 7] = [
        Self::MeshHold,
        Self::MeshNative,
        Self::MeshTraffic,
        Self::Fabric,
        Self::Gang,
        Self::Checkpoint,
        Self::TerminationManaged,
    ];

    /// Returns the name of the rule in output, metrics and annotations.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MeshHold => "mesh.hold",
            Self::MeshNative => "mesh.native",
            Self::MeshTraffic => "mesh.traffic",
            Self::Fabric => "fabric",
            Self::Gang => "gang",
            Self::Checkpoint => "checkpoint",
            Self::TerminationManaged => "termination.managed",
        }
    }

    /// Returns the label of a pod or its namespace that selects what the rule applies, if there is one.
    #[must_use]
    pub fn selected_by(self) -> Option<&'static str> {
        match self {
            Self::Fabric => Some(keys::FABRIC),
            Self::Gang => Some(keys::GANG),
            Self::MeshTraffic => Some(keys::MESH_TRAFFIC),
            Self::MeshHold | Self::MeshNative | Self::Checkpoint | Self::TerminationManaged => None,
        }
    }
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
