//! `v1` Pod: a manifest that is its own pod.

use crate::workload::{Fidelity, Kind, Role};

/// The pod exactly as it came.
pub(super) static KIND: Kind = Kind {
    group: "",
    versions: &["v1"],
    kind: "Pod",
    fidelity: Fidelity::Exact,
    render: |manifest| {
        Ok(vec![Role { name: "Pod".to_owned(), replicas: 1, pod: manifest.raw.clone(), notes: Vec::new() }])
    },
    identify: |_| None,
};
