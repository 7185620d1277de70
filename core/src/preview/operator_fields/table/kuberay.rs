//! Kinds of Ray: KubeRay 1.6, `ray-operator/apis/ray/v1`.

use super::super::{Fields, Shape};
use super::TEMPLATE;

static HEAD_GROUP: Fields = Fields {
    owner: "HeadGroupSpec",
    names: &["template", "headService", "enableIngress", "rayStartParams", "serviceType", "labels", "resources"],
    nested: &[TEMPLATE, ("serviceType", Shape::OneOf(&["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]))],
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
static AUTOSCALER: Fields = Fields {
    owner: "AutoscalerOptions",
    names: &[
        "version",
        "resources",
        "image",
        "imagePullPolicy",
        "securityContext",
        "idleTimeoutSeconds",
        "upscalingMode",
        "env",
        "envFrom",
        "volumeMounts",
    ],
    nested: &[
        ("upscalingMode", Shape::OneOf(&["Default", "Aggressive", "Conservative"])),
        ("imagePullPolicy", Shape::OneOf(&["Always", "IfNotPresent", "Never"])),
    ],
};
static UPGRADE_STRATEGY: Fields = Fields {
    owner: "RayClusterUpgradeStrategy",
    names: &["type"],
    nested: &[("type", Shape::OneOf(&["Recreate", "None"]))],
};
static SUBMITTER: Fields = Fields { owner: "SubmitterConfig", names: &["backoffLimit"], nested: &[] };
pub(super) static RAY_CLUSTER: Fields = Fields {
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
    nested: &[
        ("headGroupSpec", Shape::Object(&HEAD_GROUP)),
        ("workerGroupSpecs", Shape::List(&WORKER_GROUP)),
        ("autoscalerOptions", Shape::Object(&AUTOSCALER)),
        ("upgradeStrategy", Shape::Object(&UPGRADE_STRATEGY)),
    ],
};
pub(super) static RAY_JOB: Fields = Fields {
    owner: "RayJobSpec",
    names: &[
        "activeDeadlineSeconds",
        "preRunningDeadlineSeconds",
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
    nested: &[
        ("rayClusterSpec", Shape::Object(&RAY_CLUSTER)),
        ("submitterPodTemplate", Shape::PodTemplate),
        ("submitterConfig", Shape::Object(&SUBMITTER)),
        ("submissionMode", Shape::OneOf(&["K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode"])),
    ],
};
static UPGRADE: Fields = Fields {
    owner: "ClusterUpgradeOptions",
    names: &["maxSurgePercent", "stepSizePercent", "intervalSeconds", "gatewayClassName"],
    nested: &[],
};
static SERVICE_UPGRADE_STRATEGY: Fields = Fields {
    owner: "RayServiceUpgradeStrategy",
    names: &["type", "clusterUpgradeOptions"],
    nested: &[
        ("clusterUpgradeOptions", Shape::Object(&UPGRADE)),
        ("type", Shape::OneOf(&["NewCluster", "NewClusterWithIncrementalUpgrade", "None"])),
    ],
};
/// Newer versions may have `suspend`, which the other kinds have.
pub(super) static RAY_SERVICE: Fields = Fields {
    owner: "RayServiceSpec",
    names: &[
        "rayClusterDeletionDelaySeconds",
        "serviceUnhealthySecondThreshold",
        "deploymentUnhealthySecondThreshold",
        "serveService",
        "upgradeStrategy",
        "managedBy",
        "serveConfigV2",
        "rayClusterConfig",
        "excludeHeadPodFromServeSvc",
        "suspend",
    ],
    nested: &[
        ("rayClusterConfig", Shape::Object(&RAY_CLUSTER)),
        ("upgradeStrategy", Shape::Object(&SERVICE_UPGRADE_STRATEGY)),
    ],
};
