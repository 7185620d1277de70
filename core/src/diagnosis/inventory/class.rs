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
    let restarts = pods.iter().flat_map(|pod| pod.main()).any(|main| main.policy == RestartPolicy::Always);
    let has_queue = job.workload.is_some_and(|workload| workload.queue.is_some());
    let signs = [
        Sign::of_kind(job.kind, is_training),
        pods.iter().any(|pod| pod.usage.is_notebook).then_some(Sign::Notebook),
        pods.iter().any(|pod| pod.gang.is_some()).then_some(Sign::Gang),
        has_queue.then_some(Sign::Queue),
        Some(Sign::of_policy(restarts)),
        pods.iter().any(|pod| pod.usage.has_volume_claim).then_some(Sign::PersistentVolume),
        (pods.len() == 1).then_some(Sign::SinglePod),
    ];
    let signs: Vec<Sign> = signs.into_iter().flatten().collect();
    (WorkloadClass::of(&signs), signs)
}

impl WorkloadClass {
    /// All classes.
    pub const ALL: [Self; 4] = [Self::Training, Self::Inference, Self::Interactive, Self::Unknown];

    /// Returns the class of a workload with these signs.
    pub(super) fn of(signs: &[Sign]) -> Self {
        let has = |sign| signs.contains(&sign);
        if has(Sign::Notebook) {
            Self::Interactive
        } else if has(Sign::BatchKind) {
            Self::Training
        } else if has(Sign::ServingKind) {
            Self::Inference
        } else if has(Sign::RunsToCompletion) && (has(Sign::Gang) || has(Sign::Queue)) {
            Self::Training
        } else {
            Self::Unknown
        }
    }

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
    /// Returns the sign of a kind. `is_training` is true for pods of a kind of training job.
    pub(super) fn of_kind(kind: &str, is_training: bool) -> Option<Self> {
        if SERVICES.contains(&kind) || SERVING.contains(&kind) {
            Some(Self::ServingKind)
        } else {
            (is_training || BATCH.contains(&kind)).then_some(Self::BatchKind)
        }
    }

    /// Returns the sign of a restart policy: `is_always` is true for `Always`.
    pub(super) fn of_policy(is_always: bool) -> Self {
        if is_always { Self::AlwaysRestarted } else { Self::RunsToCompletion }
    }

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
