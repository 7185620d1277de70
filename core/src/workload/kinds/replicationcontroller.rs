//! `v1` `ReplicationController`.

use super::replicaset;
use crate::workload::member::member_by_owner;
use crate::workload::{Fidelity, GangTraits, Kind};

/// A `ReplicationController`: the predecessor of the `ReplicaSet`.
pub(super) static KIND: Kind = Kind {
    group: "",
    versions: &["v1"],
    kind: "ReplicationController",
    resource: "replicationcontrollers",
    fidelity: Fidelity::Exact,
    render: |manifest| replicaset::render(manifest, "v1", "ReplicationController"),
    identify: |pod| member_by_owner(pod, "v1", &KIND),
    gang: GangTraits::NONE,
};
