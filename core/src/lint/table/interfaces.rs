//! Names of network interfaces in settings.

use super::super::interfaces;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(6),
        severity: Severity::Warning,
        title: "a list of interfaces that NCCL reads otherwise",
        why: "A ^ or = counts at the start, for the whole list; further on it is a letter of a name. A list of \
              exceptions without lo lets the loopback in. A value of one character counts as unset, and a blank is \
              part of a name.",
        cure: "write =eth0,eth1 for exactly these, or ^docker,lo for all but these",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_SOCKET_IFNAME, value: "^docker0"}
"#,
            mended: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_SOCKET_IFNAME, value: "^docker0,lo"}
"#,
        },
        find: interfaces::grammar,
    },
    Check {
        id: CheckId::new(7),
        severity: Severity::Warning,
        title: "an interface that the pod does not have",
        why: "NCCL ends with `no socket interface found`: also over RDMA the ranks find each other through this \
              interface. A pod has eth0, and what its annotations attach.",
        cure: "name eth0, or attach the network whose interface is named",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_SOCKET_IFNAME, value: "ens3"}
"#,
            mended: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_SOCKET_IFNAME, value: "=eth0"}
"#,
        },
        find: interfaces::absent,
    },
    Check {
        id: CheckId::new(8),
        severity: Severity::Error,
        title: "^ or = for Gloo or TensorPipe",
        why: "Unlike NCCL they take names of interfaces as they stand: with a modifier the process ends with `Unable \
              to find address`.",
        cure: "write the name of the interface alone",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: GLOO_SOCKET_IFNAME, value: "=eth0"}
"#,
            mended: r#"spec:
  containers:
  - name: train
    env:
    - {name: GLOO_SOCKET_IFNAME, value: "eth0"}
"#,
        },
        find: interfaces::plain,
    },
];
