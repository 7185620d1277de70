//! `--cluster`: compares a preview with a live cluster.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::future::ready;
use std::sync::Arc;

use anstream::ColorChoice;
use anyhow::Context as _;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::Client;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::installation::InstallationArguments;
use super::{print_note, stderr};
use crate::cluster::fabric::WatchedObjects;
use crate::cluster::fabric::survey::read_facts;
use crate::cluster::failure::{describe, is_forbidden, is_temporary};
use crate::cluster::live::LiveError;
use crate::cluster::mesh::read_objects;
use crate::cluster::quota::{self, NodeConstraint, QuotaFacts, QuotaQuery};
use crate::cluster::{client, live};
use trainmesh_core::accounting::{Basis, JobAccount, RoleAccount};
use trainmesh_core::cluster_facts::ClusterFacts;
use trainmesh_core::config::Configuration;
use trainmesh_core::gang::WorkloadKey;
use trainmesh_core::gang::object::GroupApi;
use trainmesh_core::preview::{LiveNamespace, PodReport, dry_run_pod, webhook_absence};
use trainmesh_core::scope::Installation;
use trainmesh_core::workload::RuntimeReference;

/// Consequence of a configuration that is missing or could not be read.
const EMBEDDED: &str = "using the embedded configuration";

/// Response to the request for the webhook configuration.
type WebhookResponse = Result<Option<MutatingWebhookConfiguration>, LiveError>;

/// Blocking access to a cluster.
pub(super) struct LiveCluster {
    runtime: Runtime,
    client: Client,
    /// Context of the kubeconfig, if it is not the current one.
    context: Option<String>,
    installation: Installation,
    /// True if the user named the namespace of the installation.
    is_named: bool,
    /// Reason why the apiserver calls no webhook of trainmesh, read with the installation or at its first use.
    webhook_absence: OnceCell<Option<&'static str>>,
    /// Constraint of the nodes, read at the first comparison with quotas.
    nodes: OnceCell<NodeConstraint>,
}

impl InstallationArguments {
    /// Returns the installation given by the flag, or the one found in the cluster of `client`, which is that of `context`.
    pub(super) async fn discover(&self, client: &Client, context: Option<&str>) -> anyhow::Result<Installation> {
        if self.is_given() {
            return Ok(self.offline());
        }
        self.locate(live::webhook_configuration(client).await, context).await
    }

    /// Returns the installation that `found` shows, the result of reading the webhook configuration.
    async fn locate(&self, found: WebhookResponse, context: Option<&str>) -> anyhow::Result<Installation> {
        match found {
            Ok(found) => {
                let namespace = live::installation_namespace(found.as_ref()).map(str::to_owned);
                Ok(namespace.map_or_else(|| self.offline(), Installation::from))
            }
            Err(error) if !is_forbidden(&error) => Err(error.into()),
            Err(error) => Ok(self.assume(&describe(&error, context).await)),
        }
    }

    /// Like [`Self::discover`], for reports that are right as far as they go: assumes the default if the request fails for a while. The
    /// second value is true then.
    pub(super) async fn discover_or_assume(
        &self,
        client: &Client,
        context: Option<&str>,
    ) -> anyhow::Result<(Installation, bool)> {
        match self.discover(client, context).await {
            Ok(found) => Ok((found, false)),
            Err(error) if is_temporary(error.as_ref()) => {
                Ok((self.assume(&describe(error.as_ref(), context).await), true))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the default, with a note about the reason.
    fn assume(&self, reason: &str) -> Installation {
        let default = self.offline();
        let flag = "set --trainmesh-namespace to change it";
        let note = format_args!("{reason}; assuming namespace {}; {flag}", default.namespace());
        print_note(&mut stderr(ColorChoice::Auto), note);
        default
    }
}

impl LiveCluster {
    /// Connects to `context` or the current one of the kubeconfig that kubectl would use.
    pub(super) fn connect(context: Option<&str>, installation: &InstallationArguments) -> anyhow::Result<Self> {
        let runtime = runtime()?;
        let is_named = installation.is_given();
        let (client, installation, webhook_absence) = runtime.block_on(describe_error(context, async {
            let client = client::connect(None, context).await?;
            if is_named {
                return Ok((client, installation.offline(), OnceCell::new()));
            }
            let found = live::webhook_configuration(&client).await;
            let absence = OnceCell::from(known_absence(&found));
            Ok((client, installation.locate(found, context).await?, absence))
        }))?;
        let (context, nodes) = (context.map(str::to_owned), OnceCell::new());
        Ok(Self { runtime, client, context, installation, is_named, webhook_absence, nodes })
    }

    /// Returns the installation.
    pub(super) fn installation(&self) -> &Installation {
        &self.installation
    }

    /// Returns why the apiserver calls no webhook of trainmesh; `None` if it does, or if the user may not read that.
    pub(super) fn webhook_absence(&self) -> Option<&'static str> {
        let read = || known_absence(&self.runtime.block_on(live::webhook_configuration(&self.client)));
        *self.webhook_absence.get_or_init(read)
    }

    /// Reads the configuration; the embedded one if the cluster has none.
    pub(super) fn configuration(&self) -> anyhow::Result<Configuration> {
        let text = self.request(live::configuration(&self.client, self.installation.namespace()))?;
        text.map_or_else(|| Ok(Configuration::embedded()), |text| parse(&text))
    }

    /// Like [`Self::configuration`], with a note if the cluster has none, for a pod that exists: its annotations show what was
    /// applied, so that a user who may not read the configuration gets `None`, with a note.
    pub(super) fn permitted_configuration(&self) -> anyhow::Result<Option<Configuration>> {
        let namespace = self.installation.namespace();
        let note = |reason: &str, consequence: &str| {
            print_note(&mut stderr(ColorChoice::Auto), format_args!("{reason}; {consequence}"));
        };
        match self.runtime.block_on(live::configuration(&self.client, namespace)) {
            Err(error) if is_forbidden(&error) => {
                let reason = self.runtime.block_on(describe(&error, self.context.as_deref()));
                note(&reason, "only what the annotations of the pod record is shown");
                Ok(None)
            }
            found => {
                let Some(text) = self.request(ready(found))? else {
                    // Without its webhook, the report names this cause, and such a cluster usually has no configuration.
                    if self.is_named || self.webhook_absence().is_none() {
                        note(&missing_configuration(namespace), EMBEDDED);
                    }
                    return Ok(Some(Configuration::embedded()));
                };
                parse(&text).map(Some)
            }
        }
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

    /// Reads a workload; `None` if it does not exist.
    pub(super) fn workload(&self, key: &WorkloadKey) -> anyhow::Result<Option<Value>> {
        self.request(live::workload(&self.client, key))
    }

    /// Returns true if `namespace` has Kueue's `LocalQueue` for jobs that name none.
    pub(super) fn has_default_queue(&self, namespace: &str) -> anyhow::Result<bool> {
        self.request(async { Ok(quota::has_default_queue(&self.client, namespace).await?) })
    }

    /// Reads a `PodGroup`; `None` if it does not exist.
    pub(super) fn pod_group(&self, api: GroupApi, namespace: &str, name: &str) -> anyhow::Result<Option<Value>> {
        self.request(live::pod_group(&self.client, api, namespace, name))
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

/// Returns why the apiserver calls no webhook of trainmesh; `None` if it does, or if the user may not read that.
fn known_absence(found: &WebhookResponse) -> Option<&'static str> {
    found.as_ref().ok().and_then(|found| webhook_absence(found.as_ref()))
}

/// Parses the configuration of the cluster.
fn parse(text: &str) -> anyhow::Result<Configuration> {
    Configuration::parse(text).map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        anyhow::anyhow!("the cluster's configuration is invalid: {}", problems.join("; "))
    })
}

/// Returns the note about the missing configuration of an installation in `namespace`.
fn missing_configuration(namespace: &str) -> String {
    format!("ConfigMap {namespace}/trainmesh-config does not exist; set --trainmesh-namespace to change the namespace")
}

/// When a command notes that the cluster has no configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AbsenceNote {
    /// Always: the command acts by the configuration.
    Always,
    /// If the user named the namespace of the installation, which may be wrong.
    NamespaceGiven,
}

/// Reads the configuration of `context`. Users without permission get the embedded one, whose container names and methods are
/// the usual ones.
async fn configuration_or_embedded(
    client: &Client,
    context: Option<&str>,
    installation: &Installation,
    notes_absence: bool,
) -> anyhow::Result<Configuration> {
    let namespace = installation.namespace();
    let reason = match live::configuration(client, namespace).await {
        Ok(None) if !notes_absence => return Ok(Configuration::embedded()),
        Ok(None) => missing_configuration(namespace),
        Ok(Some(text)) => match Configuration::parse(&text) {
            Ok(configuration) => return Ok(configuration),
            Err(_) => "the cluster's configuration is invalid".to_owned(),
        },
        Err(error) if !is_forbidden(&error) => return Err(error.into()),
        Err(error) => describe(&error, context).await,
    };
    print_note(&mut stderr(ColorChoice::Auto), format_args!("{reason}; {EMBEDDED}"));
    Ok(Configuration::embedded())
}

/// Finds the installation and reads its configuration, for reports that are right as far as they go: assumes the usual values if a
/// request fails for a while. The second value is true then.
pub(super) async fn configuration_or_assumed(
    client: &Client,
    context: Option<&str>,
    arguments: &InstallationArguments,
    absence: AbsenceNote,
) -> anyhow::Result<(Configuration, bool)> {
    let (installation, is_assumed) = arguments.discover_or_assume(client, context).await?;
    let notes_absence = absence == AbsenceNote::Always || arguments.is_given();
    match configuration_or_embedded(client, context, &installation, notes_absence).await {
        Ok(configuration) => Ok((configuration, is_assumed)),
        Err(error) if is_temporary(error.as_ref()) => {
            let reason = describe(error.as_ref(), context).await;
            print_note(&mut stderr(ColorChoice::Auto), format_args!("{reason}; {EMBEDDED}"));
            Ok((Configuration::embedded(), true))
        }
        Err(error) => Err(error),
    }
}

/// Returns the note about a namespace, or a cluster, without pods.
pub(super) fn no_pods(namespace: Option<&str>) -> String {
    match namespace {
        None => "no pods in the cluster: check the context".to_owned(),
        Some(name) => format!("no pods in namespace {name}: check the context and the namespace, which may not exist"),
    }
}

/// Returns a runtime for commands, which mostly wait for responses.
pub(super) fn runtime() -> anyhow::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().context("could not start the runtime")
}
