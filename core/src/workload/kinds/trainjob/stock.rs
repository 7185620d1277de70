//! The runtimes that Kubeflow Trainer installs.
//!
//! Follows `manifests/base/runtimes` of kubeflow/trainer at v2.0.1, v2.1.0, v2.2.1 and v2.3.0. The default commands of v2.0,
//! which only print the environment, and the sizes of volumes are left out.

mod spec;
#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::hint::nearest;
use crate::workload::runtimes::{AssumedRuntime, CLUSTER_RUNTIME, StockRuntimes, TrainerVersion};
use TrainerVersion::{V2_0, V2_1, V2_2, V2_3};
use spec::{mpi, node, plain, torch, torch_image, torchtune, with_cache};

/// A runtime, with the versions of Kubeflow Trainer that install it.
struct StockRuntime {
    name: &'static str,
    /// Framework in its label.
    framework: &'static str,
    versions: RangeInclusive<TrainerVersion>,
    /// Returns the spec of the runtime of this name in this version.
    spec: fn(&str, TrainerVersion) -> Value,
}

const STOCK_RUNTIMES: [StockRuntime; 10] = [
    StockRuntime {
        name: "torch-distributed",
        framework: "torch",
        versions: V2_0..=V2_3,
        spec: |_, version| torch(version, &[node(&torch_image(version), json!({}))]),
    },
    StockRuntime { name: "torch-distributed-with-cache", framework: "torch", versions: V2_1..=V2_3, spec: with_cache },
    StockRuntime {
        name: "deepspeed-distributed",
        framework: "deepspeed",
        versions: V2_0..=V2_3,
        spec: |_, version| mpi("ghcr.io/kubeflow/trainer/deepspeed-runtime", version),
    },
    StockRuntime {
        name: "mlx-distributed",
        framework: "mlx",
        versions: V2_0..=V2_3,
        spec: |_, version| mpi("ghcr.io/kubeflow/trainer/mlx-runtime", version),
    },
    StockRuntime {
        name: "mpi-distributed",
        framework: "mpi",
        versions: V2_0..=V2_0,
        spec: |_, version| mpi("mpioperator/mpi-pi:openmpi", version),
    },
    StockRuntime {
        name: "jax-distributed",
        framework: "jax",
        versions: V2_2..=V2_3,
        spec: |_, _| plain("jax", "nvcr.io/nvidia/jax:25.10-py3"),
    },
    StockRuntime {
        name: "xgboost-distributed",
        framework: "xgboost",
        versions: V2_2..=V2_3,
        spec: |_, _| plain("xgboost", "ghcr.io/kubeflow/trainer/xgboost-runtime"),
    },
    StockRuntime {
        name: "torchtune-llama3.2-1b",
        framework: "torchtune",
        versions: V2_0..=V2_3,
        spec: |name, version| torchtune(name, version, "meta-llama/Llama-3.2-1B-Instruct", "llama3_2/1B_full"),
    },
    StockRuntime {
        name: "torchtune-llama3.2-3b",
        framework: "torchtune",
        versions: V2_0..=V2_3,
        spec: |name, version| torchtune(name, version, "meta-llama/Llama-3.2-3B-Instruct", "llama3_2/3B_full"),
    },
    StockRuntime {
        name: "torchtune-qwen2.5-1.5b",
        framework: "torchtune",
        versions: V2_1..=V2_3,
        spec: |name, version| torchtune(name, version, "Qwen/Qwen2.5-1.5B-Instruct", "qwen2_5/1.5B_full"),
    },
];

/// The manifests of all runtimes, with their names and versions.
static MANIFESTS: LazyLock<Vec<(&str, TrainerVersion, Value)>> = LazyLock::new(|| {
    let manifests = TrainerVersion::ALL.into_iter().flat_map(|version| {
        let of_version = STOCK_RUNTIMES.iter().filter(move |stock| stock.versions.contains(&version));
        of_version.map(move |stock| (stock.name, version, manifest(stock, version)))
    });
    manifests.collect()
});

/// Returns the newest runtime `name` among those that `stock` selects.
pub(super) fn find(name: &str, stock: StockRuntimes) -> Option<(&'static Value, AssumedRuntime)> {
    let is_allowed = |version| match stock {
        StockRuntimes::None => false,
        StockRuntimes::Version(only) => version == only,
        StockRuntimes::Newest => true,
    };
    let found = MANIFESTS.iter().rfind(|(known, version, _)| *known == name && is_allowed(*version));
    let is_selected = matches!(stock, StockRuntimes::Version(_));
    found.map(|(_, version, manifest)| {
        (manifest, AssumedRuntime { name: name.to_owned(), trainer: version.name(), is_selected })
    })
}

/// Returns the name, similar to `name`, of a runtime that `stock` selects; `None` if `name` is that of a runtime of another
/// version.
pub(super) fn nearest_name(name: &str, stock: StockRuntimes) -> Option<&'static str> {
    if MANIFESTS.iter().any(|(known, ..)| *known == name) {
        return None;
    }
    let names: Vec<&str> =
        MANIFESTS.iter().map(|(known, ..)| *known).filter(|known| find(known, stock).is_some()).collect();
    nearest(name, &names)
}

/// Returns the names of the runtimes of a version.
#[cfg(test)]
pub(super) fn names(version: TrainerVersion) -> Vec<&'static str> {
    MANIFESTS.iter().filter(|(_, of, _)| *of == version).map(|(name, ..)| *name).collect()
}

fn manifest(stock: &StockRuntime, version: TrainerVersion) -> Value {
    let StockRuntime { name, framework, versions: _, spec } = stock;
    let metadata = json!({"name": name, "labels": {"trainer.kubeflow.org/framework": framework}});
    let spec = spec(name, version);
    json!({"apiVersion": super::API_VERSION, "kind": CLUSTER_RUNTIME, "metadata": metadata, "spec": spec})
}
