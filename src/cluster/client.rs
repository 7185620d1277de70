//! The client: from a kubeconfig, by the usual rules, or from the service account of the pod.

use std::path::{Path, PathBuf};

use hyper::header::{HeaderValue, USER_AGENT};
use kube::config::{InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use thiserror::Error;

/// The name under which we own the fields that we write.
pub(super) const MANAGER: &str = "trainmesh";

/// Why there is no client.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The kubeconfig that was named is of no use.
    #[error("could not use the kubeconfig {}", path.display())]
    Kubeconfig {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: Box<KubeconfigError>,
    },
    /// The context that was named is of no use.
    #[error("could not use the context {context} of the kubeconfig")]
    Context {
        /// Its name.
        context: String,
        /// Why.
        source: Box<KubeconfigError>,
    },
    /// None was named, and neither the usual places nor the service account gave one.
    #[error("found no cluster (is KUBECONFIG set?): {0}")]
    Infer(Box<InferConfigError>),
    /// The configuration makes no client.
    #[error("could not make a client of the cluster's configuration")]
    Client(#[source] Box<kube::Error>),
}

/// Makes a client of `kubeconfig` or the usual places, and of `context` or the current one. Nothing is sent yet.
///
/// The client does not try again by itself: a lookup for a pod that waits must be one call, and a watch has its own
/// back-off.
pub async fn connect(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Client, ConnectError> {
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    let mut config = match (kubeconfig, context) {
        (Some(path), _) => named(path, &options)
            .await
            .map_err(|source| ConnectError::Kubeconfig { path: path.to_owned(), source: Box::new(source) })?,
        (None, Some(context)) => Config::from_kubeconfig(&options)
            .await
            .map_err(|source| ConnectError::Context { context: context.to_owned(), source: Box::new(source) })?,
        (None, None) => Config::infer().await.map_err(|source| ConnectError::Infer(Box::new(source)))?,
    };
    config.default_retry = false;
    config.headers.push((USER_AGENT, HeaderValue::from_static(concat!("trainmesh/", env!("CARGO_PKG_VERSION")))));
    Client::try_from(config).map_err(|source| ConnectError::Client(Box::new(source)))
}

async fn named(path: &Path, options: &KubeConfigOptions) -> Result<Config, KubeconfigError> {
    Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, options).await
}
