//! Resources that containers ask for.

use super::super::devices;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(14),
        severity: Severity::Error,
        title: "a device that is no whole number, or requested otherwise than limited",
        why: "Devices of plugins are whole, need a limit, and are requested as they are limited: the apiserver refuses \
              the pod otherwise.",
        cure: "write the same whole number as limit and request, or the limit alone",
        example: Example {
            given: "",
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}, requests: {nvidia.com/gpu: 4}}
",
            mended: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}, requests: {nvidia.com/gpu: 8}}
",
        },
        find: devices::uneven,
    },
    Check {
        id: CheckId::new(15),
        severity: Severity::Warning,
        title: "an RDMA adapter where no GPU is",
        why: "Devices belong to one container: an adapter of an init container, of a sidecar or of a container without \
              a GPU is of no use to the ranks.",
        cure: "ask for the adapter in the container that asks for the GPUs",
        example: Example {
            given: "",
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {rdma/ib: 1}}
",
            mended: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
",
        },
        find: devices::misplaced,
    },
    Check {
        id: CheckId::new(16),
        severity: Severity::Error,
        title: "huge pages without cpu or memory",
        why: "The apiserver refuses a container with huge pages that asks for neither cpu nor memory.",
        cure: "add a request of cpu or memory",
        example: Example {
            given: "",
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {hugepages-2Mi: 5120Mi}}
",
            mended: r"spec:
  containers:
  - name: train
    resources: {limits: {hugepages-2Mi: 5120Mi, memory: 8Gi}}
",
        },
        find: devices::huge_pages,
    },
    Check {
        id: CheckId::new(30),
        severity: Severity::Warning,
        title: "NVLink between nodes without a channel",
        why: "NCCL_MNNVL_ENABLE=1 fails where no IMEX channel is there; a claim of a ComputeDomain brings one.",
        cure: "add the ComputeDomain's claim to the container, or set NCCL_MNNVL_ENABLE to 2",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_MNNVL_ENABLE, value: "1"}
"#,
            mended: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_MNNVL_ENABLE, value: "2"}
"#,
        },
        find: devices::no_imex,
    },
    Check {
        id: CheckId::new(32),
        severity: Severity::Warning,
        title: "a part of a node for a transport that takes the whole",
        why: "The transports of Google and their networks belong to a node as a whole: a pod with fewer GPUs than the \
              node shares them with others, and none works.",
        cure: "ask for all GPUs of the node, or choose another profile",
        example: Example {
            given: "the pod's profile takes whole nodes of 8 GPUs, as `gke-rdma-gib-a3u` does",
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 4}}
",
            mended: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}}
",
        },
        find: devices::part_of_node,
    },
];
