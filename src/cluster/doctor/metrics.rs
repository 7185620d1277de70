//! Reads the metrics of both servers through the apiserver's pod proxy, because a user's machine rarely reaches pods
//! directly.

use std::collections::BTreeMap;

use axum::http::Request;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::ListParams;
use kube::{Client, ResourceExt as _};

use super::super::list::list;
use super::super::request::{RequestError, send};
use super::objects::{Pod, pods};

/// Label selector of the pods of both servers.
const SELECTOR: &str = "app.kubernetes.io/name=trainmesh,app.kubernetes.io/component in (webhook,controller)";
/// Name of the port that serves metrics.
const ADMIN: &str = "admin";
/// Prefix of trainmesh's metrics.
const PREFIX: &str = "trainmesh_";
/// Maximum number of concurrent requests, so that a pod that does not respond delays no other.
const CONCURRENCY: usize = 8;

/// Returns the ready replicas in `namespace`, each with true if its metrics are readable.
pub(super) async fn by_replica(client: &Client, namespace: &str) -> Result<BTreeMap<String, bool>, RequestError> {
    let selector = ListParams::default().labels(SELECTOR);
    let pods = list(&format!("list pods in {namespace}"), &pods(client, namespace), selector).await?;
    let replicas = pods.into_iter().filter(is_ready).filter_map(|pod| Some((pod.name_any(), port(&pod)?)));
    let requests = replicas.map(|(name, port)| async move {
        let step = format!("read the metrics of pods in {namespace} (get pods/proxy)");
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}:{port}/proxy/metrics");
        let request = Request::get(path).body(Vec::new()).map_err(|_| RequestError::Malformed(step.clone()))?;
        match send(&step, client.request_text(request)).await {
            Ok(text) => Ok((name, text.contains(PREFIX))),
            // A forbidden request leaves the result unknown; any other error means that the metrics are not served.
            Err(error) if error.is_forbidden() => Err(error),
            Err(_) => Ok((name, false)),
        }
    });
    stream::iter(requests).buffered(CONCURRENCY).try_collect().await
}

fn is_ready(pod: &Pod) -> bool {
    let mut conditions = pod.status.iter().flat_map(|status| &status.conditions);
    conditions.any(|condition| condition.kind == "Ready" && condition.status == "True")
}

fn port(pod: &Pod) -> Option<u16> {
    let mut ports = pod.spec.containers.iter().flat_map(|container| &container.ports);
    ports.find(|port| port.name.as_deref() == Some(ADMIN)).map(|port| port.container_port)
}
