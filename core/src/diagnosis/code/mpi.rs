//! Findings about MPI jobs.

use super::{DiagnosisCode, Entry};
use crate::finding::Severity;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        code: DiagnosisCode::LauncherAwaitsGang,
        severity: Severity::Error,
        proof: "`spec.launcherCreationPolicy: WaitForWorkersReady`, no launcher, and the PodGroup of workers without nodes for 5 minutes needs more pods than there are workers",
        fix: "set schedulingPolicy.minAvailable to the number of workers, or launcherCreationPolicy to AtStartup",
        link: "docs/diagnose.md#launcherawaitsgang",
    },
    Entry {
        code: DiagnosisCode::LauncherAwaitsWorkers,
        severity: Severity::Error,
        proof: "`spec.launcherCreationPolicy: WaitForWorkersReady`, no launcher, and running workers have not been ready for 2 minutes",
        fix: "read the events of the workers: remove or correct their readiness probes, and check their proxy and sshd: kubectl logs",
        link: "docs/diagnose.md#launcherawaitsworkers",
    },
    Entry {
        code: DiagnosisCode::WorkersUnreachable,
        severity: Severity::Error,
        proof: "the launcher has run for 2 minutes or failed, and the headless Service of the job does not exist, or running workers have not been ready for 2 minutes; the API does not show whether sshd listens",
        fix: "remove readiness probes that need the job to run; check the proxy of the workers, and sshd: kubectl logs",
        link: "docs/diagnose.md#workersunreachable",
    },
    Entry {
        code: DiagnosisCode::LauncherFailed,
        severity: Severity::Error,
        proof: "all launcher pods have terminated with a code other than 0 for one minute, or the Job of the launcher has the condition Failed, while workers run and the MPIJob has not finished; not if the workers are unreachable (WorkersUnreachable)",
        fix: "read the log of the launcher: kubectl logs; correct the cause, and recreate the MPIJob",
        link: "docs/diagnose.md#launcherfailed",
    },
    Entry {
        code: DiagnosisCode::WorkersLeft,
        severity: Severity::Warning,
        proof: "the condition Succeeded or Failed of an MPIJob or another job of the training operator, or phase Succeeded of the launcher, for 2 minutes, while workers are in phase Running; with cleanPodPolicy if it is Running or All, with which the operator should have deleted them",
        fix: "set runPolicy.cleanPodPolicy to Running, and delete the workers or the job",
        link: "docs/diagnose.md#workersleft",
    },
    Entry {
        code: DiagnosisCode::SlotsExceedAccelerators,
        severity: Severity::Warning,
        proof: "`spec.slotsPerWorker` exceeds the accelerators that a worker requests",
        fix: "set slotsPerWorker to the number of accelerators of a worker",
        link: "docs/diagnose.md#slotsexceedaccelerators",
    },
];
