use rstest::rstest;
use serde_json::json;

use super::*;
use crate::workload::template::testing::render_with;
use crate::workload::{RenderError, RolePod, Runtimes};

fn render_stock(name: &str, stock: StockRuntimes, kind: &str) -> Result<Vec<RolePod>, RenderError> {
    let job = json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "j"},
        "spec": {"runtimeRef": {"name": name, "kind": kind}, "trainer": {"numNodes": 2}},
    });
    render_with(&job, &Runtimes { stock, ..Runtimes::default() })
}

#[rstest]
#[case::newest("torch-distributed", StockRuntimes::Newest, "v2.3", &["node x2"], "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime")]
#[case::a_version("torch-distributed", StockRuntimes::Version(V2_0), "v2.0", &["node x2"], "pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime")]
#[case::newest_that_has_it("mpi-distributed", StockRuntimes::Newest, "v2.0", &["launcher x1", "node x1"], "mpioperator/mpi-pi:openmpi")]
#[case::launcher_first("deepspeed-distributed", StockRuntimes::Version(V2_2), "v2.2", &["launcher x1", "node x1"], "ghcr.io/kubeflow/trainer/deepspeed-runtime")]
#[case::launcher_last("mlx-distributed", StockRuntimes::Newest, "v2.3", &["node x1", "launcher x1"], "ghcr.io/kubeflow/trainer/mlx-runtime")]
#[case::jax("jax-distributed", StockRuntimes::Newest, "v2.3", &["node x2"], "nvcr.io/nvidia/jax:25.10-py3")]
#[case::xgboost("xgboost-distributed", StockRuntimes::Newest, "v2.3", &["node x2"], "ghcr.io/kubeflow/trainer/xgboost-runtime")]
#[case::torchtune(
    "torchtune-qwen2.5-1.5b", StockRuntimes::Newest, "v2.3", &["dataset-initializer x1", "model-initializer x1", "node x2"],
    "ghcr.io/kubeflow/trainer/dataset-initializer"
)]
#[case::with_cache(
    "torch-distributed-with-cache", StockRuntimes::Version(V2_1), "v2.1", &["dataset-initializer x1", "node x2"],
    "ghcr.io/kubeflow/trainer/dataset-initializer"
)]
fn stock_runtimes_are_assumed(
    #[case] name: &str,
    #[case] stock: StockRuntimes,
    #[case] trainer: &str,
    #[case] expected: &[&str],
    #[case] image: &str,
) {
    let roles = render_stock(name, stock, "ClusterTrainingRuntime").unwrap();
    let found: Vec<String> =
        roles.iter().map(|role| format!("{} x{}", role.name, role.replicas.unwrap_or_default())).collect();
    assert_eq!(found, expected);
    assert_eq!(roles[0].pod["spec"]["containers"][0]["image"], image);
    for role in roles {
        let assumed = role.assumed_runtime.unwrap();
        assert_eq!((assumed.name.as_str(), assumed.trainer), (name, trainer));
    }
}

#[rstest]
#[case::v2_0(V2_0, 6)]
#[case::v2_1(V2_1, 7)]
#[case::v2_2(V2_2, 9)]
#[case::v2_3(V2_3, 9)]
fn every_stock_runtime_renders(#[case] version: TrainerVersion, #[case] count: usize) {
    let names = names(version);
    assert_eq!(names.len(), count, "{names:?}");
    for name in names {
        let roles = render_stock(name, StockRuntimes::Version(version), "ClusterTrainingRuntime").unwrap();
        assert!(!roles.is_empty(), "{name}");
    }
}

#[rstest]
#[case::claim_of_the_runtime(V2_1, "torchtune-llama3.2-1b")]
#[case::claim_of_the_job(V2_2, "initializer-j")]
fn the_volume_of_torchtune_depends_on_the_version(#[case] version: TrainerVersion, #[case] claim: &str) {
    let roles =
        render_stock("torchtune-llama3.2-1b", StockRuntimes::Version(version), "ClusterTrainingRuntime").unwrap();
    for role in roles {
        assert_eq!(role.pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"], claim, "{}", role.name);
    }
}

#[rstest]
#[case::unknown(
    "own",
    StockRuntimes::Newest,
    "ClusterTrainingRuntime",
    "runtime own is not in the input: add its manifest, or set --runtime FILE"
)]
#[case::namespaced(
    "torch-distributed",
    StockRuntimes::Newest,
    "TrainingRuntime",
    "TrainingRuntime torch-distributed is not in the input; Kubeflow Trainer installs a ClusterTrainingRuntime of this name: set \
     runtimeRef.kind to ClusterTrainingRuntime"
)]
#[case::namespaced_of_another_name(
    "own",
    StockRuntimes::Newest,
    "TrainingRuntime",
    "runtime own is not in the input: add its manifest, or set --runtime FILE"
)]
#[case::another_version(
    "jax-distributed",
    StockRuntimes::Version(V2_1),
    "ClusterTrainingRuntime",
    "runtime jax-distributed is neither in the input nor in Kubeflow Trainer v2.1: set --runtime FILE"
)]
#[case::cluster(
    "torch-distributed",
    StockRuntimes::None,
    "ClusterTrainingRuntime",
    "runtime torch-distributed is neither in the input nor in the cluster: add its manifest"
)]
fn a_missing_runtime_is_reported(
    #[case] name: &str,
    #[case] stock: StockRuntimes,
    #[case] kind: &str,
    #[case] message: &str,
) {
    assert_eq!(render_stock(name, stock, kind).unwrap_err().to_string(), message);
}
