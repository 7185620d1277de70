//! The pod as a member of its job.

use super::super::{job, kueue, mesh};
use super::{Check, Example, MIXED_FABRICS, QUOTA};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(21),
        severity: Severity::Warning,
        title: "training traffic through Envoy or ztunnel",
        why: "NCCL and Gloo open ports that cannot be listed in advance, and use their own protocols. The proxy \
              accepts connections before the peer listens, so NCCL does not retry, and the job hangs at startup. A pod that \
              belongs to no training job is reported if its variables or its command show several ranks (docs/mesh.md), and if \
              its own label selects direct, which skips it: as information if it is the only pod of its workload. If annotations \
              exclude interfaces from capture, it is reported if NCCL_SOCKET_IFNAME or GLOO_SOCKET_IFNAME allows eth0 and eth0 \
              is not excluded. The \
              severity is information if the labels of the namespace are assumed, because neither the manifests nor \
              --namespace-labels nor --cluster provide them, if a label selects leave, for TPUs and Neuron \
              devices, whose libraries were not measured behind Envoy, and in the ambient mesh, whose ztunnel accepts \
              connections alike.",
        fix: "label the namespace or the pods trainmesh.dev/mesh-traffic: direct (trainmesh doctor may suggest the ranges that it \
              needs), or disableCapture",
        example: Example {
            given: "in a namespace with Istio injection",
            wrong: r#"metadata:
  labels:
    training.kubeflow.org/operator-name: pytorchjob-controller
    training.kubeflow.org/job-name: llama
    training.kubeflow.org/replica-type: worker
    training.kubeflow.org/replica-index: "1"
spec:
  containers:
  - name: train
"#,
            fixed: r#"metadata:
  labels:
    training.kubeflow.org/operator-name: pytorchjob-controller
    training.kubeflow.org/job-name: llama
    training.kubeflow.org/replica-type: worker
    training.kubeflow.org/replica-index: "1"
    trainmesh.dev/mesh-traffic: disableCapture
spec:
  containers:
  - name: train
"#,
        },
        run: mesh::captured_traffic,
    },
    Check {
        id: QUOTA,
        severity: Severity::Warning,
        title: "an adapter outside Kueue's quota",
        why: "Kueue counts the resources of the job's template. It does not count an adapter that is added to the pod \
              later, and may admit more jobs than there are adapters. The pods of Deployments and single pods are admitted \
              individually, and count with the adapter: a ClusterQueue that does not cover it never admits them, which is \
              information.",
        fix: "request the adapter in the template, or add its prefix to Kueue's resources.excludeResourcePrefixes",
        example: Example {
            given: "the job has the label `kueue.x-k8s.io/queue-name`, and the profile added `rdma/ib`, which is not in the job's \
                    template",
            wrong: r"metadata:
  labels: {kueue.x-k8s.io/podset: main}
spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
",
            fixed: r"# The job's template requests rdma/ib.
metadata:
  labels: {kueue.x-k8s.io/podset: main}
spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
",
        },
        run: kueue::adapter_outside_quota,
    },
    Check {
        id: MIXED_FABRICS,
        severity: Severity::Warning,
        title: "pods of one job with different settings",
        why: "All ranks of a job need the same transport and NCCL settings. Running pods of this job have another \
              revision of the profile, or have a profile that this pod does not get. It is an error if a manifest shows that only a part \
              of the roles gets the profile: NCCL hangs. If the others opted out by a label, it is a warning, because a role with a program \
              of its own needs no profile, and also in audit mode, or if the queue of the job may supply the instance type of the others. \
              It is a warning if only a part of the roles gets the settings of the profile for a machine (when.sku), because the others \
              do not select it. \
              Without a profile, it is a warning if only a part of the roles with GPUs requests an adapter.",
        fix: "restart the whole job, so that all its pods get the same revision",
        example: Example {
            given: "running pods of the job have revision `ba9876543210`",
            wrong: r"metadata:
  annotations: {trainmesh.dev/fabric-revision: 0123456789ab}
spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}}
",
            fixed: r"metadata:
  annotations: {trainmesh.dev/fabric-revision: ba9876543210}
spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}}
",
        },
        run: job::mixed_revisions,
    },
];
