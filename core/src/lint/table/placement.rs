//! Where the pod can run.

use super::super::placement;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(28),
        severity: Severity::Warning,
        title: "an RDMA adapter that cannot be had",
        why: "No node offers the resource, so that the pod stays Pending unless a node is added; or the namespace's \
              ResourceQuota has less of it left than the pod asks for, so that the pod is refused.",
        cure: "check the name of the resource and the device plugin (kubectl get nodes -o yaml), or raise the quota",
        example: Example {
            given: "the nodes offer `rdma/ib`",
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ibx: 1}}
",
            mended: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
",
        },
        find: placement::unobtainable,
    },
    Check {
        id: CheckId::new(33),
        severity: Severity::Warning,
        title: "pods that may land on machines of several types",
        why: "The adapter is there on machines of several types. A job spread over them has ranks with different \
              numbers and speeds of adapters, or in different fabrics, and runs at the slowest or not at all.",
        cure: "select one type of machine by nodeSelector or required node affinity",
        example: Example {
            given: "nodes of two types offer `rdma/ib`",
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
",
            mended: r"spec:
  nodeSelector: {node.kubernetes.io/instance-type: ND96isr_H100_v5}
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
",
        },
        find: placement::anywhere,
    },
    Check {
        id: CheckId::new(34),
        severity: Severity::Info,
        title: "no sign of GPUDirect on the nodes",
        why: "NCCL moves data between adapter and GPU without the processor only where nvidia-peermem or DMA-BUF is \
              there. Node Feature Discovery has seen no adapter of Mellanox or NVIDIA on the nodes that offer the \
              resource.",
        cure: "check that nvidia-peermem is loaded, or that driver and kernel have DMA-BUF; NCCL_DEBUG=INFO says GDRDMA \
              where it works",
        example: Example {
            given: r#"the nodes that offer `rdma/ib` carry `feature.node.kubernetes.io/pci-15b3.present: "false"`"#,
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
",
            mended: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}}
",
        },
        find: placement::no_peer_memory,
    },
];
