//! Runtimes of `TrainJobs`: Kubeflow Trainer 2.0 to 2.3, `pkg/apis/trainer/v1alpha1/trainingruntime_types.go`. Fields of frameworks that
//! depend on the version are not listed.

use super::super::{Fields, Shape};
use super::jobset::JOB_SET;

static FRAMEWORK: Fields = Fields { owner: "policy of a framework", names: &[], nested: &[] };
static MPI: Fields = Fields {
    owner: "MPIMLPolicySource",
    names: &["numProcPerNode", "mpiImplementation", "sshAuthMountPath", "runLauncherAsNode"],
    nested: &[],
};
static POLICY: Fields = Fields {
    owner: "MLPolicy",
    names: &["numNodes", "torch", "mpi", "flux", "jax", "xgboost"],
    nested: &[
        ("flux", Shape::Object(&FRAMEWORK)),
        ("jax", Shape::Object(&FRAMEWORK)),
        ("mpi", Shape::Object(&MPI)),
        ("numNodes", Shape::Number),
        ("torch", Shape::Object(&FRAMEWORK)),
        ("xgboost", Shape::Object(&FRAMEWORK)),
    ],
};
static POD_GROUP_POLICY: Fields = Fields {
    owner: "PodGroupPolicy",
    names: &["coscheduling", "volcano"],
    nested: &[("coscheduling", Shape::Object(&FRAMEWORK)), ("volcano", Shape::Object(&FRAMEWORK))],
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
