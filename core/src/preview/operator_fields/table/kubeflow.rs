//! Kinds of Kubeflow: training-operator 1.9, `pkg/apis/kubeflow.org/v1/common_types.go`; mpi-operator 0.8,
//! `pkg/apis/kubeflow/v2beta1/types.go`.

use super::super::{Fields, Shape};
use super::TEMPLATE;

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
    nested: &[
        ("cleanPodPolicy", Shape::OneOf(&["None", "Running", "All"])),
        ("schedulingPolicy", Shape::Object(&SCHEDULING_POLICY)),
    ],
};
static RDZV_CONF: Fields = Fields { owner: "RDZVConf", names: &["key", "value"], nested: &[] };
/// That of Kubernetes' autoscaling.
static METRIC: Fields = Fields {
    owner: "MetricSpec",
    names: &["type", "containerResource", "external", "object", "pods", "resource"],
    nested: &[],
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
    nested: &[
        ("rdzvBackend", Shape::OneOf(&["c10d", "etcd", "etcd-v2"])),
        ("rdzvConf", Shape::List(&RDZV_CONF)),
        ("metrics", Shape::List(&METRIC)),
    ],
};
const RUN: (&str, Shape) = ("runPolicy", Shape::Object(&RUN_POLICY));
const ELASTIC: (&str, Shape) = ("elasticPolicy", Shape::Object(&ELASTIC_POLICY));
/// Words that torchrun accepts in place of a number: those of its documentation, and devices of other vendors.
const PROCESSES: Shape = Shape::OneOf(&["auto", "cpu", "gpu", "xpu", "npu", "hpu", "mlu", "mps", "musa"]);
pub(super) static PYTORCH: Fields = Fields {
    owner: "PyTorchJobSpec",
    names: &["runPolicy", "elasticPolicy", "pytorchReplicaSpecs", "nprocPerNode"],
    nested: &[RUN, ELASTIC, ("pytorchReplicaSpecs", Shape::Map(&REPLICAS)), ("nprocPerNode", PROCESSES)],
};
pub(super) static TENSORFLOW: Fields = Fields {
    owner: "TFJobSpec",
    names: &["runPolicy", "successPolicy", "tfReplicaSpecs", "enableDynamicWorker"],
    nested: &[RUN, ("tfReplicaSpecs", Shape::OpenMap(&REPLICAS, &["PS", "Worker", "Chief", "Master", "Evaluator"]))],
};
pub(super) static XGBOOST: Fields = Fields {
    owner: "XGBoostJobSpec",
    names: &["runPolicy", "xgbReplicaSpecs"],
    nested: &[RUN, ("xgbReplicaSpecs", Shape::Map(&REPLICAS))],
};
pub(super) static PADDLE: Fields = Fields {
    owner: "PaddleJobSpec",
    names: &["runPolicy", "elasticPolicy", "paddleReplicaSpecs"],
    nested: &[RUN, ELASTIC, ("paddleReplicaSpecs", Shape::Map(&REPLICAS))],
};
pub(super) static JAX: Fields = Fields {
    owner: "JAXJobSpec",
    names: &["runPolicy", "jaxReplicaSpecs"],
    nested: &[RUN, ("jaxReplicaSpecs", Shape::Map(&REPLICAS))],
};
/// The operator of version 2 ignores other replica types.
static MPI_ROLES: Fields = Fields {
    owner: "MPIJob",
    names: &["Launcher", "Worker"],
    nested: &[("Launcher", Shape::Object(&REPLICAS)), ("Worker", Shape::Object(&REPLICAS))],
};
const MPI_FIELDS: &[&str] = &[
    "slotsPerWorker",
    "runLauncherAsWorker",
    "runPolicy",
    "mpiReplicaSpecs",
    "sshAuthMountPath",
    "launcherCreationPolicy",
    "mpiImplementation",
    "cleanPodPolicy",
    "mainContainer",
];
/// Version 2.
pub(super) static MPI: Fields = Fields {
    owner: "MPIJobSpec",
    names: MPI_FIELDS,
    nested: &[
        RUN,
        ("launcherCreationPolicy", Shape::OneOf(&["AtStartup", "WaitForWorkersReady"])),
        ("mpiReplicaSpecs", Shape::Object(&MPI_ROLES)),
    ],
};
/// Version 1, whose operator rejects other replica types: they are errors.
pub(super) static MPI_V1: Fields =
    Fields { owner: "MPIJobSpec", names: MPI_FIELDS, nested: &[RUN, ("mpiReplicaSpecs", Shape::Map(&REPLICAS))] };
