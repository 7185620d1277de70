//! The probable class of a workload.

use super::super::job::{Job, SERVICES};
use super::super::snapshot::pod::PodRecord;
use crate::pod::RestartPolicy;

/// Kinds of workloads that run to completion, in addition to those of training jobs.
const BATCH: [&str; 6] = ["AppWrapper", "CronJob", "Job", "JobSet", "RayJob", "TrainJob"];
/// Kinds that serve requests, in addition to those of Kubernetes.
const SERVING: [&str; 3] = ["InferenceService", "LeaderWorkerSet", "RayService"];

/// Probable class of a workload, in the order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkloadClass {
    /// A job that runs to completion.
    Training,
    /// A service.
    Inference,
    /// A notebook.
    Interactive,
    /// The signs do not decide.
    Unknown,
}

/// A sign of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// The kind is that of a job.
    BatchKind,
    /// The kind is that of a service.
    ServingKind,
    /// A notebook controller created it.
    Notebook,
    /// Its pods form a gang.
    Gang,
    /// It waits in a queue of Kueue.
    Queue,
    /// Its main containers are not restarted after success.
    RunsToCompletion,
    /// Its main containers are restarted after success.
    AlwaysRestarted,
    /// A persistent volume claim, which may contain checkpoints.
    PersistentVolume,
    /// It has one pod.
    SinglePod,
}

/// Classifies a workload with `pods`.
pub(super) fn classify(job: &Job<'_>, pods: &[&PodRecord]) -> (WorkloadClass, Vec<Sign>) {
    let is_training = pods.iter().any(|pod| pod.identity.as_ref().is_some_and(|identity| identity.is_training));
    let serves = SERVICES.contains(&job.kind) || SERVING.contains(&job.kind);
    let is_batch = !serves && (is_training || BATCH.contains(&job.kind));
    let restarts = pods.iter().flat_map(|pod| pod.main()).any(|main| main.policy == RestartPolicy::Always);
    let is_notebook = pods.iter().any(|pod| pod.usage.is_notebook);
    let has_gang = pods.iter().any(|pod| pod.gang.is_some());
    let has_queue = job.workload.is_some_and(|workload| workload.queue.is_some());
    let signs = [
        (is_batch, Sign::BatchKind),
        (serves, Sign::ServingKind),
        (is_notebook, Sign::Notebook),
        (has_gang, Sign::Gang),
        (has_queue, Sign::Queue),
        (!restarts, Sign::RunsToCompletion),
        (restarts, Sign::AlwaysRestarted),
        (pods.iter().any(|pod| pod.usage.has_volume_claim), Sign::PersistentVolume),
        (pods.len() == 1, Sign::SinglePod),
    ];
    let class = if is_notebook {
        WorkloadClass::Interactive
    } else if is_batch {
        WorkloadClass::Training
    } else if serves {
        WorkloadClass::Inference
    } else if !restarts && (has_gang || has_queue) {
        WorkloadClass::Training
    } else {
        WorkloadClass::Unknown
    };
    (class, signs.into_iter().filter(|(is_found, _)| *is_found).map(|(_, sign)| sign).collect())
}

impl WorkloadClass {
    /// All classes.
    pub const ALL: [Self; 4] = [Self::Training, Self::Inference, Self::Interactive, Self::Unknown];

    /// Returns the name in tables and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::Inference => "inference",
            Self::Interactive => "interactive",
            Self::Unknown => "unknown",
        }
    }
}

impl Sign {
    /// Returns the name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BatchKind => "batchKind",
            Self::ServingKind => "servingKind",
            Self::Notebook => "notebook",
            Self::Gang => "gang",
            Self::Queue => "queue",
            Self::RunsToCompletion => "runsToCompletion",
            Self::AlwaysRestarted => "alwaysRestarted",
            Self::PersistentVolume => "persistentVolume",
            Self::SinglePod => "singlePod",
        }
    }
}
