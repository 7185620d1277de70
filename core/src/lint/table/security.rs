//! Locked memory, host devices and Pod Security.

use super::super::security;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(1),
        severity: Severity::Warning,
        title: "an RDMA adapter without IPC_LOCK",
        why: "RDMA locks the memory that it uses. The default limit of a container is too small, and ibv_reg_mr or \
              ibv_create_qp fails. If the nodes set no limit, set memlock: nodeUnlimited in the profile. Without a \
              profile, this is information. EFA is not checked: its nodes set no limit.",
        fix: "add IPC_LOCK to the container's capabilities, or raise the limit on the nodes",
        example: Example {
            given: "",
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
",
            fixed: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
    securityContext: {capabilities: {add: [IPC_LOCK]}}
",
        },
        run: security::missing_ipc_lock,
    },
    Check {
        id: CheckId::new(2),
        severity: Severity::Warning,
        title: "IPC_LOCK for a container that does not run as root",
        why: "Kubernetes does not support ambient capabilities. A process with a user other than 0 does not get the \
              capability and cannot lock memory.",
        fix: "run as root, or raise the limit of locked memory on the nodes (LimitMEMLOCK=infinity for the container \
              runtime)",
        example: Example {
            given: "",
            wrong: r"spec:
  containers:
  - name: train
    securityContext: {runAsUser: 1000, capabilities: {add: [IPC_LOCK]}}
",
            fixed: r"spec:
  containers:
  - name: train
    securityContext: {runAsUser: 0, capabilities: {add: [IPC_LOCK]}}
",
        },
        run: security::ipc_lock_without_root,
    },
    Check {
        id: CheckId::new(19),
        severity: Severity::Warning,
        title: "a mount of the node's /dev/infiniband",
        why: "A mount makes the device files visible, but does not permit access: only a privileged container, or one \
              with the devices of a device plugin, can open them. With a device plugin, the mount also exposes the \
              devices of other pods. Beside a device plugin's resource it is redundant (information).",
        fix: "request the device plugin's resource instead of mounting the hostPath",
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
            fixed: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
",
        },
        run: security::host_devices,
    },
    Check {
        id: CheckId::new(20),
        severity: Severity::Info,
        title: "an init container that runs ulimit",
        why: "A limit applies to the process that sets it and its children, not to the training container.",
        fix: "remove it, and add IPC_LOCK or raise the limit on the nodes",
        example: Example {
            given: "",
            wrong: r#"spec:
  initContainers:
  - name: limits
    command: [sh, -c, "ulimit -l unlimited"]
"#,
            fixed: r"spec:
  containers:
  - name: train
    securityContext: {capabilities: {add: [IPC_LOCK]}}
",
        },
        run: security::ulimit_in_init_container,
    },
    Check {
        id: CheckId::new(27),
        severity: Severity::Error,
        title: "settings that the namespace's Pod Security level forbids",
        why: "The levels baseline and restricted forbid IPC_LOCK, hostPath, hostNetwork and privileged containers: \
              the apiserver rejects the pod. Each of these settings of the pod is reported, and the first that a profile adds; others \
              that the level forbids are not. A profile's guard skips such pods.",
        fix: "use a namespace with the level privileged, or, if the nodes do not limit locked memory, a profile with \
              memlock: nodeUnlimited and without host paths",
        example: Example {
            given: "the namespace has the label `pod-security.kubernetes.io/enforce: baseline`",
            wrong: r"spec:
  containers:
  - name: train
    securityContext: {capabilities: {add: [IPC_LOCK]}}
",
            fixed: r"spec:
  containers:
  - name: train
    securityContext: {}
",
        },
        run: security::pod_security,
    },
];
