//! `--cluster`: a preview held against a live cluster.

use std::collections::BTreeMap;

use anstream::ColorChoice;
use anyhow::Context as _;
use kube::Client;
use tokio::runtime::{Builder, Runtime};

use super::installation::InstallationArguments;
use super::{note, stderr};
use crate::cluster::fabric::survey::survey;
use crate::cluster::{client, live};
use trainmesh_core::cluster_facts::{ClusterFacts, ReferencedObjects};
use trainmesh_core::config::Configuration;
use trainmesh_core::error::chain;
use trainmesh_core::preview::{Drift, PodReport, drift, probe};
use trainmesh_core::scope::Installation;

/// A cluster that is asked one question after another.
pub(super) struct Live {
    runtime: Runtime,
    client: Client,
    installation: Installation,
}

impl InstallationArguments {
    /// The installation, as given or as the cluster of `client` shows it.
    pub(super) async fn discover(&self, client: &Client) -> Installation {
        if self.is_given() {
            return self.offline();
        }
        match live::installation(client).await {
            Ok(found) => found.map_or_else(|| self.offline(), Installation::from),
            Err(error) => {
                let default = self.offline();
                let flag = "--trainmesh-namespace names another";
                note(
                    &mut stderr(ColorChoice::Auto),
                    format_args!("{}: assuming namespace {}; {flag}", chain(&error), default.namespace()),
                );
                default
            }
        }
    }
}

impl Live {
    /// Connects by the usual kubeconfig rules, to `context` or the current one.
    pub(super) fn connect(context: Option<&str>, installation: &InstallationArguments) -> anyhow::Result<Self> {
        let runtime = runtime()?;
        let client = runtime.block_on(client::connect(None, context))?;
        let installation = runtime.block_on(installation.discover(&client));
        Ok(Self { runtime, client, installation })
    }

    /// The installation.
    pub(super) fn installation(&self) -> &Installation {
        &self.installation
    }

    /// The configuration in force; the embedded one where the cluster has none.
    pub(super) fn configuration(&self) -> anyhow::Result<Configuration> {
        let Some(text) = self.runtime.block_on(live::configuration(&self.client, self.installation.namespace()))?
        else {
            return Ok(Configuration::embedded());
        };
        Configuration::parse(&text).map_err(|problems| {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            anyhow::anyhow!("the cluster's configuration is rejected: {}", problems.join("; "))
        })
    }

    /// The labels of `namespace`; `None` where the cluster has no such namespace.
    pub(super) fn labels(&self, namespace: &str) -> anyhow::Result<Option<BTreeMap<String, String>>> {
        Ok(self.runtime.block_on(live::labels(&self.client, namespace))?)
    }

    /// What fabrics need to know of the cluster, as far as it may be read; nothing where they are off.
    pub(super) fn facts(&self, configuration: &Configuration) -> ClusterFacts {
        let fabric = &configuration.fabric;
        if !fabric.enabled {
            return ClusterFacts::default();
        }
        self.runtime.block_on(survey(&self.client, &ReferencedObjects::of(&fabric.profiles)))
    }

    /// In what the cluster's own answer for the pod of `report` differs from the preview.
    pub(super) fn compare(&self, report: &PodReport) -> anyhow::Result<Vec<Drift>> {
        let pod = probe(&report.original);
        let created = self.runtime.block_on(live::dry_run(&self.client, &report.namespace, &pod))?;
        Ok(drift(report, &created))
    }
}

/// What a command asks a cluster with: calls that mostly wait.
pub(super) fn runtime() -> anyhow::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().context("could not start the runtime")
}
