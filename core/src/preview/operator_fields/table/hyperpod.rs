//! `HyperPodPyTorchJob`: the fields in aws/sagemaker-hyperpod-cli, `src/sagemaker/hyperpod/training/config`. The operator is not public.

use super::super::{Fields, Shape};
use super::TEMPLATE;

/// Names with `Replicas` are those of elastic jobs.
static REPLICA: Fields = Fields {
    owner: "ReplicaSpec",
    names: &["name", "replicas", "minReplicas", "maxReplicas", "spares", "template"],
    nested: &[TEMPLATE],
};
static RESTART_POLICY: Fields = Fields {
    owner: "RestartPolicy",
    names: &["evalPeriodSeconds", "maxFullJobRestarts", "numRestartBeforeFullJobRestart"],
    nested: &[],
};
static RUN_POLICY: Fields = Fields {
    owner: "RunPolicy",
    names: &[
        "activeDeadlineSeconds",
        "cleanPodPolicy",
        "faultDeadlineSeconds",
        "jobMaxRetryCount",
        "logMonitoringConfiguration",
        "restartPolicy",
        "startupDeadlineSeconds",
        "suspend",
        "ttlSecondsAfterFinished",
    ],
    nested: &[("restartPolicy", Shape::Object(&RESTART_POLICY))],
};
pub(super) static HYPERPOD_PYTORCH_JOB: Fields = Fields {
    owner: "HyperPodPyTorchJobSpec",
    names: &["nprocPerNode", "replicaSpecs", "runPolicy", "elasticPolicy"],
    nested: &[("replicaSpecs", Shape::List(&REPLICA)), ("runPolicy", Shape::Object(&RUN_POLICY))],
};
