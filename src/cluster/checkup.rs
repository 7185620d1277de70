//! What `doctor` judges, asked with the rights of the person who calls it.
//!
//! What is forbidden is hidden, no error: the answer says what could not be seen. Anything else that fails ends the
//! check-up, because a diagnosis from half of the answers would be a guess.

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
use kube::core::Status;
use kube::{Api, Client, ResourceExt as _};

use super::ask::{AskError, answer, found};
use super::list::{list, list_metadata};
use super::secret::Secrets;
use super::{clock, config_map, lease};
use crate::config::Configuration;
use crate::doctor::{self, Facts, Seen, Version};
use crate::reload::Offer;
use crate::scope::{Installation, Mode};

type Namespaces = BTreeMap<String, BTreeMap<String, String>>;

/// Looks at an installation.
pub async fn facts(client: &Client, installation: &Installation) -> Result<Facts, AskError> {
    let namespace = installation.namespace();
    // First, alone: it needs no right, so that its failure says that there is no cluster to be asked.
    let version = version(client).await?;
    let now = clock::now(client).await?;
    let mut servers = installed::servers(client, namespace).await?;
    let secrets = Secrets::new(client.clone(), namespace);
    let (registrations, certificate, endpoints, lease) = try_join!(
        seen(registrations(client)),
        seen(secrets.read(&servers.secret)),
        seen(installed::ready(client, namespace)),
        seen(read_lease(client, namespace)),
    )?;
    let (metrics, configuration, istiods, namespaces) = try_join!(
        seen(metrics::shown(client, namespace)),
        seen(config_map::read(client, namespace)),
        seen(installed::istiods(client)),
        seen(namespaces(client)),
    )?;
    let in_force = in_force(configuration.known());
    // One that is missing although something depends on it is a failure, and no choice.
    servers.controller |= servers.own_certificate || in_force.termination.enabled;
    let needed = doctor::needed(&in_force, &servers, namespace);
    let served = served(namespaces.known(), installation);
    let denied = seen(reviews::denied(client, &servers, namespace, needed, &served)).await?;
    let pod_security = pod_security::probe(client, &in_force.fabric, &namespaces, installation).await;
    let unneeded = doctor::unneeded(&in_force, &servers);
    let unneeded = seen(reviews::granted(client, &servers, namespace, unneeded)).await?;
    Ok(Facts {
        installation: installation.clone(),
        now,
        version,
        registrations,
        servers,
        certificate,
        endpoints,
        lease: match lease {
            Seen::Known(lease) => Seen::Known(lease.map(|lease| lease.spec.unwrap_or_default())),
            Seen::Hidden(question) => Seen::Hidden(question),
        },
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
async fn seen<T>(asked: impl Future<Output = Result<T, AskError>>) -> Result<Seen<T>, AskError> {
    match asked.await {
        Ok(answer) => Ok(Seen::Known(answer)),
        Err(AskError::Failed { step, source }) if is(&source, Status::is_forbidden) => Ok(Seen::Hidden(step)),
        Err(error) => Err(error),
    }
}

fn is(error: &kube::Error, is: impl Fn(&Status) -> bool) -> bool {
    matches!(error, kube::Error::Api(status) if is(status))
}

async fn version(client: &Client) -> Result<Version, AskError> {
    let info = answer("read the version of the apiserver", client.apiserver_version()).await?;
    Ok(Version { major: info.major, minor: info.minor, full: info.git_version })
}

async fn registrations(client: &Client) -> Result<Vec<MutatingWebhookConfiguration>, AskError> {
    let api: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let mut all = list("list MutatingWebhookConfigurations", &api, ListParams::default()).await?;
    all.sort_by_key(MutatingWebhookConfiguration::name_any);
    Ok(all)
}

async fn read_lease(client: &Client, namespace: &str) -> Result<Option<Lease>, AskError> {
    let api: Api<Lease> = Api::namespaced(client.clone(), namespace);
    found(&format!("read Lease {namespace}/{}", lease::NAME), api.get(lease::NAME)).await
}

async fn namespaces(client: &Client) -> Result<Namespaces, AskError> {
    let api: Api<Namespace> = Api::all(client.clone());
    let all = list_metadata("list namespaces", &api, ListParams::default()).await?;
    Ok(all.into_iter().map(|it| (it.name_any(), it.labels().clone())).collect())
}

/// The configuration that the servers go by: the embedded one where the cluster's is hidden or refused.
fn in_force(offer: Option<&Offer>) -> Configuration {
    match offer {
        Some(Offer::Text(text)) => Configuration::parse(text).unwrap_or_default(),
        _ => Configuration::embedded(),
    }
}

/// The namespaces in whose pods the controller of `installation` acts.
fn served(namespaces: Option<&Namespaces>, installation: &Installation) -> Vec<String> {
    let served = |(name, labels): &(&String, &BTreeMap<String, String>)| {
        matches!(installation.namespace_mode(name, labels), Ok(Mode::Enabled | Mode::IstioAux))
    };
    namespaces.into_iter().flatten().filter(served).map(|(name, _)| name.clone()).collect()
}
