//! Runtimes of `TrainJobs`: Kubeflow Trainer 2.0 to 2.3, `pkg/apis/trainer/v1alpha1/trainingruntime_types.go`. Fields of some
//! versions only, such as those of torch, are listed, too: a misspelled one has no effect in any version.

use super::super::{Fields, Shape};
use super::jobset::JOB_SET;

static FRAMEWORK: Fields = Fields { owner: "policy of a framework", names: &[], nested: &[] };
static ELASTIC_POLICY: Fields =
    Fields { owner: "TorchElasticPolicy", names: &["maxRestarts", "minNodes", "maxNodes", "metrics"], nested: &[] };
static TORCH: Fields = Fields {
    owner: "TorchMLPolicySource",
    names: &["numProcPerNode", "elasticPolicy", "envInjection"],
    nested: &[("elasticPolicy", Shape::Object(&ELASTIC_POLICY))],
};
static FLUX: Fields = Fields { owner: "FluxMLPolicySource", names: &["numProcPerNode"], nested: &[] };
static COSCHEDULING: Fields =
    Fields { owner: "CoschedulingPodGroupPolicySource", names: &["scheduleTimeoutSeconds"], nested: &[] };
static VOLCANO: Fields = Fields { owner: "VolcanoPodGroupPolicySource", names: &["networkTopology"], nested: &[] };
static MPI: Fields = Fields {
    owner: "MPIMLPolicySource",
    names: &["numProcPerNode", "mpiImplementation", "sshAuthMountPath", "runLauncherAsNode"],
    nested: &[],
};
static POLICY: Fields = Fields {
    owner: "MLPolicy",
    names: &["numNodes", "torch", "mpi", "flux", "jax", "xgboost"],
    nested: &[
        ("flux", Shape::Object(&FLUX)),
        ("jax", Shape::Object(&FRAMEWORK)),
        ("mpi", Shape::Object(&MPI)),
        ("numNodes", Shape::Number),
        ("torch", Shape::Object(&TORCH)),
        ("xgboost", Shape::Object(&FRAMEWORK)),
    ],
};
static POD_GROUP_POLICY: Fields = Fields {
    owner: "PodGroupPolicy",
    names: &["coscheduling", "volcano"],
    nested: &[("coscheduling", Shape::Object(&COSCHEDULING)), ("volcano", Shape::Object(&VOLCANO))],
};
static JOB_SET_TEMPLATE: Fields =
    Fields { owner: "JobSetTemplateSpec", names: &["metadata", "spec"], nested: &[("spec", Shape::Object(&JOB_SET))] };
pub(super) static RUNTIME: Fields = Fields {
    owner: "TrainingRuntimeSpec",
    names: &["mlPolicy", "podGroupPolicy", "template"],
    nested: &[
        ("mlPolicy", Shape::Object(&POLICY)),
        ("podGroupPolicy", Shape::Object(&POD_GROUP_POLICY)),
        ("template", Shape::Object(&JOB_SET_TEMPLATE)),
    ],
};
