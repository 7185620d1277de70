//! The pod as a member of its job.

use super::super::{job, mesh};
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(21),
        severity: Severity::Warning,
        title: "training traffic through Envoy",
        why: "NCCL and Gloo open ports that nobody can name beforehand, and speak no protocol of Envoy's. The proxy \
              accepts a connection before the peer listens, so that NCCL's retries do not help, and the job hangs at \
              its start.",
        cure: "label the namespace or the pods trainmesh.dev/mesh-traffic: disableCapture",
        example: Example {
            given: "Istio injects the namespace",
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
            mended: r#"metadata:
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
        find: mesh::traffic,
    },
    Check {
        id: CheckId::new(23),
        severity: Severity::Warning,
        title: "settings in the environment of an MPI worker",
        why: "mpirun starts the ranks through sshd, which hands the container's environment on to nobody: the settings \
              do not reach NCCL. A file does, because every process reads it itself.",
        cure: "put the settings into /etc/nccl.conf (a profile's delivery.nccl: confFile does), or hand them on by \
              mpirun -x",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    command: [/usr/sbin/sshd, -De]
    env:
    - {name: NCCL_IB_HCA, value: "=mlx5_0"}
"#,
            mended: r#"metadata:
  annotations:
    trainmesh.dev/nccl-conf: "NCCL_IB_HCA==mlx5_0"
spec:
  volumes:
  - name: conf
    downwardAPI:
      items:
      - {path: conf, fieldRef: {fieldPath: "metadata.annotations['trainmesh.dev/nccl-conf']"}}
  containers:
  - name: train
    command: [/usr/sbin/sshd, -De]
    volumeMounts:
    - {name: conf, mountPath: /etc/nccl.conf, subPath: conf}
"#,
        },
        find: job::env_behind_ssh,
    },
    Check {
        id: CheckId::new(29),
        severity: Severity::Warning,
        title: "Kueue has not counted the adapter",
        why: "Kueue counts what the job's template asks for. An adapter that is added to the pod later is outside its \
              quota: more jobs are admitted than adapters are there.",
        cure: "ask for the adapter in the template, or list its prefix in Kueue's resources.excludeResourcePrefixes",
        example: Example {
            given: "the profile added `rdma/ib`, and the job's template does not ask for it",
            wrong: r"metadata:
  labels: {kueue.x-k8s.io/podset: main}
spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
",
            mended: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
",
        },
        find: job::uncounted,
    },
    Check {
        id: CheckId::new(31),
        severity: Severity::Warning,
        title: "members of one job with different settings",
        why: "NCCL needs the same transport and settings in all ranks. Living pods of this job were given another \
              revision of the profile, or one that this pod is not given.",
        cure: "restart the job as a whole, so that all its pods get one revision",
        example: Example {
            given: "living pods of the job carry revision `ba9876543210`",
            wrong: r"metadata:
  annotations: {trainmesh.dev/fabric-revision: 0123456789ab}
spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}}
",
            mended: r"metadata:
  annotations: {trainmesh.dev/fabric-revision: ba9876543210}
spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}}
",
        },
        find: job::mixed,
    },
];
