//! `v1` `ReplicationController`.

use super::replicaset;
use crate::workload::member::by_owner;
use crate::workload::{Fidelity, Kind};

/// A `ReplicationController`: the older form of a `ReplicaSet`.
pub(super) static KIND: Kind = Kind {
    group: "",
    versions: &["v1"],
    kind: "ReplicationController",
    fidelity: Fidelity::Exact,
    render: |manifest| replicaset::render(manifest, "v1", "ReplicationController"),
    identify: |pod| by_owner(pod, "v1", "ReplicationController"),
};
