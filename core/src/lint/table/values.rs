//! Names and values of NCCL variables.

use super::super::values;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(3),
        severity: Severity::Error,
        title: "TCP selected despite an RDMA adapter",
        why: "NCCL uses sockets at a fraction of the speed, or does not start, and the reserved adapter is idle. \
              NCCL_IB_DISABLE disables only NCCL's internal transport; plugins such as that for EFA ignore it. EFA needs \
              the plugin, which NCCL_NET_PLUGIN=none excludes, and the provider efa of libfabric; NCCL_NET must be \
              Libfabric, AWS Libfabric or OFI, or a plugin of your own.",
        fix: "remove the variable, or do not request the adapter",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
    env:
    - {name: NCCL_NET, value: "Socket"}
"#,
            fixed: r#"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
    env:
    - {name: NCCL_NET, value: "IB"}
"#,
        },
        run: values::tcp_despite_rdma,
    },
    Check {
        id: CheckId::new(4),
        severity: Severity::Warning,
        title: "a numeric NCCL variable that is not a number",
        why: "NCCL parses numbers like strtoll: it reads `true`, `yes` and `on` as 0 and 8M as 8, without an error. \
              NCCL_IB_DISABLE=true does not disable anything. The check covers the numeric variables of NCCL, and the \
              names of other switches (`NCCL_…_ENABLE`, `NCCL_…_DISABLE`).",
        fix: "set a number: 1 or 0 for a switch",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_NVLS_ENABLE, value: "true"}
"#,
            fixed: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_NVLS_ENABLE, value: "1"}
"#,
        },
        run: values::not_a_number,
    },
    Check {
        id: CheckId::new(5),
        severity: Severity::Error,
        title: "a number out of range",
        why: "NCCL_IB_RETRY_CNT is from 0 to 7, NCCL_IB_QPS_PER_CONNECTION from 1 to 128: the adapter or NCCL rejects \
              other values on the first connection. A leading 0 makes a number octal. Two cases are warnings: \
              NCCL_IB_TIMEOUT outside 1 to 31 never times out, and NCCL reduces a product of NCCL_SOCKET_NTHREADS and \
              NCCL_NSOCKS_PERTHREAD above 64.",
        fix: "set a value within the range, or remove the variable",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_IB_RETRY_CNT, value: "100"}
"#,
            fixed: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_IB_RETRY_CNT, value: "7"}
"#,
        },
        run: values::out_of_range,
    },
    Check {
        id: CheckId::new(9),
        severity: Severity::Warning,
        title: "an adapter name that is a prefix of other names",
        why: "Entries of NCCL_IB_HCA are prefixes unless the list starts with `=`. On a node with more than ten \
              adapters, mlx5_1 also selects mlx5_10 to mlx5_19. NCCL uses 32 adapters at most.",
        fix: "start the list with = and list the full names of all adapters",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_IB_HCA, value: "mlx5_1,mlx5_2"}
"#,
            fixed: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_IB_HCA, value: "=mlx5_1,mlx5_2"}
"#,
        },
        run: values::ambiguous_adapter,
    },
    Check {
        id: CheckId::new(10),
        severity: Severity::Info,
        title: "a fixed GID index",
        why: "Since 2.21 NCCL detects the GID index. With macvlan it differs from pod to pod, so a fixed index is \
              wrong in some of them: with macvlan, ipvlan or a shared device plugin this is a warning. Otherwise, the index of a \
              fabric profile is not reported.",
        fix: "remove NCCL_IB_GID_INDEX; to restrict the selection, use NCCL_IB_ADDR_FAMILY, NCCL_IB_ADDR_RANGE or \
              NCCL_IB_ROCE_VERSION_NUM",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_IB_GID_INDEX, value: "3"}
"#,
            fixed: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_IB_ROCE_VERSION_NUM, value: "2"}
"#,
        },
        run: values::gid_index,
    },
    Check {
        id: CheckId::new(11),
        severity: Severity::Warning,
        title: "an unknown distance level, address family or debug level",
        why: "NCCL_NET_GDR_LEVEL and NCCL_P2P_LEVEL accept LOC, NVL, PIX, PXB, PHB and SYS in capitals, and NVB, C2C, P2C \
              and PXN, which the documentation omits. NCCL silently ignores any other word. A number is a legacy form \
              that NCCL discourages (information). NCCL_SOCKET_FAMILY accepts AF_INET and AF_INET6, and NCCL_DEBUG VERSION, WARN, \
              INFO, ABORT and TRACE.",
        fix: "set LOC, NVL, PIX, PXB, PHB or SYS",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_NET_GDR_LEVEL, value: "sys"}
"#,
            fixed: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_NET_GDR_LEVEL, value: "SYS"}
"#,
        },
        run: values::unknown_level,
    },
    Check {
        id: CheckId::new(44),
        severity: Severity::Warning,
        title: "a name that no adapter has",
        why: "NCCL_IB_HCA contains names of RDMA devices, such as mlx5_0 or ibp0, not of network interfaces. If nothing \
              matches, NCCL falls back to TCP. In a list that starts with ^, such a name excludes nothing.",
        fix: "use the names in /sys/class/infiniband (ibv_devices lists them)",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_IB_HCA, value: "eth0"}
"#,
            fixed: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_IB_HCA, value: "=mlx5_0"}
"#,
        },
        run: values::unknown_adapter,
    },
    Check {
        id: CheckId::new(60),
        severity: Severity::Warning,
        title: "a misspelled NCCL variable",
        why: "NCCL ignores unknown variables without a message: the setting has no effect. Only names that differ in one or \
              two letters from a variable of NCCL, or by a misspelled prefix such as NCLL_ alone, are reported, because plugins and \
              later releases read others: short names may differ in one letter, and words of up to three letters in a missing, \
              additional or swapped one, such as HAC. Of the different unknown names in a pod, the first 32 are compared.",
        fix: "correct the name; if another library reads the variable, disable the check (fabric.lint.disable)",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_SOCKET_IFNMAE, value: "=eth0"}
"#,
            fixed: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_SOCKET_IFNAME, value: "=eth0"}
"#,
        },
        run: values::misspelled_name,
    },
];
