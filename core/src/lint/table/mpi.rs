//! Settings that do not reach MPI ranks.

use super::super::mpi;
use super::{Check, Example};
use crate::config::CheckId;
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: CheckId::new(23),
        severity: Severity::Warning,
        title: "settings in an MPI worker's environment",
        why: "mpirun starts the ranks through sshd, and sshd sessions do not inherit the container's environment. \
              NCCL in the ranks does not see the settings. A configuration file works because every process reads it; \
              that of a fabric profile contains only the settings of the profile.",
        fix: "put the settings into /etc/nccl.conf, for example with delivery.nccl: confFile in the profile, or pass \
              them with mpirun -x",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: train
    command: [/usr/sbin/sshd, -De]
    env:
    - {name: NCCL_IB_HCA, value: "=mlx5_0"}
"#,
            fixed: r#"metadata:
  annotations:
    trainmesh.dev/nccl-conf: "NCCL_IB_HCA==mlx5_0"
spec:
  volumes:
  - name: conf
    downwardAPI:
      items:
      - {path: conf, fieldRef: {fieldPath: "metadata.annotations['trainmesh.dev/nccl-conf']"}}
  containers:
  - name: train
    command: [/usr/sbin/sshd, -De]
    volumeMounts:
    - {name: conf, mountPath: /etc/nccl.conf, subPath: conf}
"#,
        },
        run: mpi::env_not_inherited,
    },
    Check {
        id: CheckId::new(42),
        severity: Severity::Warning,
        title: "an MPI launcher's variables that no rank receives",
        why: "Open MPI's mpirun passes to ranks on other nodes only its own variables and those that -x names. An NCCL \
              variable in the environment of the launcher alone has no effect there; a TrainJob with an MPI runtime puts \
              trainer.env into these containers.",
        fix: "pass the variable by mpirun -x NAME, or put it into /etc/nccl.conf (a profile with delivery.nccl: confFile \
              does)",
        example: Example {
            given: "",
            wrong: r#"spec:
  containers:
  - name: launcher
    command: [mpirun, -np, "16", ./train]
    env:
    - {name: NCCL_IB_HCA, value: "=mlx5_0"}
"#,
            fixed: r#"spec:
  containers:
  - name: launcher
    command: [mpirun, -np, "16", -x, NCCL_IB_HCA, ./train]
    env:
    - {name: NCCL_IB_HCA, value: "=mlx5_0"}
"#,
        },
        run: mpi::not_passed,
    },
    Check {
        id: CheckId::new(43),
        severity: Severity::Info,
        title: "launcher parameters that only Open MPI 4 reads",
        why: "Open MPI 5 starts ranks by PRRTE, which reads PRTE_MCA_ variables and ignores OMPI_MCA_orte_, \
              OMPI_MCA_plm_rsh_ and OMPI_MCA_oob_tcp_. Version 4 ignores the PRTE_MCA_ ones.",
        fix: "add the PRTE_MCA_ variable, such as PRTE_MCA_prte_if_include, if the image may contain Open MPI 5",
        example: Example {
            given: "",
            wrong: r"spec:
  containers:
  - name: launcher
    command: [mpirun, ./train]
    env:
    - {name: OMPI_MCA_oob_tcp_if_include, value: eth0}
",
            fixed: r"spec:
  containers:
  - name: launcher
    command: [mpirun, ./train]
    env:
    - {name: OMPI_MCA_oob_tcp_if_include, value: eth0}
    - {name: PRTE_MCA_prte_if_include, value: eth0}
",
        },
        run: mpi::old_launcher_parameter,
    },
];
