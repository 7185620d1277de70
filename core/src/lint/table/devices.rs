//! Resource requests of containers.

use super::super::devices;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(14),
        severity: Severity::Error,
        title: "a device count that is not a whole number, or a request that differs from the limit",
        why: "Extended resources are whole numbers, need a limit, and their request must equal the limit. Otherwise \
              the apiserver rejects the pod.",
        fix: "set the same whole number as limit and request, or set the limit alone",
        example: Example {
            given: "",
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}, requests: {nvidia.com/gpu: 4}}
",
            fixed: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}, requests: {nvidia.com/gpu: 8}}
",
        },
        run: devices::invalid_device_count,
    },
    Check {
        id: CheckId::new(15),
        severity: Severity::Warning,
        title: "an RDMA adapter in a container without a GPU",
        why: "A device belongs to one container. The ranks cannot use an adapter of an init container, a sidecar or a \
              container without a GPU. Pods without any GPU are not reported.",
        fix: "request the adapter in the container that requests the GPUs",
        example: Example {
            given: "",
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}}
  - name: monitor
    resources: {limits: {rdma/ib: 1}}
",
            fixed: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
  - name: monitor
",
        },
        run: devices::adapter_without_gpu,
    },
    Check {
        id: CheckId::new(16),
        severity: Severity::Error,
        title: "huge pages without cpu or memory",
        why: "The apiserver rejects a container that requests huge pages but neither cpu nor memory.",
        fix: "add a request for cpu or memory",
        example: Example {
            given: "",
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {hugepages-2Mi: 5120Mi}}
",
            fixed: r"spec:
  containers:
  - name: train
    resources: {limits: {hugepages-2Mi: 5120Mi, memory: 8Gi}}
",
        },
        run: devices::huge_pages_without_memory,
    },
    Check {
        id: CheckId::new(30),
        severity: Severity::Warning,
        title: "NVLink between nodes without an IMEX channel",
        why: "NCCL_MNNVL_ENABLE=1 makes NCCL fail if the container has no IMEX channel. A ComputeDomain claim \
              provides one, or NVIDIA_IMEX_CHANNELS where the nodes inject channels. On machines with GB200 or GB300, a job of several \
              pods with a profile and without a claim is information: NCCL then uses the network between the nodes.",
        fix: "add the ComputeDomain's claim to the container, or set NCCL_MNNVL_ENABLE to 2",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_MNNVL_ENABLE, value: "1"}
"#,
            fixed: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_MNNVL_ENABLE, value: "2"}
"#,
        },
        run: devices::missing_imex_channel,
    },
    Check {
        id: CheckId::new(32),
        severity: Severity::Warning,
        title: "part of a node for a transport that needs whole nodes",
        why: "Google's transports and their networks use all adapters of a node. A pod with fewer GPUs shares the \
              node with other pods, and none of them can use the transport. Profiles such as `coreweave-ib` give adapters only to pods \
              with all GPUs of a node: a job of smaller pods runs over TCP. Pods of a training job without peers need none.",
        fix: "request all GPUs of the node, or select another profile",
        example: Example {
            given: "the pod's profile needs whole nodes of 8 GPUs, such as `gke-rdma-gib-a3u`",
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
        run: devices::partial_node,
    },
];
