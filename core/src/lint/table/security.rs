//! Locked memory, devices of the node and Pod Security.

use super::super::security;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(1),
        severity: Severity::Warning,
        title: "an RDMA adapter without IPC_LOCK",
        why: "RDMA locks the memory that it uses; the limit of a container is small, and ibv_reg_mr or ibv_create_qp \
              fails. Where the nodes set no limit, the profile says memlock: nodeUnlimited.",
        cure: "add IPC_LOCK to the container's capabilities, or lift the limit on the nodes",
        example: Example {
            given: "",
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
",
            mended: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
    securityContext: {capabilities: {add: [IPC_LOCK]}}
",
        },
        find: security::no_lock,
    },
    Check {
        id: CheckId::new(2),
        severity: Severity::Warning,
        title: "IPC_LOCK for a container that does not run as root",
        why: "Kubernetes knows no ambient capabilities: a process with another user than 0 is not given what was \
              added, and memory cannot be locked.",
        cure: "run as root, or lift the limit of locked memory on the nodes (LimitMEMLOCK=infinity of the container \
              runtime)",
        example: Example {
            given: "",
            wrong: r"spec:
  containers:
  - name: train
    securityContext: {runAsUser: 1000, capabilities: {add: [IPC_LOCK]}}
",
            mended: r"spec:
  containers:
  - name: train
    securityContext: {runAsUser: 0, capabilities: {add: [IPC_LOCK]}}
",
        },
        find: security::lock_without_root,
    },
    Check {
        id: CheckId::new(19),
        severity: Severity::Warning,
        title: "the node's /dev/infiniband is mounted",
        why: "A mount shows the files but does not allow to open them: only a privileged container, or one to which a \
              device plugin gave the devices, may. Beside a device plugin it shows devices that belong to other pods.",
        cure: "ask for the device plugin's resource in place of the hostPath",
        example: Example {
            given: "",
            wrong: r"spec:
  volumes:
  - {name: devices, hostPath: {path: /dev/infiniband}}
  containers:
  - name: train
    volumeMounts:
    - {name: devices, mountPath: /dev/infiniband}
",
            mended: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
",
        },
        find: security::device_path,
    },
    Check {
        id: CheckId::new(20),
        severity: Severity::Info,
        title: "an init container that runs ulimit",
        why: "A limit holds for the process that sets it and its children. The training container never sees it.",
        cure: "remove it; add IPC_LOCK, or lift the limit on the nodes",
        example: Example {
            given: "",
            wrong: r#"spec:
  initContainers:
  - name: limits
    command: [sh, -c, "ulimit -l unlimited"]
"#,
            mended: r#"spec:
  initContainers:
  - name: limits
    command: [sh, -c, "cat /proc/self/limits"]
"#,
        },
        find: security::ulimit,
    },
    Check {
        id: CheckId::new(27),
        severity: Severity::Error,
        title: "what the namespace's Pod Security level forbids",
        why: "The levels baseline and restricted allow neither IPC_LOCK nor hostPath, hostNetwork or privileged \
              containers: the apiserver refuses the pod. A profile's guard leaves such a pod as it is.",
        cure: "use a namespace whose level is privileged, or a profile with memlock: nodeUnlimited and without host \
              paths",
        example: Example {
            given: "the namespace carries the label `pod-security.kubernetes.io/enforce: baseline`",
            wrong: r"spec:
  containers:
  - name: train
    securityContext: {capabilities: {add: [IPC_LOCK]}}
",
            mended: r"spec:
  containers:
  - name: train
    securityContext: {}
",
        },
        find: security::pod_security,
    },
];
