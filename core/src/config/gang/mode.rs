//! Gang modes: how the pods of a job are scheduled together.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::super::choice::{self, choices};

/// How the pods of a job are scheduled together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum GangMode {
    /// Pods are scheduled one by one.
    #[default]
    None,
    /// The mode of the gang scheduler that the cluster runs.
    Auto,
    /// `PodGroups` of Kubernetes (`scheduling.k8s.io`).
    Native,
    /// `PodGroups` of Volcano.
    Volcano,
    /// `PodGroups` of the coscheduling plugin (scheduler-plugins).
    Coscheduling,
    /// NVIDIA KAI-Scheduler, whose podgrouper creates the groups.
    Kai,
    /// Task groups of Apache `YuniKorn`.
    Yunikorn,
    /// Gangs of Koordinator, declared by annotations.
    Koordinator,
    /// Kueue, which admits the whole job.
    Kueue,
}

impl GangMode {
    /// Modes in which a pod names an object that the controller creates.
    pub const WITH_OBJECTS: [Self; 3] = [Self::Native, Self::Volcano, Self::Coscheduling];

    /// Parses a value of the configuration or of the label `trainmesh.dev/gang`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        choice::parse(name).ok()
    }

    /// Returns the names of all modes.
    #[must_use]
    pub fn names() -> &'static [&'static str] {
        choice::names::<Self>()
    }

    /// Returns the name of the mode in labels and in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Auto => "auto",
            Self::Native => "native",
            Self::Volcano => "volcano",
            Self::Coscheduling => "coscheduling",
            Self::Kai => "kai",
            Self::Yunikorn => "yunikorn",
            Self::Koordinator => "koordinator",
            Self::Kueue => "kueue",
        }
    }

    /// Returns true if a pod names an object that the controller creates.
    #[must_use]
    pub fn has_objects(self) -> bool {
        Self::WITH_OBJECTS.contains(&self)
    }

    /// Returns true if the keys of a pod contain the number of pods to wait for, which nobody lowers later.
    #[must_use]
    pub fn has_fixed_minimum(self) -> bool {
        matches!(self, Self::Yunikorn | Self::Koordinator)
    }

    /// Returns true if the keys of a pod depend on the size of its gang, or on the identity of its job.
    #[must_use]
    pub fn needs_workload(self) -> bool {
        self.has_objects() || self.has_fixed_minimum()
    }

    /// Returns the `schedulerName` of the scheduler, by the default of its installation; `None` if pods keep the default
    /// scheduler.
    #[must_use]
    pub fn scheduler_name(self) -> Option<&'static str> {
        match self {
            Self::None | Self::Auto | Self::Native | Self::Kueue => None,
            Self::Volcano => Some("volcano"),
            Self::Coscheduling => Some("scheduler-plugins-scheduler"),
            Self::Kai => Some("kai-scheduler"),
            Self::Yunikorn => Some("yunikorn"),
            Self::Koordinator => Some("koord-scheduler"),
        }
    }
}

choices!(GangMode);

impl fmt::Display for GangMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_configuration() {
        let modes = ["none", "auto", "native", "volcano", "coscheduling", "kai", "yunikorn", "koordinator", "kueue"];
        for name in modes {
            assert_eq!(GangMode::parse(name).map(GangMode::name), Some(name));
        }
        assert_eq!(GangMode::parse("Volcano"), None);
    }
}
