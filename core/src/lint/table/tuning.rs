//! Variables that are out of date, or meant for debugging.

use super::super::tuning;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(24),
        severity: Severity::Info,
        title: "a deprecated variable",
        why: "NCCL has removed or renamed it, or it is PyTorch's under its old name: what it says is not done, or will \
              not be.",
        cure: "use the variable that stands in its place, or remove it",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_IB_GDR_LEVEL, value: "SYS"}
"#,
            mended: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_NET_GDR_LEVEL, value: "SYS"}
"#,
        },
        find: tuning::deprecated,
    },
    Check {
        id: CheckId::new(25),
        severity: Severity::Info,
        title: "a setting that EFA no longer needs",
        why: "FI_PROVIDER=efa and NCCL_PROTO=simple are for aws-ofi-nccl up to 1.5.0; the switches for fork safety are \
              for old kernels, and RDMAV_ ones are not to be used. The plugin chooses by itself.",
        cure: "remove the variable",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: FI_PROVIDER, value: "efa"}
"#,
            mended: r#"spec:
  containers:
  - name: train
    env:
    - {name: FI_EFA_USE_HUGE_PAGE, value: "0"}
"#,
        },
        find: tuning::obsolete_efa,
    },
    Check {
        id: CheckId::new(26),
        severity: Severity::Warning,
        title: "a variable for debugging",
        why: "NCCL's documentation keeps these for finding faults: left in a script that stays they cost speed, or \
              make a newer NCCL fail. NCCL_DEBUG=TRACE writes gigabytes.",
        cure: "remove the variable once the fault is found; NCCL_DEBUG=INFO is enough to see the transport",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_DEBUG, value: "TRACE"}
"#,
            mended: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_DEBUG, value: "INFO"}
"#,
        },
        find: tuning::debugging,
    },
];
