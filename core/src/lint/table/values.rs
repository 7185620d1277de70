//! Values of NCCL's variables.

use super::super::values;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(3),
        severity: Severity::Error,
        title: "TCP is asked for beside an RDMA adapter",
        why: "The adapter is reserved and lies idle: NCCL uses sockets, at a tenth of the speed. NCCL_IB_DISABLE \
              switches the transport within NCCL off; plugins such as that of EFA do not look at it.",
        cure: "remove NCCL_NET=Socket and NCCL_IB_DISABLE, or do not ask for the adapter",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
    env:
    - {name: NCCL_NET, value: "Socket"}
"#,
            mended: r#"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
    env:
    - {name: NCCL_NET, value: "IB"}
"#,
        },
        find: values::tcp_beside_rdma,
    },
    Check {
        id: CheckId::new(4),
        severity: Severity::Warning,
        title: "a switch of NCCL that is no number",
        why: "NCCL reads numbers as strtoll does: `true`, `yes` and `on` are 0, without an error. NCCL_IB_DISABLE=true \
              does not disable anything.",
        cure: "write 1 or 0",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_NVLS_ENABLE, value: "true"}
"#,
            mended: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_NVLS_ENABLE, value: "1"}
"#,
        },
        find: values::switches,
    },
    Check {
        id: CheckId::new(5),
        severity: Severity::Error,
        title: "a number out of its range",
        why: "The adapter or NCCL refuses the value when the first connection is made: NCCL_IB_TIMEOUT is an exponent \
              from 0 to 31, NCCL_IB_RETRY_CNT a count from 0 to 7, NCCL_IB_QPS_PER_CONNECTION from 1 to 128, and \
              NCCL_SOCKET_NTHREADS times NCCL_NSOCKS_PERTHREAD at most 64. A leading 0 makes a number octal.",
        cure: "choose a value within the range, or remove the variable",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_IB_TIMEOUT, value: "100"}
"#,
            mended: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_IB_TIMEOUT, value: "22"}
"#,
        },
        find: values::ranges,
    },
    Check {
        id: CheckId::new(9),
        severity: Severity::Warning,
        title: "an adapter's name that is the start of another one",
        why: "NCCL_IB_HCA holds starts of names unless it begins with `=`: on a node with ten adapters or more, mlx5_1 \
              also selects mlx5_10 to mlx5_19.",
        cure: "begin the list with = and name every adapter in full",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_IB_HCA, value: "mlx5_1,mlx5_2"}
"#,
            mended: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_IB_HCA, value: "=mlx5_1,mlx5_2"}
"#,
        },
        find: values::adapter_prefixes,
    },
    Check {
        id: CheckId::new(10),
        severity: Severity::Info,
        title: "the index of an address is pinned",
        why: "Since 2.21 NCCL finds the index by itself. With macvlan it differs from pod to pod, so that a fixed one \
              is wrong in some of them.",
        cure: "remove NCCL_IB_GID_INDEX; narrow by NCCL_IB_ADDR_FAMILY, NCCL_IB_ADDR_RANGE or NCCL_IB_ROCE_VERSION_NUM",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_IB_GID_INDEX, value: "3"}
"#,
            mended: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_IB_ROCE_VERSION_NUM, value: "2"}
"#,
        },
        find: values::gid_index,
    },
    Check {
        id: CheckId::new(11),
        severity: Severity::Warning,
        title: "a distance that NCCL does not know",
        why: "NCCL_NET_GDR_LEVEL and NCCL_P2P_LEVEL know LOC, NVL, PIX, PXB, PHB and SYS, in capitals; any other word \
              is passed over without a sign. Numbers are of old and discouraged.",
        cure: "write one of LOC, NVL, PIX, PXB, PHB and SYS",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_NET_GDR_LEVEL, value: "sys"}
"#,
            mended: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_NET_GDR_LEVEL, value: "SYS"}
"#,
        },
        find: values::levels,
    },
];
