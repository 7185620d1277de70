//! Findings about process groups.

use super::{DiagnosisCode, Entry};
use crate::finding::Severity;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        code: DiagnosisCode::SettingsDiffer,
        severity: Severity::Error,
        proof: "`MASTER_ADDR`, `MASTER_PORT`, `WORLD_SIZE`, or a setting of torchrun (`--master-addr`, `--master-port`, `--nnodes`, `--rdzv-backend`, `--rdzv-endpoint`, `--rdzv-id`, or their variables with `PET_`) has several values; a flag takes precedence over variables, and the master may use its own name; others may differ, as `--nproc-per-node` may",
        fix: "remove the setting from the pod templates, so that the operator's applies, or set the same value in all of them",
        link: "docs/diagnose.md#settingsdiffer",
    },
    Entry {
        code: DiagnosisCode::RanksCollide,
        severity: Severity::Error,
        proof: "`RANK` or `PET_NODE_RANK` of unfinished pods is the same, or not less than `WORLD_SIZE` or the maximum of `PET_NNODES`",
        fix: "remove the settings in the evidence from the pod templates: the operator sets them",
        link: "docs/diagnose.md#rankscollide",
    },
    Entry {
        code: DiagnosisCode::NodesExceedPods,
        severity: Severity::Error,
        proof: "the minimum of `--nnodes` or `PET_NNODES` is larger than the number of pods in the job for 2 minutes, and all of these exist; not for a value that the command computes, or that the operator of a PyTorchJob sets",
        fix: "set --nnodes to the number of pods, or the job's number of pods to that of the nodes",
        link: "docs/diagnose.md#nodesexceedpods",
    },
    Entry {
        code: DiagnosisCode::MasterUnresolvable,
        severity: Severity::Error,
        proof: "the Service that `MASTER_ADDR` or `PET_RDZV_ENDPOINT` names is not among the Services of the namespace for 2 minutes, or the address is a loopback address or that of another pod. Neither this finding nor the following four if a rank has completed with code 0, or the log of each rank but the master contains a connection of NCCL (`via NET/`) without a later error of PyTorch about the store",
        fix: "check the operator, which creates the Service; or correct the address",
        link: "docs/diagnose.md#masterunresolvable",
    },
    Entry {
        code: DiagnosisCode::ServiceMissesMaster,
        severity: Severity::Error,
        proof: "the selector of the Service does not match the labels of rank 0; or the address is that of one pod of the Service, and the `hostname` of rank 0 differs, or its `subdomain` is not the Service",
        fix: "correct the selector of the Service, or the labels of the pod template",
        link: "docs/diagnose.md#servicemissesmaster",
    },
    Entry {
        code: DiagnosisCode::ServicePortClosed,
        severity: Severity::Error,
        proof: "no entry of `spec.ports` leads from the port of the workers to that of the master, or has the port in `PET_RDZV_ENDPOINT` (`etcd`, `etcd-v2`); the ports of headless Services have no effect",
        fix: "add the port to the Service, or make it headless (clusterIP: None)",
        link: "docs/diagnose.md#serviceportclosed",
    },
    Entry {
        code: DiagnosisCode::MasterNotReady,
        severity: Severity::Error,
        proof: "the condition `Ready` of rank 0 has been False for 2 minutes while its main containers run, and its Service does not publish addresses that are not ready; with the container that is not ready; a warning if that container does not run, because it has a finding of its own if it waits or crashes",
        fix: "remove the readiness probe, or set publishNotReadyAddresses in the Service",
        link: "docs/diagnose.md#masternotready",
    },
    Entry {
        code: DiagnosisCode::MasterLookupFails,
        severity: Severity::Error,
        proof: "an init container `init-pytorch` or `wait-for-master` has run for 2 minutes, while rank 0 is ready and its Service selects it",
        fix: "check the DNS of the cluster, and network policies for port 53: kubectl logs -c init-pytorch",
        link: "docs/diagnose.md#masterlookupfails",
    },
    Entry {
        code: DiagnosisCode::MasterAwaited,
        severity: Severity::Info,
        proof: "rank 0 has a node, its main container has not started for the first time, and a worker has run for 2 minutes",
        fix: "check the events of the master: kubectl describe pod",
        link: "docs/diagnose.md#masterawaited",
    },
    Entry {
        code: DiagnosisCode::MasterRestarted,
        severity: Severity::Error,
        proof: "rank 0 runs again for one minute after a run of at least 30 seconds, and members have run since before that; or its pod was recreated, as a former pod of the rank that is finished or deleted, older events of its name or the condition Restarting of the job show. A warning if only the creation of the pod shows it, 10 minutes after the start of a member (30 without accelerators), by which its first connection fails by default. Not for torchrun with a dynamic rendezvous",
        fix: "find out why it terminated, and restart all members: delete their pods, or recreate the job",
        link: "docs/diagnose.md#masterrestarted",
    },
    Entry {
        code: DiagnosisCode::WorkerRestarted,
        severity: Severity::Error,
        proof: "as for MasterRestarted, for other ranks. A warning for a worker of an MPI job that restarted for a minute, 30 seconds or more after its launcher, which still runs and whose command contains `mpirun`, `mpiexec`, `mpiexec.hydra`, `orterun`, `prterun` or `horovodrun`; not for elastic launchers of Horovod",
        fix: "find out why it terminated, and restart all members: delete their pods, or recreate the job",
        link: "docs/diagnose.md#workerrestarted",
    },
    Entry {
        code: DiagnosisCode::StoreLost,
        severity: Severity::Error,
        proof: "no pod of the Service in `PET_RDZV_ENDPOINT` is ready (`etcd`, `etcd-v2`), or the member with the store restarted after 30 seconds while other agents run on (`c10d`); an etcd outside of the cluster is not visible; or `PET_RDZV_ENDPOINT` is a URL",
        fix: "restore etcd, or find out why the member terminated; then restart the agents that do not restart by themselves",
        link: "docs/diagnose.md#storelost",
    },
    Entry {
        code: DiagnosisCode::EtcdWithoutV2,
        severity: Severity::Error,
        proof: "the image of a pod of the Service in `PET_RDZV_ENDPOINT` is etcd 3.6 or newer, or 3.4 or 3.5 without `--enable-v2`; not if a configuration file, a ConfigMap or a Secret may enable it",
        fix: "use the backend c10d; or etcd 3.5 with --enable-v2=true",
        link: "docs/diagnose.md#etcdwithoutv2",
    },
    Entry {
        code: DiagnosisCode::RestartsUsedUp,
        severity: Severity::Warning,
        proof: "`--max-restarts` or `PET_MAX_RESTARTS` is set, the container's last exit code is 1, and it does not run again, while a pod of the job has not finished; the restarts themselves are not in the API",
        fix: "read the log of the last run for the first failure: kubectl logs --previous",
        link: "docs/diagnose.md#restartsusedup",
    },
    Entry {
        code: DiagnosisCode::RendezvousShared,
        severity: Severity::Error,
        proof: "endpoint and identifier (`PET_RDZV_ID`, by default `none`) of unfinished jobs with the backend c10d, etcd or etcd-v2 are the same",
        fix: "give each job its own --rdzv-id",
        link: "docs/diagnose.md#rendezvousshared",
    },
];
