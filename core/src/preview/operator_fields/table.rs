//! The fields of the kinds of operators, and of Istio.

mod appwrapper;
mod elasticjob;
mod grove;
mod hyperpod;
mod istio;
mod jobset;
mod kubeflow;
mod kuberay;
mod leaderworkerset;
mod trainer;
mod typed;
mod volcano;

use super::{Fields, Shape};

const TEMPLATE: (&str, Shape) = ("template", Shape::PodTemplate);

/// Returns the fields of `spec` of a kind whose types are checked; `None` for a kind without a table.
pub(super) fn types_of(api_version: &str, kind: &str) -> Option<&'static Fields> {
    typed::spec_of(api_version, kind).or_else(|| spec_of(api_version, kind))
}

/// Returns the fields of `spec` of a kind; `None` for a kind without a table.
pub(super) fn spec_of(api_version: &str, kind: &str) -> Option<&'static Fields> {
    let group = api_version.split('/').next().unwrap_or_default();
    Some(match (group, kind) {
        ("kubeflow.org", "MPIJob") if api_version == "kubeflow.org/v1" => &kubeflow::MPI_V1,
        ("kubeflow.org", "PyTorchJob") => &kubeflow::PYTORCH,
        ("kubeflow.org", "TFJob") => &kubeflow::TENSORFLOW,
        ("kubeflow.org", "XGBoostJob") => &kubeflow::XGBOOST,
        ("kubeflow.org", "PaddleJob") => &kubeflow::PADDLE,
        ("kubeflow.org", "JAXJob") => &kubeflow::JAX,
        ("kubeflow.org", "MPIJob") => &kubeflow::MPI,
        ("jobset.x-k8s.io", "JobSet") => &jobset::JOB_SET,
        ("ray.io", "RayCluster") => &kuberay::RAY_CLUSTER,
        ("ray.io", "RayJob") => &kuberay::RAY_JOB,
        ("ray.io", "RayService") => &kuberay::RAY_SERVICE,
        ("elastic.iml.github.io", "ElasticJob") => &elasticjob::ELASTIC_JOB,
        ("grove.io", "PodCliqueSet") => &grove::POD_CLIQUE_SET,
        ("trainer.kubeflow.org", "ClusterTrainingRuntime" | "TrainingRuntime") => &trainer::RUNTIME,
        ("sagemaker.amazonaws.com", "HyperPodPyTorchJob") => &hyperpod::HYPERPOD_PYTORCH_JOB,
        ("workload.codeflare.dev", "AppWrapper") => &appwrapper::APP_WRAPPER,
        ("leaderworkerset.x-k8s.io", "LeaderWorkerSet") => &leaderworkerset::LEADER_WORKER_SET,
        ("batch.volcano.sh", "Job") => &volcano::JOB,
        ("security.istio.io", "PeerAuthentication") => &istio::PEER_AUTHENTICATION,
        ("networking.istio.io", "DestinationRule") => &istio::DESTINATION_RULE,
        _ => return None,
    })
}
