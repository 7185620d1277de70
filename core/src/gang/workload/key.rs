//! The key of the object that contains the sizes of a pod's gang.

use super::gang_member;
use crate::dns;
use crate::pod::Pod;

/// Identifies the object that contains the sizes of a pod's gang.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkloadKey {
    /// Namespace of the object.
    pub namespace: String,
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Version of the group to read.
    pub version: &'static str,
    /// Kind of the object.
    pub kind: &'static str,
    /// Plural resource name.
    pub resource: &'static str,
    /// Name of the object.
    pub name: String,
    /// UID of the object. `None` if the pod does not contain it, as that of an `MPIJob`'s launcher.
    pub uid: Option<String>,
}

impl WorkloadKey {
    /// Returns the object that contains the sizes of the gang of `pod`; `None` if the pod does not belong to a gang, or the
    /// sizes of its kind are not known.
    #[must_use]
    pub fn of(pod: Pod<'_>, namespace: &str) -> Option<Self> {
        // The name becomes part of a request's path. That of a controller is a user's text.
        let member = gang_member(pod).filter(|member| dns::is_subdomain(member.workload))?;
        let kind = member.kind.gang.object.unwrap_or(member.kind);
        kind.gang.shape?;
        let controller = pod.controller().filter(|owner| owner.kind == kind.kind && owner.name == member.workload);
        let uid = controller.and_then(|owner| owner.uid).or_else(|| (kind.gang.uid)(pod));
        Some(Self {
            namespace: namespace.to_owned(),
            group: kind.group,
            version: kind.versions.first().copied()?,
            kind: kind.kind,
            resource: kind.resource,
            name: member.workload.to_owned(),
            uid: uid.map(str::to_owned),
        })
    }

    /// Returns the `apiVersion` of the object.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }
}
