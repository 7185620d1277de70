//! The pod's networks.

use super::super::network;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(17),
        severity: Severity::Warning,
        title: "RoCE on a shared adapter without a network of its own",
        why: "RDMA over Ethernet addresses by IP: a shared adapter has no address in the pod's network namespace \
              unless a secondary network (macvlan, ipvlan) brings one. NCCL finds no usable address and falls back to \
              TCP.",
        cure: "attach a secondary network by k8s.v1.cni.cncf.io/networks",
        example: Example {
            given: "the pod's profile is `roce-shared-macvlan`",
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/rdma_shared_device_a: 1}}
",
            mended: r"metadata:
  annotations: {k8s.v1.cni.cncf.io/networks: macvlan-network}
spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/rdma_shared_device_a: 1}}
",
        },
        find: network::no_secondary,
    },
    Check {
        id: CheckId::new(18),
        severity: Severity::Warning,
        title: "not one network for each virtual function",
        why: "Every network takes one virtual function of the pod's devices. With fewer networks some functions have \
              no address; with more the pod does not start.",
        cure: "list the network as often as virtual functions are requested",
        example: Example {
            given: "",
            wrong: r"metadata:
  annotations: {k8s.v1.cni.cncf.io/networks: rdma-vf}
spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 2, nvidia.com/rdma-vf: 2}}
",
            mended: r#"metadata:
  annotations: {k8s.v1.cni.cncf.io/networks: "rdma-vf,rdma-vf"}
spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 2, nvidia.com/rdma-vf: 2}}
"#,
        },
        find: network::functions,
    },
    Check {
        id: CheckId::new(22),
        severity: Severity::Warning,
        title: "hostNetwork without its DNS policy, or with settings of Istio",
        why: "A pod in its node's network resolves names as the node does unless dnsPolicy says otherwise: the other \
              ranks are not found. Istio leaves such pods alone, whatever their annotations say.",
        cure: "set dnsPolicy: ClusterFirstWithHostNet, and remove the annotations of Istio",
        example: Example {
            given: "",
            wrong: r"spec:
  hostNetwork: true
  containers:
  - name: train
",
            mended: r"spec:
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  containers:
  - name: train
",
        },
        find: network::host_network,
    },
];
