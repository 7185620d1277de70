//! `--cluster`: compares a preview with a live cluster.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use anstream::ColorChoice;
use anyhow::Context as _;
use kube::Client;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::installation::InstallationArguments;
use super::{print_note, stderr};
use crate::cluster::fabric::WatchedObjects;
use crate::cluster::fabric::survey::read_facts;
use crate::cluster::failure::{describe, is_forbidden};
use crate::cluster::live::LiveError;
use crate::cluster::mesh::read_objects;
use crate::cluster::quota::{self, NodeConstraint, QuotaFacts, QuotaQuery};
use crate::cluster::{client, live};
use trainmesh_core::accounting::{Basis, JobAccount, RoleAccount};
use trainmesh_core::cluster_facts::ClusterFacts;
use trainmesh_core::config::Configuration;
use trainmesh_core::preview::{LiveNamespace, PodReport, dry_run_pod};
use trainmesh_core::scope::Installation;
use trainmesh_core::workload::RuntimeReference;

/// Blocking access to a cluster.
pub(super) struct LiveCluster {
    runtime: Runtime,
    client: Client,
    /// Context of the kubeconfig, if it is not the current one.
    context: Option<String>,
    installation: Installation,
    /// Constraint of the nodes, read at the first comparison with quotas.
    nodes: OnceCell<NodeConstraint>,
}

impl InstallationArguments {
    /// Returns the installation given by the flag, or the one found in the cluster of `client`, which is that of `context`.
    pub(super) async fn discover(&self, client: &Client, context: Option<&str>) -> anyhow::Result<Installation> {
        if self.is_given() {
            return Ok(self.offline());
        }
        match live::installation_namespace(client).await {
            Ok(found) => Ok(found.map_or_else(|| self.offline(), Installation::from)),
            Err(error) if !is_forbidden(&error) => Err(error.into()),
            Err(error) => {
                let default = self.offline();
                let flag = "set --trainmesh-namespace to change it";
                print_note(
                    &mut stderr(ColorChoice::Auto),
                    format_args!(
                        "{}; assuming namespace {}; {flag}",
                        describe(&error, context).await,
                        default.namespace()
                    ),
                );
                Ok(default)
            }
        }
    }
}

impl LiveCluster {
    /// Connects to `context` or the current one of the kubeconfig that kubectl would use.
    pub(super) fn connect(context: Option<&str>, installation: &InstallationArguments) -> anyhow::Result<Self> {
        let runtime = runtime()?;
        let (client, installation) = runtime.block_on(describe_error(context, async {
            let client = client::connect(None, context).await?;
            let installation = installation.discover(&client, context).await?;
            Ok((client, installation))
        }))?;
        Ok(Self { runtime, client, context: context.map(str::to_owned), installation, nodes: OnceCell::new() })
    }

    /// Returns the installation.
    pub(super) fn installation(&self) -> &Installation {
        &self.installation
    }

    /// Reads the configuration; the embedded one if the cluster has none.
    pub(super) fn configuration(&self) -> anyhow::Result<Configuration> {
        let Some(text) = self.request(live::configuration(&self.client, self.installation.namespace()))? else {
            return Ok(Configuration::embedded());
        };
        Configuration::parse(&text).map_err(|problems| {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            anyhow::anyhow!("the cluster's configuration is invalid: {}", problems.join("; "))
        })
    }

    /// Returns the namespace of the context.
    pub(super) fn default_namespace(&self) -> &str {
        self.client.default_namespace()
    }

    /// Reads namespace `name`; `None` if it does not exist.
    pub(super) fn namespace(&self, name: &str) -> anyhow::Result<Option<LiveNamespace>> {
        self.request(live::namespace(&self.client, name))
    }

    /// Reads the pod `name`; `None` if it does not exist.
    pub(super) fn pod(&self, namespace: &str, name: &str) -> anyhow::Result<Option<Value>> {
        self.request(live::pod(&self.client, namespace, name))
    }

    /// Reads a training runtime; `None` if it does not exist.
    pub(super) fn runtime(&self, reference: &RuntimeReference) -> anyhow::Result<Option<Value>> {
        self.request(live::runtime(&self.client, reference))
    }

    /// Reads the cluster facts for fabrics and for the mesh, as far as permissions allow; those for fabrics only if they are
    /// enabled. Reads the claims of `namespaces`.
    pub(super) fn facts(&self, configuration: &Configuration, namespaces: &BTreeSet<String>) -> ClusterFacts {
        let facts = match WatchedObjects::new(&configuration.fabric) {
            Some(watched) => self.runtime.block_on(read_facts(&self.client, &watched, namespaces)),
            None => ClusterFacts::default(),
        };
        let mesh = self.runtime.block_on(read_objects(&self.client)).ok();
        ClusterFacts { mesh: mesh.map(Arc::new), ..facts }
    }

    /// Returns the pod of `report` as the cluster would create it.
    pub(super) fn dry_run(&self, report: &PodReport) -> anyhow::Result<Value> {
        let pod = dry_run_pod(&report.original);
        let (created, without_owner) = self.request(live::dry_run(&self.client, &report.namespace, &pod))?;
        if without_owner {
            let PodReport { kind, namespace, name, role, .. } = report;
            print_note(
                &mut stderr(ColorChoice::Auto),
                format_args!(
                    "{kind} {namespace}/{name} {role}: a webhook of the cluster requires the {kind} to exist; compared without it"
                ),
            );
        }
        Ok(created)
    }

    /// Compares the requests of the workload of `reports` with quotas. `created` contains the results of the dry runs.
    pub(super) fn account(&self, reports: &[PodReport], created: &[anyhow::Result<Value>]) -> Option<JobAccount> {
        let PodReport { namespace, kind, name, job, .. } = reports.first()?;
        let context = self.context.as_deref();
        let query = QuotaQuery { namespace, kind, name, queue: job.queue(), context };
        let nodes = self.nodes.get_or_init(|| self.runtime.block_on(quota::read_nodes(&self.client, context)));
        let QuotaFacts { constraints, unknown } = self.runtime.block_on(quota::read(&self.client, query, nodes));
        let roles = reports.iter().zip(created).map(|(report, created)| {
            let PodReport { role, replicas, original, .. } = report;
            match created {
                Ok(pod) => RoleAccount::new(role, *replicas, original, pod, Basis::DryRun),
                Err(error) => {
                    let account = RoleAccount::new(role, *replicas, original, &report.pod, Basis::Preview);
                    account.with_rejection(&error.to_string())
                }
            }
        });
        Some(JobAccount::new(roles.collect(), &constraints, unknown))
    }

    fn request<T>(&self, request: impl Future<Output = Result<T, LiveError>>) -> anyhow::Result<T> {
        let context = self.context.as_deref();
        self.runtime.block_on(describe_error(context, async { Ok(request.await?) }))
    }
}

/// Runs `work`, which uses a client for `context` or the current context, and describes its error for people.
pub(super) async fn describe_error<T>(
    context: Option<&str>,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    match work.await {
        Ok(value) => Ok(value),
        Err(error) => Err(anyhow::Error::msg(describe(error.as_ref(), context).await)),
    }
}

/// Reads the configuration of `context`. Users without permission get the embedded one, whose container names and methods are
/// the usual ones.
pub(super) async fn configuration_or_embedded(
    client: &Client,
    context: Option<&str>,
    installation: &Installation,
) -> anyhow::Result<Configuration> {
    let reason = match live::configuration(client, installation.namespace()).await {
        Ok(None) => return Ok(Configuration::embedded()),
        Ok(Some(text)) => match Configuration::parse(&text) {
            Ok(configuration) => return Ok(configuration),
            Err(_) => "the cluster's configuration is invalid".to_owned(),
        },
        Err(error) if !is_forbidden(&error) => return Err(error.into()),
        Err(error) => describe(&error, context).await,
    };
    print_note(&mut stderr(ColorChoice::Auto), format_args!("{reason}; using the embedded configuration"));
    Ok(Configuration::embedded())
}

/// Returns the note about a namespace, or a cluster, without pods.
pub(super) fn no_pods(namespace: Option<&str>) -> String {
    let place = namespace.map_or_else(|| "the cluster".to_owned(), |name| format!("namespace {name}"));
    format!("no pods in {place}: check the context and the namespace, which may not exist")
}

/// Returns a runtime for commands, which mostly wait for responses.
pub(super) fn runtime() -> anyhow::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().context("could not start the runtime")
}
