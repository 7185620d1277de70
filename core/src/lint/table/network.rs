//! Networks of the pod.

use super::super::network;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(17),
        severity: Severity::Warning,
        title: "a shared RoCE adapter without a secondary network",
        why: "RoCE addresses peers by IP. A shared adapter has no IP address in the pod's network namespace unless a \
              secondary network, such as macvlan or ipvlan, adds one. NCCL finds no usable address and falls back to \
              TCP.",
        fix: "attach a secondary network with the annotation k8s.v1.cni.cncf.io/networks",
        example: Example {
            given: "with the profile `roce-shared-macvlan` in audit mode; else it adds the network",
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/rdma_shared_device_a: 1}}
",
            fixed: r"metadata:
  annotations: {k8s.v1.cni.cncf.io/networks: macvlan-network}
spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/rdma_shared_device_a: 1}}
",
        },
        run: network::missing_secondary_network,
    },
    Check {
        id: CheckId::new(18),
        severity: Severity::Warning,
        title: "the number of networks differs from the number of virtual functions",
        why: "Each network attachment uses one virtual function. With too few networks, some virtual functions have \
              no address; with too many, the pod does not start. A misspelled key of the annotation attaches none. Virtual \
              functions are nvidia.com/rdma-vf, nvidia.com/sriov_resource, nvidia.com/mlnxnics, and the first resource of a \
              fabric profile that attaches a network with count: perResource, or any network in a RoCE profile with mode: perGpu.",
        fix: "list the network once for each requested virtual function",
        example: Example {
            given: "",
            wrong: r"metadata:
  annotations: {k8s.v1.cni.cncf.io/networks: rdma-vf}
spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 2, nvidia.com/rdma-vf: 2}}
",
            fixed: r#"metadata:
  annotations: {k8s.v1.cni.cncf.io/networks: "rdma-vf,rdma-vf"}
spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 2, nvidia.com/rdma-vf: 2}}
"#,
        },
        run: network::network_count,
    },
    Check {
        id: CheckId::new(22),
        severity: Severity::Warning,
        title: "hostNetwork without the matching DNS policy, or with Istio annotations",
        why: "A pod with hostNetwork uses the node's resolver unless dnsPolicy is set, and cannot resolve the names \
              of the other ranks. Istio does not inject such pods and ignores their annotations.",
        fix: "set dnsPolicy: ClusterFirstWithHostNet, and remove the Istio annotations",
        example: Example {
            given: "",
            wrong: r"spec:
  hostNetwork: true
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}}
",
            fixed: r"spec:
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}}
",
        },
        run: network::host_network,
    },
];
