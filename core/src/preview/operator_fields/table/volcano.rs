//! Volcano Jobs: version 1.14, `pkg/apis/batch/v1alpha1/job.go`.

use super::super::{Fields, Shape};
use super::TEMPLATE;

/// Actions of policies (`pkg/apis/bus/v1alpha1/actions.go`).
const ACTIONS: &[&str] = &[
    "AbortJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "RestartPartition",
    "TerminateJob",
    "CompleteJob",
    "ResumeJob",
    "SyncJob",
    "EnqueueJob",
];
/// Events of policies (`pkg/apis/bus/v1alpha1/events.go`).
const EVENTS: &[&str] = &[
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
];

static POLICY: Fields = Fields {
    owner: "LifecyclePolicy",
    names: &["action", "event", "events", "exitCode", "timeout"],
    nested: &[("action", Shape::OneOf(ACTIONS)), ("event", Shape::OneOf(EVENTS)), ("events", Shape::SomeOf(EVENTS))],
};
static DEPENDS_ON: Fields = Fields {
    owner: "DependsOn",
    names: &["name", "iteration"],
    nested: &[("iteration", Shape::OneOf(&["any", "all"]))],
};
static NETWORK_TOPOLOGY: Fields = Fields {
    owner: "NetworkTopologySpec",
    names: &["mode", "highestTierAllowed", "highestTierName"],
    nested: &[("mode", Shape::OneOf(&["hard", "soft"]))],
};
/// Names of the plugins of the controller (`pkg/controllers/job/plugins/factory.go`), and that of Ascend devices.
static PLUGINS: Fields = Fields {
    owner: "the controller's set of plugins",
    names: &["env", "hcclrank", "mpi", "pytorch", "ray", "ssh", "svc", "tensorflow"],
    nested: &[],
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
    nested: &[
        TEMPLATE,
        ("policies", Shape::List(&POLICY)),
        ("dependsOn", Shape::Object(&DEPENDS_ON)),
        ("topologyPolicy", Shape::OneOf(&["none", "best-effort", "restricted", "single-numa-node"])),
    ],
};
static VOLUME: Fields =
    Fields { owner: "VolumeSpec", names: &["mountPath", "volumeClaimName", "volumeClaim"], nested: &[] };
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
    nested: &[
        ("volumes", Shape::List(&VOLUME)),
        ("tasks", Shape::List(&TASK)),
        ("policies", Shape::List(&POLICY)),
        ("plugins", Shape::Object(&PLUGINS)),
        ("networkTopology", Shape::Object(&NETWORK_TOPOLOGY)),
    ],
};
