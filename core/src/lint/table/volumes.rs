//! What is mounted.

use super::super::volumes;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(12),
        severity: Severity::Warning,
        title: "a file of settings that nothing mounts",
        why: "NCCL passes over a topology or tuner file that is not there, and chooses as if nothing was said. It may \
              lie in the image: the pod does not tell.",
        cure: "mount what holds the file, or correct the path",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    env:
    - {name: NCCL_TOPO_FILE, value: "/opt/topology/topo.xml"}
"#,
            mended: r"spec:
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
        find: volumes::absent_file,
    },
    Check {
        id: CheckId::new(13),
        severity: Severity::Warning,
        title: "too little shared memory, or more than there is",
        why: "The runtime's /dev/shm holds 64 MiB; NCCL takes some 33 MB for each communicator, and data loaders more. \
              A volume of memory counts as the containers' memory: larger than their limit it ends in an OOM kill in \
              place of an error.",
        cure: "mount an emptyDir with medium: Memory at /dev/shm, no larger than the memory limits",
        example: Example {
            given: "",
            wrong: r"spec:
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}}
",
            mended: r"spec:
  volumes:
  - {name: shm, emptyDir: {medium: Memory}}
  containers:
  - name: train
    resources: {limits: {nvidia.com/gpu: 8}}
    volumeMounts:
    - {name: shm, mountPath: /dev/shm}
",
        },
        find: volumes::shared_memory,
    },
    Check {
        id: CheckId::new(35),
        severity: Severity::Info,
        title: "a file of NCCL for an AMD GPU",
        why: "RCCL, AMD's library in NCCL's place, reads /etc/rccl.conf.",
        cure: "mount the file at /etc/rccl.conf",
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
            mended: r"spec:
  volumes:
  - {name: conf, configMap: {name: rccl}}
  containers:
  - name: train
    resources: {limits: {amd.com/gpu: 8}}
    volumeMounts:
    - {name: conf, mountPath: /etc/rccl.conf, subPath: conf}
",
        },
        find: volumes::file_of_nvidia,
    },
];
