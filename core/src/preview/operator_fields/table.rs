//! The fields of the kinds of operators.

use super::{Fields, Shape};

const TEMPLATE: (&str, Shape) = ("template", Shape::PodTemplate);

/// training-operator 1.9, `pkg/apis/kubeflow.org/v1/common_types.go`; mpi-operator 0.8, `pkg/apis/kubeflow/v2beta1/types.go`.
static REPLICAS: Fields =
    Fields { owner: "ReplicaSpec", names: &["replicas", "template", "restartPolicy"], nested: &[TEMPLATE] };
static SCHEDULING_POLICY: Fields = Fields {
    owner: "SchedulingPolicy",
    names: &["minAvailable", "queue", "minResources", "priorityClass", "scheduleTimeoutSeconds"],
    nested: &[],
};
static RUN_POLICY: Fields = Fields {
    owner: "RunPolicy",
    names: &[
        "cleanPodPolicy",
        "ttlSecondsAfterFinished",
        "activeDeadlineSeconds",
        "backoffLimit",
        "schedulingPolicy",
        "suspend",
        "managedBy",
    ],
    nested: &[("schedulingPolicy", Shape::Object(&SCHEDULING_POLICY))],
};
static ELASTIC_POLICY: Fields = Fields {
    owner: "ElasticPolicy",
    names: &[
        "minReplicas",
        "maxReplicas",
        "rdzvBackend",
        "rdzvPort",
        "rdzvHost",
        "rdzvId",
        "rdzvConf",
        "standalone",
        "nProcPerNode",
        "maxRestarts",
        "metrics",
    ],
    nested: &[],
};
const RUN: (&str, Shape) = ("runPolicy", Shape::Object(&RUN_POLICY));
const ELASTIC: (&str, Shape) = ("elasticPolicy", Shape::Object(&ELASTIC_POLICY));
static PYTORCH: Fields = Fields {
    owner: "PyTorchJobSpec",
    names: &["runPolicy", "elasticPolicy", "pytorchReplicaSpecs", "nprocPerNode"],
    nested: &[RUN, ELASTIC, ("pytorchReplicaSpecs", Shape::Map(&REPLICAS))],
};
static TENSORFLOW: Fields = Fields {
    owner: "TFJobSpec",
    names: &["runPolicy", "successPolicy", "tfReplicaSpecs", "enableDynamicWorker"],
    nested: &[RUN, ("tfReplicaSpecs", Shape::Map(&REPLICAS))],
};
static XGBOOST: Fields = Fields {
    owner: "XGBoostJobSpec",
    names: &["runPolicy", "xgbReplicaSpecs"],
    nested: &[RUN, ("xgbReplicaSpecs", Shape::Map(&REPLICAS))],
};
static PADDLE: Fields = Fields {
    owner: "PaddleJobSpec",
    names: &["runPolicy", "elasticPolicy", "paddleReplicaSpecs"],
    nested: &[RUN, ELASTIC, ("paddleReplicaSpecs", Shape::Map(&REPLICAS))],
};
static JAX: Fields = Fields {
    owner: "JAXJobSpec",
    names: &["runPolicy", "jaxReplicaSpecs"],
    nested: &[RUN, ("jaxReplicaSpecs", Shape::Map(&REPLICAS))],
};
static MPI: Fields = Fields {
    owner: "MPIJobSpec",
    names: &[
        "slotsPerWorker",
        "runLauncherAsWorker",
        "runPolicy",
        "mpiReplicaSpecs",
        "sshAuthMountPath",
        "launcherCreationPolicy",
        "mpiImplementation",
        "cleanPodPolicy",
        "mainContainer",
    ],
    nested: &[RUN, ("mpiReplicaSpecs", Shape::Map(&REPLICAS))],
};

/// JobSet 0.12, `api/jobset/v1alpha2/jobset_types.go`.
static REPLICATED_JOB: Fields = Fields {
    owner: "ReplicatedJob",
    names: &["name", "groupName", "template", "replicas", "dependsOn"],
    nested: &[("template", Shape::JobTemplate)],
};
static JOB_SET: Fields = Fields {
    owner: "JobSetSpec",
    names: &[
        "replicatedJobs",
        "network",
        "successPolicy",
        "failurePolicy",
        "startupPolicy",
        "suspend",
        "coordinator",
        "managedBy",
        "ttlSecondsAfterFinished",
        "volumeClaimPolicies",
    ],
    nested: &[("replicatedJobs", Shape::List(&REPLICATED_JOB))],
};

/// KubeRay 1.5, `ray-operator/apis/ray/v1`.
static HEAD_GROUP: Fields = Fields {
    owner: "HeadGroupSpec",
    names: &["template", "headService", "enableIngress", "rayStartParams", "serviceType", "labels", "resources"],
    nested: &[TEMPLATE],
};
static WORKER_GROUP: Fields = Fields {
    owner: "WorkerGroupSpec",
    names: &[
        "suspend",
        "groupName",
        "replicas",
        "minReplicas",
        "maxReplicas",
        "idleTimeoutSeconds",
        "resources",
        "labels",
        "rayStartParams",
        "template",
        "scaleStrategy",
        "numOfHosts",
    ],
    nested: &[TEMPLATE],
};
static RAY_CLUSTER: Fields = Fields {
    owner: "RayClusterSpec",
    names: &[
        "headGroupSpec",
        "workerGroupSpecs",
        "rayVersion",
        "enableInTreeAutoscaling",
        "autoscalerOptions",
        "headServiceAnnotations",
        "suspend",
        "managedBy",
        "gcsFaultToleranceOptions",
        "authOptions",
        "upgradeStrategy",
    ],
    nested: &[("headGroupSpec", Shape::Object(&HEAD_GROUP)), ("workerGroupSpecs", Shape::List(&WORKER_GROUP))],
};
static RAY_JOB: Fields = Fields {
    owner: "RayJobSpec",
    names: &[
        "activeDeadlineSeconds",
        "backoffLimit",
        "rayClusterSpec",
        "submitterPodTemplate",
        "metadata",
        "clusterSelector",
        "submitterConfig",
        "managedBy",
        "deletionStrategy",
        "entrypoint",
        "runtimeEnvYAML",
        "jobId",
        "submissionMode",
        "entrypointResources",
        "entrypointNumCpus",
        "entrypointNumGpus",
        "ttlSecondsAfterFinished",
        "shutdownAfterJobFinishes",
        "suspend",
    ],
    nested: &[("rayClusterSpec", Shape::Object(&RAY_CLUSTER)), ("submitterPodTemplate", Shape::PodTemplate)],
};

/// LeaderWorkerSet 0.8, `api/leaderworkerset/v1/leaderworkerset_types.go`.
static LEADER_WORKER_TEMPLATE: Fields = Fields {
    owner: "LeaderWorkerTemplate",
    names: &[
        "leaderTemplate",
        "workerTemplate",
        "size",
        "restartPolicy",
        "subGroupPolicy",
        "volumeClaimTemplates",
        "persistentVolumeClaimRetentionPolicy",
    ],
    nested: &[("leaderTemplate", Shape::PodTemplate), ("workerTemplate", Shape::PodTemplate)],
};
static LEADER_WORKER_SET: Fields = Fields {
    owner: "LeaderWorkerSetSpec",
    names: &["replicas", "leaderWorkerTemplate", "rolloutStrategy", "startupPolicy", "networkConfig"],
    nested: &[("leaderWorkerTemplate", Shape::Object(&LEADER_WORKER_TEMPLATE))],
};

/// Returns the fields of `spec` of `kind`; `None` for a kind without a table.
pub(super) fn spec_of(kind: &str) -> Option<&'static Fields> {
    Some(match kind {
        "PyTorchJob" => &PYTORCH,
        "TFJob" => &TENSORFLOW,
        "XGBoostJob" => &XGBOOST,
        "PaddleJob" => &PADDLE,
        "JAXJob" => &JAX,
        "MPIJob" => &MPI,
        "JobSet" => &JOB_SET,
        "RayCluster" => &RAY_CLUSTER,
        "RayJob" => &RAY_JOB,
        "LeaderWorkerSet" => &LEADER_WORKER_SET,
        _ => return None,
    })
}
