//! Collects the facts that `doctor` evaluates, with the permissions of the calling user.
//!
//! A request that is forbidden or fails is not an error: the fact is recorded as not read, so that one part of the apiserver that
//! does not work leaves the other checks. Errors are only those that concern every request.

mod certificate;
mod exec_policy;
mod installed;
mod mesh;
mod metrics;
mod objects;
mod permissions;
mod pod_network;
mod pod_security;
mod webhooks;

use std::collections::BTreeMap;
use std::future::ready;

use futures::try_join;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};

use super::list::{list, list_metadata};
use super::request::{RequestError, find, send};
use super::secret::Secrets;
use super::{clock, config_map, failure};
use trainmesh_core::config::{ConfigUpdate, Configuration};
use trainmesh_core::doctor::{self, FieldProbe, InstallationFacts, PodNetwork, Readable, Version};
use trainmesh_core::objects::{LEASE, SERVICE, service_host};
use trainmesh_core::scope::{Installation, Mode};

type LabelsByNamespace = BTreeMap<String, BTreeMap<String, String>>;

/// Collects the facts about an installation.
pub async fn collect_facts(client: &Client, installation: &Installation) -> Result<InstallationFacts, RequestError> {
    let namespace = installation.namespace();
    // Requested first and alone: it needs no permission, so a failure means that the cluster is unreachable, unless an apiserver
    // responds that it is overloaded or not ready.
    let version = match version(client).await {
        Err(error) if !error.is_forbidden() && !failure::is_temporary(&error) => return Err(error),
        result => readable(ready(result)).await?,
    };
    let now = readable(clock::now(client)).await?;
    let (mut servers, deployments) = installed::servers(client, namespace).await?;
    let secrets = Secrets::new(client.clone(), namespace);
    let (webhook_configurations, certificate, endpoints, lease) = try_join!(
        readable(webhook_configurations(client)),
        readable(secrets.read(&servers.secret)),
        readable(installed::count_ready_replicas(client, namespace)),
        readable(read_lease(client, namespace)),
    )?;
    let (metrics, configuration, istiods, namespaces, exec_policy) = try_join!(
        readable(metrics::by_replica(client, namespace)),
        readable(config_map::read(client, namespace)),
        readable(installed::istiods(client)),
        readable(namespaces(client)),
        readable(exec_policy::read(client)),
    )?;
    let effective = effective_configuration(configuration.known());
    // The controller is required if it issues the certificate or terminates sidecars, even if its Deployment is
    // missing.
    servers.controller |= servers.own_certificate || effective.termination.enabled;
    let required = doctor::required_permissions(&effective, &servers, namespace);
    let opted_in = opted_in_namespaces(namespaces.known(), installation);
    let denied = readable(permissions::denied(client, &servers, namespace, required, &opted_in)).await?;
    let labels = namespaces.known().into_iter().flatten().map(|(_, labels)| labels);
    let selects_direct = doctor::selects_direct_traffic(&effective.mesh, labels);
    let pod_network = if selects_direct {
        readable(pod_network::read(client)).await?
    } else {
        Readable::Known(PodNetwork::default())
    };
    let configurations = webhook_configurations.known().map_or(&[][..], Vec::as_slice);
    let injector_ranges = if selects_direct {
        readable(mesh::injector_ranges(client, doctor::injector_config_maps(configurations))).await?
    } else {
        Readable::Known(Vec::new())
    };
    let mesh = readable(mesh::read(client, &opted_in)).await?;
    let validating_webhooks = readable(webhooks::validating(client)).await?;
    let field_probe = match (namespaces.known(), version.known()) {
        (Some(all), Some(version)) => webhooks::probe_fields(client, version, configurations, all, installation).await,
        _ => FieldProbe::default(),
    };
    let pod_security = pod_security::probe(client, &effective.fabric, &namespaces, installation).await;
    let unused_permissions = doctor::unused_permissions(&effective, &servers);
    let unused_permissions = readable(permissions::granted(client, &servers, namespace, unused_permissions)).await?;
    let host = service_host(SERVICE, namespace);
    Ok(InstallationFacts {
        installation: installation.clone(),
        version,
        servers,
        deployments,
        certificate: now.as_ref().and_then(|now| {
            certificate.map(|secret| certificate::certificate_status(secret.as_ref(), configurations, &host, *now))
        }),
        now,
        webhook_configurations,
        validating_webhooks,
        field_probe,
        endpoints,
        lease: lease.map(|lease| lease.map(|lease| lease.spec.unwrap_or_default())),
        metrics,
        configuration,
        denied,
        unused_permissions,
        exec_policy,
        istiods,
        namespaces,
        pod_network,
        injector_ranges,
        mesh,
        pod_security,
    })
}

/// Returns the response, or why there is none. Returns an error if every request would fail like this one.
async fn readable<T>(request: impl Future<Output = Result<T, RequestError>>) -> Result<Readable<T>, RequestError> {
    match request.await {
        Ok(response) => Ok(Readable::Known(response)),
        Err(error) if failure::is_general(&error) => Err(error),
        Err(error) => Ok(match error.forbidden_step() {
            Ok(step) => Readable::Forbidden(step),
            Err(error) => Readable::Failed(failure::brief(&error)),
        }),
    }
}

async fn version(client: &Client) -> Result<Version, RequestError> {
    let info = send("read the version of the apiserver", client.apiserver_version()).await?;
    Ok(Version { major: info.major, minor: info.minor, full: info.git_version })
}

async fn webhook_configurations(client: &Client) -> Result<Vec<MutatingWebhookConfiguration>, RequestError> {
    let api: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let mut all = list("list MutatingWebhookConfigurations", &api, ListParams::default()).await?;
    all.sort_by_key(MutatingWebhookConfiguration::name_any);
    Ok(all)
}

async fn read_lease(client: &Client, namespace: &str) -> Result<Option<Lease>, RequestError> {
    let api: Api<Lease> = Api::namespaced(client.clone(), namespace);
    find(&format!("read Lease {namespace}/{LEASE}"), api.get(LEASE)).await
}

async fn namespaces(client: &Client) -> Result<LabelsByNamespace, RequestError> {
    let api: Api<Namespace> = Api::all(client.clone());
    let all = list_metadata("list namespaces", &api, ListParams::default()).await?;
    // No pod can be created in a namespace that is being deleted.
    let active = all.into_iter().filter(|namespace| namespace.metadata.deletion_timestamp.is_none());
    Ok(active.map(|namespace| (namespace.name_any(), namespace.labels().clone())).collect())
}

/// Returns the configuration in effect: the embedded one if the cluster's is not readable or is rejected.
fn effective_configuration(update: Option<&ConfigUpdate>) -> Configuration {
    update.and_then(|update| update.parse().ok()).unwrap_or_default()
}

/// Returns the namespaces in which the controller of `installation` acts on pods.
fn opted_in_namespaces(namespaces: Option<&LabelsByNamespace>, installation: &Installation) -> Vec<String> {
    let is_opted_in = |(name, labels): &(&String, &BTreeMap<String, String>)| {
        matches!(installation.namespace_mode(name, labels), Ok(Mode::Enabled | Mode::IstioAux))
    };
    namespaces.into_iter().flatten().filter(is_opted_in).map(|(name, _)| name.clone()).collect()
}
