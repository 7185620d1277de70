//! `v1` Pod.

use crate::workload::{Fidelity, GangTraits, RolePod, SOLE_ROLE, WorkloadKind};

/// A Pod, which is rendered unchanged.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "",
    versions: &["v1"],
    kind: "Pod",
    resource: "pods",
    fidelity: Fidelity::Exact,
    render: |manifest| {
        let (name, pod) = (SOLE_ROLE.to_owned(), manifest.raw.clone());
        Ok(vec![RolePod {
            name,
            replicas: Some(1),
            generic: false,
            assumed_runtime: None,
            runtime: None,
            pod,
            notes: Vec::new(),
            follows: Vec::new(),
            component: None,
        }])
    },
    identify: |_| None,
    labels: &[],
    gang: GangTraits::NONE,
};
