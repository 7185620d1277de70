//! Nodes and quotas that the pod depends on.

use super::super::placement;
use super::{Check, Example, MIXED_MACHINES};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(28),
        severity: Severity::Warning,
        title: "no node offers the RDMA adapter, or its quota is exhausted",
        why: "If no node offers the resource, the pod stays Pending until such a node is added. If the namespace's \
              ResourceQuota has less of it left than the pod requests, the apiserver rejects the pod. More GPUs or adapters than \
              the selected instance type has are an error: the pod stays Pending. So is a node selector that the required node affinity \
              excludes. A pod of a job of several that requests all GPUs of the type, but a part of its adapters, gets a part of the \
              bandwidth. The instance types of AWS are known, except for the number of adapters of a p6e-gb200. A name with the letters \
              and digits of one of them, or with a misspelled size, and a node label that is similar to one of Kubernetes, of a cloud \
              or of NVIDIA's GPU operator, is probably misspelled: the pod stays Pending. Another family or number may be a new one, \
              and instance types of other clouds are not compared.",
        fix: "check the name of the resource and the device plugin (kubectl get nodes -o yaml), or raise the quota",
        example: Example {
            given: "the nodes offer `rdma/ib`",
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ibx: 1}}
",
            fixed: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
",
        },
        run: placement::unavailable_adapter,
    },
    Check {
        id: MIXED_MACHINES,
        severity: Severity::Warning,
        title: "pods that may run on different instance types",
        why: "Several instance types offer the adapter. In a job that spans them, the ranks have different numbers or \
              speeds of adapters, or are on separate fabrics. The job is as slow as its slowest node, or does not run \
              at all. Roles that select different types are reported, too, except the groups of a Ray cluster.",
        fix: "select one instance type with nodeSelector or required node affinity",
        example: Example {
            given: "two instance types offer `rdma/ib`",
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
",
            fixed: r"spec:
  nodeSelector: {node.kubernetes.io/instance-type: ND96isr_H100_v5}
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
",
        },
        run: placement::mixed_instance_types,
    },
    Check {
        id: CheckId::new(34),
        severity: Severity::Info,
        title: "GPUDirect not detected on the nodes",
        why: "NCCL transfers data between adapter and GPU without the CPU only if nvidia-peermem or DMA-BUF is \
              available. Node Feature Discovery found no Mellanox or NVIDIA adapter on the nodes that offer the \
              resource.",
        fix: "check that nvidia-peermem is loaded, or that driver and kernel support DMA-BUF; with NCCL_DEBUG=INFO, \
              NCCL logs GDRDMA if GPUDirect works",
        example: Example {
            given: r#"the nodes with `rdma/ib` have the label `feature.node.kubernetes.io/pci-15b3.present: "false"`"#,
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
",
            fixed: r#"# The nodes have the label with the value "true".
spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
"#,
        },
        run: placement::no_gpudirect,
    },
    Check {
        id: CheckId::new(41),
        severity: Severity::Info,
        title: "pods of a job that may share a node",
        why: "Each pod requests a part of a node's GPUs, so that two of them may run on one node. NCCL takes pods \
              with different hostnames for different nodes: they communicate over the network, and not over NVLink or shared memory.",
        fix: "request whole nodes with fewer pods, or separate the pods by anti-affinity on kubernetes.io/hostname",
        example: Example {
            given: "the nodes have 8 GPUs, and the job has several pods",
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 4}}
",
            fixed: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}}
",
        },
        run: placement::parts_of_a_node,
    },
];
