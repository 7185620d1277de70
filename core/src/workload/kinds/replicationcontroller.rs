//! `v1` `ReplicationController`.

use super::replicaset;
use crate::workload::identity::identity_by_owner;
use crate::workload::{Fidelity, GangTraits, WorkloadKind};

/// A `ReplicationController`: the predecessor of the `ReplicaSet`.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "",
    versions: &["v1"],
    kind: "ReplicationController",
    resource: "replicationcontrollers",
    fidelity: Fidelity::Exact,
    render: |manifest| replicaset::render(manifest, "v1", "ReplicationController"),
    identify: |pod| identity_by_owner(pod, "v1", &KIND),
    labels: &[],
    gang: GangTraits::NONE,
};
