//! Network interface names in settings.

use super::super::interfaces;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(6),
        severity: Severity::Warning,
        title: "an interface list that NCCL does not read as intended",
        why: "^ and = apply to the whole list and are allowed only at its start; elsewhere NCCL reads them as part of \
              a name. An exclude list without lo lets NCCL use the loopback interface. NCCL ignores a value of one \
              character, and reads a space as part of a name.",
        fix: "use =eth0,eth1 for exactly these interfaces, or ^docker,lo for all but these",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_SOCKET_IFNAME, value: "^docker0"}
"#,
            fixed: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_SOCKET_IFNAME, value: "^docker0,lo"}
"#,
        },
        run: interfaces::interface_list_syntax,
    },
    Check {
        id: CheckId::new(7),
        severity: Severity::Warning,
        title: "an interface that the pod does not have",
        why: "NCCL fails with `no socket interface found`. Even over RDMA, the ranks connect to each other through \
              this interface first. A pod has eth0 and the interfaces that its annotations attach. With GKE's \
              networks, those in NCCL_FASTRAK_IFNAME and NCCL_GPUDIRECTTCPX_SOCKET_IFNAME must exist, too. What a \
              launcher without GPUs passes by mpirun -x is not checked, because its ranks run in other pods.",
        fix: "use eth0, or attach a network with this interface",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_SOCKET_IFNAME, value: "ens3"}
"#,
            fixed: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_SOCKET_IFNAME, value: "=eth0"}
"#,
        },
        run: interfaces::missing_interface,
    },
    Check {
        id: CheckId::new(8),
        severity: Severity::Error,
        title: "^ or = in an interface list for Gloo or TensorPipe",
        why: "Unlike NCCL, Gloo and TensorPipe take plain interface names. With a prefix the process fails with \
              `Unable to find address`.",
        fix: "set the plain name of the interface",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: GLOO_SOCKET_IFNAME, value: "=eth0"}
"#,
            fixed: r#"spec:
  containers:
  - name: train
    env:
    - {name: GLOO_SOCKET_IFNAME, value: "eth0"}
"#,
        },
        run: interfaces::unsupported_modifier,
    },
    Check {
        id: CheckId::new(38),
        severity: Severity::Warning,
        title: "hostNetwork without an interface for Gloo",
        why: "Gloo, with which PyTorch coordinates its processes, listens on the address that the host's name resolves to. \
              In the network of a node this may be the loopback or another network, and the processes do not find each \
              other. Without NCCL_SOCKET_IFNAME, which shows that the default is wrong, this is information.",
        fix: "set GLOO_SOCKET_IFNAME to the node's interface between the pods, as one plain name",
        example: Example {
            given: "the job has several pods",
            wrong: r#"spec:
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  containers:
  - name: train
    command: [torchrun, train.py]
    resources: {limits: {nvidia.com/gpu: 8}}
    env:
    - {name: NCCL_SOCKET_IFNAME, value: "=bond0"}
"#,
            fixed: r#"spec:
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  containers:
  - name: train
    command: [torchrun, train.py]
    resources: {limits: {nvidia.com/gpu: 8}}
    env:
    - {name: NCCL_SOCKET_IFNAME, value: "=bond0"}
    - {name: GLOO_SOCKET_IFNAME, value: bond0}
"#,
        },
        run: interfaces::gloo_on_host_network,
    },
];
