//! Dynamic resource allocation.

use super::super::claims;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
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
    },
    Check {
        id: CheckId::new(51),
        severity: Severity::Warning,
        title: "unknown claim, class or request",
        why: "The number of accelerators decides about a fabric profile. If a claim, its template, its class or a request cannot be \
              found, the profile is not applied, and the scheduler leaves the pod pending if the object does not exist in the \
              cluster either. Pods without a fabric profile are not checked.",
        fix: "correct the name, and add the object to the input",
        example: Example {
            given: "the manifest contains the ResourceClaimTemplate `gpus`, and the pod selects a fabric profile",
            wrong: r"spec:
  resourceClaims: [{name: gpus, resourceClaimTemplateName: gpu}]
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
        run: claims::unknown,
    },
];
