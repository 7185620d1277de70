//! Findings about devices and fabric profiles.

use super::{DiagnosisCode, Entry};
use crate::finding::Severity;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        code: DiagnosisCode::DeviceOnNoNode,
        severity: Severity::Error,
        proof: "a container of a pod without a node requests an extended resource that `status.allocatable` of no node contains, and the scheduler has reported nothing or names the resource, because a device class may stand for it: while taints or labels exclude all nodes, it is PodsUnschedulable; not while the autoscaler adds nodes",
        fix: "check the spelling, and the device plugin on the nodes: kubectl get nodes -o yaml; or remove the request",
        link: "docs/diagnose.md#deviceonnonode",
    },
    Entry {
        code: DiagnosisCode::ClaimNotAllocated,
        severity: Severity::Error,
        proof: "a pod without a node for 5 minutes names a ResourceClaim that is not among those of the namespace, or its claim has not been created from the template; a warning for a claim without `status.allocation`, if the message of the scheduler is about claims or device classes, and no rank of the job has a node",
        fix: "check the name of the claim or template, the DeviceClass and its selectors, and that the driver offers devices: kubectl get resourceslices -o yaml",
        link: "docs/diagnose.md#claimnotallocated",
    },
    Entry {
        code: DiagnosisCode::FabricMixed,
        severity: Severity::Error,
        proof: "the annotation `trainmesh.dev/fabric-revision` of unfinished ranks with accelerators differs, or only some have it",
        fix: "recreate all pods of the job",
        link: "docs/diagnose.md#fabricmixed",
    },
    Entry {
        code: DiagnosisCode::FabricRefused,
        severity: Severity::Warning,
        proof: "the annotation `trainmesh.dev/refused` of an unfinished rank with accelerators contains `fabric=` with a reason of docs/rules.md; not if the pod's own label selects a built-in profile without RDMA, a main container requests an RDMA device itself, or its logs show another network than TCP",
        fix: "run trainmesh preview POD -n NAMESPACE --cluster, which names the setting or guard; correct it and recreate all pods of the job, or select no profile with trainmesh.dev/fabric: none",
        link: "docs/diagnose.md#fabricrefused",
    },
];
