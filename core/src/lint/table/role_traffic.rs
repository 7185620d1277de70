//! The traffic modes of the roles of a job.

use super::super::role_traffic;
use super::{Check, Example, MESH};
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[Check {
    id: MESH[8],
    severity: Severity::Warning,
    title: "roles of one job with different traffic modes",
    why: "The pods of a job connect to each other. Under STRICT mTLS, the proxy of a role without the mode rejects connections of a \
          role that bypasses Envoy, which is an error. Otherwise, they may hang, as FP021 describes. If the labels of the \
          namespace are assumed, a warning is information. A role without a proxy, or outside of \
          the ambient mesh, is reported under STRICT mTLS. Roles that may run separate programs, such as those of a JobSet or \
          RayCluster, are not compared.",
    fix: "set the same trainmesh.dev/mesh-traffic for all pods of the job, also for the launcher: in their labels, or in the \
          label of the namespace",
    example: Example {
        given: "in a namespace with Istio injection, in a job whose workers have the label `trainmesh.dev/mesh-traffic: disableCapture`",
        wrong: r"metadata:
  labels:
    training.kubeflow.org/operator-name: mpi-operator
    training.kubeflow.org/job-name: llama
    training.kubeflow.org/job-role: launcher
spec:
  containers:
  - name: launcher
",
        fixed: r#"metadata:
  labels:
    training.kubeflow.org/operator-name: mpi-operator
    training.kubeflow.org/job-name: llama
    training.kubeflow.org/job-role: launcher
    trainmesh.dev/mesh-traffic: disableCapture
  annotations:
    trainmesh.dev/applied: mesh.traffic
    traffic.sidecar.istio.io/includeInboundPorts: ""
    traffic.sidecar.istio.io/includeOutboundIPRanges: ""
spec:
  containers:
  - name: launcher
"#,
    },
    run: |context, findings| role_traffic::mixed_modes(context.input, findings),
}];
