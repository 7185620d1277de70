//! Fields and values that the Kubernetes API does not have.

use super::super::fields;
use super::{Check, Example, UNKNOWN_FIELDS};
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[Check {
    id: UNKNOWN_FIELDS,
    severity: Severity::Warning,
    title: "a field or value that Kubernetes does not have, or a value of the wrong type",
    why: "The apiserver drops an unknown field, unless kubectl validates strictly: the pod is created as if the field were \
          absent. It rejects a value that is unknown or of the wrong type, and a pod without containers: the pod is never created. \
          It reads a quantity of null as 0. A label, annotation or node selector of null is an empty string in a Pod and in kinds of \
          Kubernetes; in custom resources the apiserver drops it, and rejects it in a server-side apply. For a value of the \
          wrong type, except a quantity of null, preview shows no patch. No node offers a misspelled GPU resource: the pod stays Pending. The fields are those of Kubernetes 1.36 and, for a TrainJob, those of Kubeflow Trainer.",
    fix: "correct the name or the value; kubectl explain lists the fields",
    example: Example {
        given: "",
        wrong: r"spec:
  containers:
  - name: train
    resorces: {limits: {nvidia.com/gpu: 8}}
",
        fixed: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}}
",
    },
    run: fields::unknown_fields,
}];
