//! Dynamic resource allocation.

use super::super::claims;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[Check {
    id: CheckId::new(48),
    severity: Severity::Warning,
    title: "accelerators shared by the pods of a job",
    why: "All pods that name a ResourceClaim share its devices, and run on the node of these devices. NCCL refuses ranks \
          on the same GPU (Duplicate GPU detected).",
    fix: "name a ResourceClaimTemplate, from which each pod gets a claim of its own",
    example: Example {
        given: "the manifest contains the ResourceClaim and the ResourceClaimTemplate `gpus`, each for 4 devices of class \
                `gpu.nvidia.com`, and the job has 2 pods",
        wrong: r"spec:
  resourceClaims: [{name: gpus, resourceClaimName: gpus}]
  containers:
  - name: train
    resources: {claims: [{name: gpus}]}
",
        fixed: r"spec:
  resourceClaims: [{name: gpus, resourceClaimTemplateName: gpus}]
  containers:
  - name: train
    resources: {claims: [{name: gpus}]}
",
    },
    run: claims::shared_accelerators,
}];
