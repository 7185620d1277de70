//! Names of Linux capabilities, to detect misspelled ones.

use super::Capability;
use crate::config::fields::Fields;
use crate::hint::nearest;

/// Capabilities without the prefix `CAP_` (`include/uapi/linux/capability.h` of Linux 6.12), and that of Kubernetes for all of them.
const NAMES: [&str; 42] = [
    "ALL",
    "AUDIT_CONTROL",
    "AUDIT_READ",
    "AUDIT_WRITE",
    "BLOCK_SUSPEND",
    "BPF",
    "CHECKPOINT_RESTORE",
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "IPC_LOCK",
    "IPC_OWNER",
    "KILL",
    "LEASE",
    "LINUX_IMMUTABLE",
    "MAC_ADMIN",
    "MAC_OVERRIDE",
    "MKNOD",
    "NET_ADMIN",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_RAW",
    "PERFMON",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYSLOG",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_CHROOT",
    "SYS_MODULE",
    "SYS_NICE",
    "SYS_PACCT",
    "SYS_PTRACE",
    "SYS_RAWIO",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "WAKE_ALARM",
];

/// Reports each of `capabilities`, which are in `field`, that does not exist and whose name is similar to that of one. Others may be
/// those of a newer kernel.
pub(super) fn report_misspelled(capabilities: &[Capability], field: &str, fields: &mut Fields<'_>) {
    for name in capabilities.iter().map(Capability::as_str).filter(|name| !NAMES.contains(name)) {
        if let Some(near) = nearest(name, &NAMES) {
            fields.report_problem(field, format!("unknown capability {name}: did you mean {near}?"));
        }
    }
}
