//! Reads what is running: trainmesh's two Deployments, the endpoints of the Service, and Istio's control planes.

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};

use super::super::list::list;
use super::super::request::{RequestError, find};
use super::objects::{Deployment, PodSpec, deployments};
use super::readable;
use trainmesh_core::doctor::{Istiod, Readable, Servers};
use trainmesh_core::objects::{CONTROLLER_DEPLOYMENT, SERVICE, WEBHOOK_DEPLOYMENT};

/// Name of the volume that mounts a certificate not managed by the controller.
const TLS: &str = "tls";
/// Label selector of Istio's control planes, whatever their revision.
const ISTIOD: &str = "app=istiod";
/// Environment variable that enables native sidecars.
const NATIVE: &str = "ENABLE_NATIVE_SIDECARS";

/// Reads how the servers are installed; assumes the chart's defaults if their Deployments are missing or not readable. The second
/// value is known if both could be read.
pub(super) async fn servers(client: &Client, namespace: &str) -> Result<(Servers, Readable<()>), RequestError> {
    let webhook = pod_spec(client, namespace, WEBHOOK_DEPLOYMENT).await?;
    let controller = pod_spec(client, namespace, CONTROLLER_DEPLOYMENT).await?;
    let unread = |spec: &Readable<Option<PodSpec>>| spec.known().is_none().then(|| spec.as_ref().map(|_| ()));
    let deployments = unread(&webhook).or_else(|| unread(&controller)).unwrap_or(Readable::Known(()));
    let webhook = webhook.into_known().flatten();
    let absent = controller.known().is_some_and(Option::is_none);
    let controller = controller.into_known().flatten();
    let account = |spec: &Option<PodSpec>| spec.as_ref().and_then(|spec| spec.service_account_name.clone());
    let defaults = Servers::default();
    let volume = webhook.iter().flat_map(|spec| &spec.volumes).find(|volume| volume.name == TLS);
    let secret = volume.and_then(|volume| volume.secret.as_ref()?.secret_name.clone());
    let servers = Servers {
        webhook_account: account(&webhook).unwrap_or(defaults.webhook_account),
        controller_account: account(&controller).unwrap_or(defaults.controller_account),
        own_certificate: secret.is_none(),
        // If neither is installed, both are expected.
        controller: webhook.is_none() || !absent,
        secret: secret.unwrap_or(defaults.secret),
    };
    Ok((servers, deployments))
}

/// Counts the ready replicas of the webhook; `None` if there is no Service.
pub(super) async fn count_ready_replicas(client: &Client, namespace: &str) -> Result<Option<usize>, RequestError> {
    let services: Api<Service> = Api::namespaced(client.clone(), namespace);
    if find(&format!("read Service {namespace}/{SERVICE}"), services.get_metadata(SERVICE)).await?.is_none() {
        return Ok(None);
    }
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), namespace);
    let selector = ListParams::default().labels(&format!("kubernetes.io/service-name={SERVICE}"));
    let slices = list(&format!("list EndpointSlices in {namespace}"), &slices, selector).await?;
    // In a dual-stack cluster each replica is in one slice per address family.
    let count_endpoints = |family: &str| {
        let slices = slices.iter().filter(|slice| slice.address_type == family);
        let endpoints = slices.flat_map(|slice| slice.endpoints.iter().flatten());
        // An endpoint without the condition counts as ready.
        endpoints
            .filter(|endpoint| endpoint.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or(true))
            .count()
    };
    Ok(Some(count_endpoints("IPv4").max(count_endpoints("IPv6"))))
}

/// Lists Istio's control planes in this cluster.
pub(super) async fn istiods(client: &Client) -> Result<Vec<Istiod>, RequestError> {
    let (api, istiods) = (deployments(client, None), ListParams::default().labels(ISTIOD));
    let all = list("list Istio's Deployments in all namespaces", &api, istiods).await?;
    let istiod = |deployment: Deployment| {
        let name = format!("{}/{}", deployment.namespace().unwrap_or_default(), deployment.name_any());
        let mut variables = deployment.spec.template.spec.containers.into_iter().flat_map(|container| container.env);
        let native = variables.find_map(|variable| if variable.name == NATIVE { variable.value } else { None });
        Istiod { name, native }
    };
    Ok(all.into_iter().map(istiod).collect())
}

async fn pod_spec(client: &Client, namespace: &str, name: &str) -> Result<Readable<Option<PodSpec>>, RequestError> {
    let step = format!("read Deployment {namespace}/{name}");
    let spec = async {
        let deployment = find(&step, deployments(client, Some(namespace)).get(name)).await?;
        Ok(deployment.map(|deployment| deployment.spec.template.spec))
    };
    readable(spec).await
}
