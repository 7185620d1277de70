//! The names of the rules.

use serde::{Serialize, Serializer};

/// The name of a rule; their order is that of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RuleId {
    /// Hold the application until the proxy is ready.
    MeshHold,
    /// Ask for a native sidecar.
    MeshNative,
    /// Keep the payload's traffic out of Envoy.
    MeshTraffic,
    /// Give the pod what its fabric needs.
    Fabric,
    /// Let the controller find the pod for the sake of its helpers.
    TerminationManaged,
}

impl RuleId {
    /// Every rule, in the order of the reference.
    pub const ALL: [Self; 5] =
        [Self::MeshHold, Self::MeshNative, Self::MeshTraffic, Self::Fabric, Self::TerminationManaged];

    /// The name as configuration, metrics and reports write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MeshHold => "mesh.hold",
            Self::MeshNative => "mesh.native",
            Self::MeshTraffic => "mesh.traffic",
            Self::Fabric => "fabric",
            Self::TerminationManaged => "termination.managed",
        }
    }
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
