//! The APIs of the `PodGroups` that the controller creates.

use crate::gang::GangMode;

/// API of a scheduler's `PodGroup`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GroupApi {
    /// `scheduling.k8s.io/v1alpha2` of Kubernetes 1.36, whose spec is immutable.
    NativeV1Alpha2,
    /// `scheduling.k8s.io/v1beta1` of Kubernetes 1.37, in whose spec only the minimum can change.
    NativeV1Beta1,
    /// `scheduling.volcano.sh/v1beta1`
    Volcano,
    /// `scheduling.x-k8s.io/v1alpha1` of scheduler-plugins.
    Coscheduling,
}

impl GroupApi {
    /// Every API. Of two versions of one group, the newer one comes first.
    pub const ALL: [Self; 4] = [Self::NativeV1Beta1, Self::NativeV1Alpha2, Self::Volcano, Self::Coscheduling];
    /// Kind of the objects.
    pub const KIND: &str = "PodGroup";
    /// Plural of [`Self::KIND`].
    pub const PLURAL: &str = "podgroups";

    /// Returns the API of a mode in this version, as in `scheduling.k8s.io/v1alpha2`.
    #[must_use]
    pub fn find(mode: GangMode, api_version: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.mode() == mode && api.api_version() == api_version)
    }

    /// Returns the mode whose pods name the objects.
    #[must_use]
    pub const fn mode(self) -> GangMode {
        match self {
            Self::NativeV1Alpha2 | Self::NativeV1Beta1 => GangMode::Native,
            Self::Volcano => GangMode::Volcano,
            Self::Coscheduling => GangMode::Coscheduling,
        }
    }

    /// Returns the API group.
    #[must_use]
    pub const fn group(self) -> &'static str {
        match self {
            Self::NativeV1Alpha2 | Self::NativeV1Beta1 => "scheduling.k8s.io",
            Self::Volcano => "scheduling.volcano.sh",
            Self::Coscheduling => "scheduling.x-k8s.io",
        }
    }

    /// Returns the version.
    #[must_use]
    pub const fn version(self) -> &'static str {
        match self {
            Self::NativeV1Alpha2 => "v1alpha2",
            Self::NativeV1Beta1 | Self::Volcano => "v1beta1",
            Self::Coscheduling => "v1alpha1",
        }
    }

    /// Returns the `apiVersion`.
    #[must_use]
    pub fn api_version(self) -> String {
        format!("{}/{}", self.group(), self.version())
    }

    /// Returns true if the minimum of an existing object can change.
    #[must_use]
    pub const fn has_mutable_minimum(self) -> bool {
        !matches!(self, Self::NativeV1Alpha2)
    }

    /// Returns true if the scheduler tries pods that it has rejected again when others end. The coscheduling plugin does so only
    /// when a pod is created or a `PodGroup` changes (`EventsToRegister` in scheduler-plugins 0.34.7,
    /// `pkg/coscheduling/coscheduling.go`), and Kubernetes' queue after 5 minutes.
    #[must_use]
    pub const fn retries_when_pods_end(self) -> bool {
        !matches!(self, Self::Coscheduling)
    }

    /// Returns the pointer of the field with the minimum.
    pub(super) const fn minimum_pointer(self) -> &'static str {
        match self {
            Self::NativeV1Alpha2 | Self::NativeV1Beta1 => "/spec/schedulingPolicy/gang/minCount",
            Self::Volcano | Self::Coscheduling => "/spec/minMember",
        }
    }
}
