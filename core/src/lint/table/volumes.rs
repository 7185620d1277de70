//! Volume mounts.

use super::super::volumes;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(12),
        severity: Severity::Info,
        title: "a configuration file that no volume provides",
        why: "NCCL ignores a topology or tuner file that does not exist. The file may be part of the image, which the \
              pod does not show.",
        fix: "mount a volume with the file, or correct the path",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_TOPO_FILE, value: "/opt/topology/topo.xml"}
"#,
            fixed: r"spec:
  volumes:
  - {name: topology, configMap: {name: topology}}
  containers:
  - name: train
    env:
    - {name: NCCL_TOPO_FILE, value: /opt/topology/topo.xml}
    volumeMounts:
    - {name: topology, mountPath: /opt/topology}
",
        },
        run: volumes::unmounted_file,
    },
    Check {
        id: CheckId::new(13),
        severity: Severity::Warning,
        title: "too little shared memory, or more than the memory limit",
        why: "The runtime's default /dev/shm has 64 MiB. NCCL allocates segments of tens of megabytes \
              there for the GPUs of a container, unless cuMem replaces them (from 2.24, if the driver supports it). \
              Data loaders need more. With one GPU this is information. A volume with medium: Memory counts toward the containers' memory: if it is larger than \
              their limit, the container is OOM-killed instead of getting an error.",
        fix: "mount an emptyDir with medium: Memory at /dev/shm, no larger than the memory limits",
        example: Example {
            given: "",
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}}
",
            fixed: r"spec:
  volumes:
  - {name: shm, emptyDir: {medium: Memory}}
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}}
    volumeMounts:
    - {name: shm, mountPath: /dev/shm}
",
        },
        run: volumes::shared_memory,
    },
    Check {
        id: CheckId::new(35),
        severity: Severity::Info,
        title: "NCCL's configuration file with an AMD GPU",
        why: "RCCL, AMD's replacement for NCCL, reads /etc/rccl.conf.",
        fix: "mount the file at /etc/rccl.conf",
        example: Example {
            given: "",
            wrong: r"spec:
  volumes:
  - {name: conf, configMap: {name: rccl}}
  containers:
  - name: train
    resources: {limits: {amd.com/gpu: 8}}
    volumeMounts:
    - {name: conf, mountPath: /etc/nccl.conf, subPath: conf}
",
            fixed: r"spec:
  volumes:
  - {name: conf, configMap: {name: rccl}}
  containers:
  - name: train
    resources: {limits: {amd.com/gpu: 8}}
    volumeMounts:
    - {name: conf, mountPath: /etc/rccl.conf, subPath: conf}
",
        },
        run: volumes::nccl_conf_with_amd,
    },
];
