//! What `doctor` judges, asked with the rights of the person who calls it.
//!
//! What is forbidden is hidden, no error: the answer says what could not be seen. Anything else that fails ends the
//! check-up, because a diagnosis from half of the answers would be a guess.

mod certificate;
mod deployed;
mod installed;
mod metrics;
mod pod_security;
mod reviews;

use std::collections::BTreeMap;

use futures::try_join;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};

use super::list::{list, list_metadata};
use super::request::{RequestError, find, send};
use super::secret::Secrets;
use super::{clock, config_map};
use trainmesh_core::config::{ConfigUpdate, Configuration};
use trainmesh_core::doctor::{self, Facts, Readable, Version};
use trainmesh_core::objects::{LEASE, SERVICE, service_host};
use trainmesh_core::scope::{Installation, Mode};

type Namespaces = BTreeMap<String, BTreeMap<String, String>>;

/// Looks at an installation.
pub async fn facts(client: &Client, installation: &Installation) -> Result<Facts, RequestError> {
    let namespace = installation.namespace();
    // First, alone: it needs no right, so that its failure says that there is no cluster to be asked.
    let version = version(client).await?;
    let now = clock::now(client).await?;
    let mut servers = installed::servers(client, namespace).await?;
    let secrets = Secrets::new(client.clone(), namespace);
    let (registrations, certificate, endpoints, lease) = try_join!(
        readable(registrations(client)),
        readable(secrets.read(&servers.secret)),
        readable(installed::ready(client, namespace)),
        readable(read_lease(client, namespace)),
    )?;
    let (metrics, configuration, istiods, namespaces) = try_join!(
        readable(metrics::shown(client, namespace)),
        readable(config_map::read(client, namespace)),
        readable(installed::istiods(client)),
        readable(namespaces(client)),
    )?;
    let in_force = in_force(configuration.known());
    // One that is missing although something depends on it is a failure, and no choice.
    servers.controller |= servers.own_certificate || in_force.termination.enabled;
    let needed = doctor::needed(&in_force, &servers, namespace);
    let served = served(namespaces.known(), installation);
    let denied = readable(reviews::denied(client, &servers, namespace, needed, &served)).await?;
    let pod_security = pod_security::probe(client, &in_force.fabric, &namespaces, installation).await;
    let unneeded = doctor::unneeded(&in_force, &servers);
    let unneeded = readable(reviews::granted(client, &servers, namespace, unneeded)).await?;
    let ours = registrations.known().map_or(&[][..], Vec::as_slice);
    let host = service_host(SERVICE, namespace);
    Ok(Facts {
        installation: installation.clone(),
        now,
        version,
        servers,
        certificate: certificate.map(|secret| certificate::serving(secret.as_ref(), ours, &host, now)),
        registrations,
        endpoints,
        lease: lease.map(|lease| lease.map(|lease| lease.spec.unwrap_or_default())),
        metrics,
        configuration,
        denied,
        unneeded,
        istiods,
        namespaces,
        pod_security,
    })
}

/// An answer, or that it is forbidden.
async fn readable<T>(request: impl Future<Output = Result<T, RequestError>>) -> Result<Readable<T>, RequestError> {
    match request.await {
        Ok(answer) => Ok(Readable::Known(answer)),
        Err(error) => error.forbidden_step().map(Readable::Forbidden),
    }
}

async fn version(client: &Client) -> Result<Version, RequestError> {
    let info = send("read the version of the apiserver", client.apiserver_version()).await?;
    Ok(Version { major: info.major, minor: info.minor, full: info.git_version })
}

async fn registrations(client: &Client) -> Result<Vec<MutatingWebhookConfiguration>, RequestError> {
    let api: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let mut all = list("list MutatingWebhookConfigurations", &api, ListParams::default()).await?;
    all.sort_by_key(MutatingWebhookConfiguration::name_any);
    Ok(all)
}

async fn read_lease(client: &Client, namespace: &str) -> Result<Option<Lease>, RequestError> {
    let api: Api<Lease> = Api::namespaced(client.clone(), namespace);
    find(&format!("read Lease {namespace}/{LEASE}"), api.get(LEASE)).await
}

async fn namespaces(client: &Client) -> Result<Namespaces, RequestError> {
    let api: Api<Namespace> = Api::all(client.clone());
    let all = list_metadata("list namespaces", &api, ListParams::default()).await?;
    Ok(all.into_iter().map(|it| (it.name_any(), it.labels().clone())).collect())
}

/// The configuration that the servers go by: the embedded one where the cluster's is hidden or refused.
fn in_force(update: Option<&ConfigUpdate>) -> Configuration {
    update.and_then(|update| update.configuration().ok()).unwrap_or_default()
}

/// The namespaces in whose pods the controller of `installation` acts.
fn served(namespaces: Option<&Namespaces>, installation: &Installation) -> Vec<String> {
    let served = |(name, labels): &(&String, &BTreeMap<String, String>)| {
        matches!(installation.namespace_mode(name, labels), Ok(Mode::Enabled | Mode::IstioAux))
    };
    namespaces.into_iter().flatten().filter(served).map(|(name, _)| name.clone()).collect()
}
