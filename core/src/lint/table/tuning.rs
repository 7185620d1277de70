//! Deprecated, obsolete and debugging variables.

use super::super::tuning;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(24),
        severity: Severity::Info,
        title: "a deprecated variable",
        why: "NCCL has removed or renamed the variable, or it is the old name of a PyTorch variable. It has no \
              effect, or will have none in a later release.",
        fix: "use the replacement, or remove the variable",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_IB_GDR_LEVEL, value: "SYS"}
"#,
            fixed: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_NET_GDR_LEVEL, value: "SYS"}
"#,
        },
        run: tuning::deprecated,
    },
    Check {
        id: CheckId::new(25),
        severity: Severity::Info,
        title: "a setting that EFA no longer needs",
        why: "FI_PROVIDER=efa and NCCL_PROTO=simple are for aws-ofi-nccl up to 1.5.0. The variables for fork safety \
              are for old kernels, and AWS advises against the RDMAV_ variant. Current plugins select the right \
              values.",
        fix: "remove the variable",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: FI_PROVIDER, value: "efa"}
"#,
            fixed: r"spec:
  containers:
  - name: train
    env: []
",
        },
        run: tuning::obsolete_efa,
    },
    Check {
        id: CheckId::new(26),
        severity: Severity::Warning,
        title: "a debugging variable",
        why: "NCCL documents these variables for debugging. In production they slow down the job, or make it fail \
              with a newer NCCL. NCCL_DEBUG=TRACE writes gigabytes of logs. A variable that mpirun -x sets is for one run, such as \
              a benchmark: information.",
        fix: "remove the variable when debugging is done; NCCL_DEBUG=INFO is enough to see the transport",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_DEBUG, value: "TRACE"}
"#,
            fixed: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_DEBUG, value: "INFO"}
"#,
        },
        run: tuning::debugging,
    },
];
