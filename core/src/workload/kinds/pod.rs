//! `v1` Pod.

use crate::workload::{Fidelity, GangTraits, Kind, Role, SOLE_ROLE};

/// A Pod, which is rendered unchanged.
pub(super) static KIND: Kind = Kind {
    group: "",
    versions: &["v1"],
    kind: "Pod",
    resource: "pods",
    fidelity: Fidelity::Exact,
    render: |manifest| {
        Ok(vec![Role { name: SOLE_ROLE.to_owned(), replicas: 1, pod: manifest.raw.clone(), notes: Vec::new() }])
    },
    identify: |_| None,
    gang: GangTraits::NONE,
};
