//! Creates the client from the kubeconfig that kubectl would use, or from the pod's service account.

mod problem;
mod proxy;
mod usable;

use std::env;
use std::path::{Path, PathBuf};

use hyper::Uri;
use hyper::header::{HeaderValue, USER_AGENT};
use hyper::http::uri::{PathAndQuery, Scheme};
use kube::config::{InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use thiserror::Error;

use super::context::ContextEntries;
use super::failure::entry_problem;

pub(super) use problem::{client_problem, credential_problem, unusable_context};
use problem::{no_cluster, unusable, unusable_entry, unusable_file};

/// Field manager of the fields that trainmesh writes.
pub(super) const FIELD_MANAGER: &str = "trainmesh";

/// An error that prevents the creation of a client.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The given kubeconfig cannot be used.
    #[error("{}", unusable_file(cause, path))]
    Kubeconfig {
        /// Path of the kubeconfig.
        path: PathBuf,
        /// Cause.
        cause: Box<KubeconfigError>,
    },
    /// The given context cannot be used.
    #[error("{}", unusable(cause, Some(context)))]
    Context {
        /// Name of the context.
        context: String,
        /// Cause.
        cause: Box<KubeconfigError>,
    },
    /// The files that `KUBECONFIG` lists cannot be used.
    #[error("{}", unusable(.0, None))]
    List(Box<KubeconfigError>),
    /// No kubeconfig was given, and neither the default locations nor the service account provide one.
    #[error("{}", no_cluster(.0))]
    Infer(Box<InferConfigError>),
    /// An entry of the kubeconfig cannot be used.
    #[error("{0}")]
    Entry(String),
    /// The client cannot be built from the configuration.
    #[error("could not create a client from the cluster's configuration")]
    Client(#[source] Box<kube::Error>),
}

/// Creates a client for `kubeconfig` or the default locations, and for `context` or the current one. Sends no request.
///
/// The client does not retry: a lookup for a waiting pod must be one call, and a watch has its own backoff.
pub async fn connect(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Client, ConnectError> {
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    let mut config = match (kubeconfig, context) {
        (Some(path), _) => from_kubeconfig(path, &options)
            .await
            .map_err(|cause| ConnectError::Kubeconfig { path: path.to_owned(), cause: Box::new(cause) })?,
        (None, Some(context)) => load(&options)
            .await
            .map_err(|cause| ConnectError::Context { context: context.to_owned(), cause: Box::new(cause) })?,
        (None, None) => match merged_list() {
            Some(list) => match (from_list(list, &options).await, Config::incluster()) {
                (Ok(config), _) | (Err(KubeconfigError::CurrentContextNotSet), Ok(config)) => config,
                (Err(cause), _) => return Err(ConnectError::List(Box::new(cause))),
            },
            None => Config::infer().await.map_err(|source| ConnectError::Infer(Box::new(source)))?,
        },
    };
    complete_address(&mut config);
    let entries = ContextEntries::read(kubeconfig, context);
    if let Some(problem) = usable::problem(&config, &entries) {
        return Err(ConnectError::Entry(unusable_entry(&problem, kubeconfig, &entries)));
    }
    // The proxy of a cluster counts for all of its requests.
    if config.proxy_url.is_some() && proxy::is_direct(&config.cluster_url) && !entries.has_proxy() {
        config.proxy_url = None;
    }
    // As in kubectl, an empty CA is none.
    if !entries.has_authority() {
        config.root_cert = config.root_cert.filter(|certificates| !certificates.is_empty());
    }
    config.default_retry = false;
    config.headers.push((USER_AGENT, HeaderValue::from_static(concat!("trainmesh/", env!("CARGO_PKG_VERSION")))));
    Client::try_from(config).map_err(|source| match entry_problem(&source, &entries) {
        Some(problem) => ConnectError::Entry(unusable_entry(&problem, kubeconfig, &entries)),
        None => ConnectError::Client(Box::new(source)),
    })
}

/// Returns the address of the apiserver for people, without the user and password that a URL may contain.
pub(super) fn address(config: &Config) -> String {
    let url = config.cluster_url.to_string();
    let (scheme, rest) = url.split_once("://").unwrap_or(("", &url));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let separator = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{separator}{host}{}", path.trim_end_matches('/'))
}

/// Reads the kubeconfig that kubectl would use.
pub(super) fn read_kubeconfig() -> Result<Kubeconfig, KubeconfigError> {
    merged_list().unwrap_or_else(Kubeconfig::read)
}

/// Loads the configuration of a context from the kubeconfig that kubectl would use.
pub(super) async fn load(options: &KubeConfigOptions) -> Result<Config, KubeconfigError> {
    let mut config = from_list(read_kubeconfig(), options).await?;
    complete_address(&mut config);
    Ok(config)
}

/// Adds the scheme to an address without one, as kubectl does: kube 5.0 panics at the first request.
fn complete_address(config: &mut Config) {
    if config.cluster_url.scheme().is_some() {
        return;
    }
    let user = &config.auth_info;
    let has_certificate = user.client_certificate.is_some() || user.client_certificate_data.is_some();
    let is_tls = config.root_cert.is_some() || config.accept_invalid_certs || has_certificate;
    let mut parts = config.cluster_url.clone().into_parts();
    parts.scheme = Some(if is_tls { Scheme::HTTPS } else { Scheme::HTTP });
    parts.path_and_query.get_or_insert_with(|| PathAndQuery::from_static("/"));
    // An address without a host stays as it is, and is an error of the request.
    if let Ok(url) = Uri::from_parts(parts) {
        config.cluster_url = url;
    }
}

async fn from_list(
    kubeconfig: Result<Kubeconfig, KubeconfigError>,
    options: &KubeConfigOptions,
) -> Result<Config, KubeconfigError> {
    Config::from_custom_kubeconfig(kubeconfig?, options).await
}

/// Merges the files that `KUBECONFIG` lists; `None` if it lists one file or none, or if none of them exists. As in kubectl, files
/// that do not exist are skipped, and an empty name is no current context; kube 5.0 requires all files.
fn merged_list() -> Option<Result<Kubeconfig, KubeconfigError>> {
    let listed = listed_files();
    let is_list = listed.len() > 1;
    let existing: Vec<PathBuf> = listed.into_iter().filter(|path| !matches!(path.try_exists(), Ok(false))).collect();
    (is_list && !existing.is_empty()).then(|| {
        existing.iter().try_fold(Kubeconfig::default(), |merged, path| {
            let file = Kubeconfig::read_from(path)?;
            let current_context = file.current_context.filter(|name| !name.is_empty());
            merged.merge(Kubeconfig { current_context, ..file })
        })
    })
}

/// Returns the files in `KUBECONFIG`.
fn listed_files() -> Vec<PathBuf> {
    let listed = env::var_os("KUBECONFIG").unwrap_or_default();
    env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty()).collect()
}

async fn from_kubeconfig(path: &Path, options: &KubeConfigOptions) -> Result<Config, KubeconfigError> {
    Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, options).await
}
