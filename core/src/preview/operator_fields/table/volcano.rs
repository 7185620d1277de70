//! Volcano Jobs: version 1.14, `pkg/apis/batch/v1alpha1/job.go`.

use super::super::{Fields, Shape};
use super::TEMPLATE;

static POLICY: Fields = Fields {
    owner: "LifecyclePolicy",
    names: &["action", "event", "events", "exitCode", "timeout"],
    nested: &[(
        "event",
        Shape::OneOf(&[
            "*",
            "PodPending",
            "PodRunning",
            "PodFailed",
            "PodEvicted",
            "Unknown",
            "TaskCompleted",
            "OutOfSync",
            "CommandIssued",
            "JobUpdated",
            "TaskFailed",
        ]),
    )],
};
static TASK: Fields = Fields {
    owner: "TaskSpec",
    names: &[
        "name",
        "replicas",
        "minAvailable",
        "template",
        "policies",
        "topologyPolicy",
        "maxRetry",
        "dependsOn",
        "partitionPolicy",
    ],
    nested: &[TEMPLATE, ("policies", Shape::List(&POLICY))],
};
pub(super) static JOB: Fields = Fields {
    owner: "JobSpec",
    names: &[
        "schedulerName",
        "minAvailable",
        "volumes",
        "tasks",
        "policies",
        "plugins",
        "runningEstimate",
        "queue",
        "maxRetry",
        "ttlSecondsAfterFinished",
        "priorityClassName",
        "minSuccess",
        "networkTopology",
    ],
    nested: &[("tasks", Shape::List(&TASK)), ("policies", Shape::List(&POLICY))],
};
