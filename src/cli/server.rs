//! Flags and startup code shared by the two servers.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anstream::ColorChoice;
use anyhow::Context as _;
use clap::Args;
use futures::StreamExt as _;
use kube::Client;
use tokio::net::TcpListener;

use super::background::BackgroundTasks;
use super::{print_error, stderr};
use crate::cluster::config_map;
use crate::files;
use crate::reload::{self, Settings};
use crate::serve;
use crate::telemetry::{self, LogFormat, LogLevels};
use trainmesh_core::objects::CONFIG_MAP;
use trainmesh_core::scope::Installation;

/// Flags of every server.
#[derive(Debug, Args)]
pub(super) struct ServerArguments {
    /// Address to serve /healthz, /readyz and /metrics on over HTTP; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080", env = "TRAINMESH_ADMIN_LISTEN")]
    pub(super) admin_listen: SocketAddr,
    /// Configuration file, reloaded when it changes [default: watch the `ConfigMap` trainmesh-config]
    #[arg(long, value_name = "FILE", env = "TRAINMESH_CONFIG")]
    pub(super) config: Option<PathBuf>,
    /// Path of the kubeconfig [default: $KUBECONFIG, ~/.kube/config, or the pod's service account]
    #[arg(long, value_name = "FILE", env = "TRAINMESH_KUBECONFIG")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// Namespace that trainmesh is installed in
    #[arg(long = "namespace", value_name = "NAMESPACE", default_value = Installation::DEFAULT_NAMESPACE, env = "TRAINMESH_NAMESPACE")]
    pub(super) installation: Installation,
    /// Format of the log, which is written to standard error
    #[arg(long, value_enum, default_value_t = LogFormat::Text, env = "TRAINMESH_LOG_FORMAT")]
    log_format: LogFormat,
    /// Log level (off, error, warn, info, debug, trace), or levels by target, such as info,kube=debug
    #[arg(long, value_name = "LEVEL", default_value = "info", env = "TRAINMESH_LOG")]
    log_level: LogLevels,
}

impl ServerArguments {
    /// Initializes logging as configured by the flags.
    pub(super) fn init_logging(&self) {
        telemetry::init_logging(self.log_format, self.log_level.clone());
    }

    /// Keeps `settings` up to date with the file, or with the cluster's `ConfigMap`.
    pub(super) async fn watch_configuration(
        &self,
        client: Client,
        settings: &Arc<Settings>,
        background: &mut BackgroundTasks,
    ) -> anyhow::Result<()> {
        let settings = Arc::clone(settings);
        if let Some(path) = &self.config {
            let name = path.display().to_string();
            let mut updates = Box::pin(reload::file(path.clone(), files::INTERVAL));
            // Wait for the first update: a file that is invalid from the start must make the process exit.
            if let Some(update) = updates.next().await {
                settings.apply(&update, &name).inspect_err(|rejected| {
                    let stderr = &mut stderr(ColorChoice::Auto);
                    rejected.problems.iter().for_each(|problem| print_error(stderr, format_args!("{name}: {problem}")));
                })?;
            }
            background.spawn("configuration", |stop| async move { settings.follow(updates, &name, stop).await });
        } else {
            let namespace = self.installation.namespace();
            let name = format!("ConfigMap {namespace}/{CONFIG_MAP}");
            let updates = config_map::updates(client, namespace);
            background.spawn("configuration", |stop| async move { settings.follow(updates, &name, stop).await });
        }
        Ok(())
    }
}

/// Listens on `address`.
pub(super) fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    serve::listen(address).with_context(|| format!("could not listen on {address}"))
}

/// Parses a duration: `10s`, `1m30s`.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    trainmesh_core::duration::parse(text)
}
