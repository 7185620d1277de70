//! The metrics of both servers, asked for through the apiserver, which reaches pods where a person does not.

use std::collections::BTreeMap;

use axum::http::Request;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::ListParams;
use kube::{Client, ResourceExt as _};

use super::super::list::list;
use super::super::request::{RequestError, send};
use super::deployed::{Pod, pods};

/// The pods of both servers.
const OURS: &str = "app.kubernetes.io/name=trainmesh,app.kubernetes.io/component in (webhook,controller)";
/// The port that tells of them, by the name that the Deployments give it.
const ADMIN: &str = "admin";
/// How each of our metrics begins.
const PREFIX: &str = "trainmesh_";
/// One that does not answer makes no other wait.
const AT_ONCE: usize = 8;

/// The replicas in `namespace` that are ready, and whether their metrics can be read.
pub(super) async fn shown(client: &Client, namespace: &str) -> Result<BTreeMap<String, bool>, RequestError> {
    let ours = ListParams::default().labels(OURS);
    let pods = list(&format!("list pods in {namespace}"), &pods(client, namespace), ours).await?;
    let places = pods.into_iter().filter(ready).filter_map(|pod| Some((pod.name_any(), port(&pod)?)));
    let asked = places.map(|(name, port)| async move {
        let step = format!("read the metrics of pods in {namespace} (get pods/proxy)");
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}:{port}/proxy/metrics");
        let request = Request::get(path).body(Vec::new()).map_err(|_| RequestError::Malformed(step.clone()))?;
        match send(&step, client.request_text(request)).await {
            Ok(text) => Ok((name, text.contains(PREFIX))),
            // Of what is forbidden nothing can be said; all else means that it was tried in vain.
            Err(error) if error.is_forbidden() => Err(error),
            Err(_) => Ok((name, false)),
        }
    });
    stream::iter(asked).buffered(AT_ONCE).try_collect().await
}

fn ready(pod: &Pod) -> bool {
    let mut conditions = pod.status.iter().flat_map(|status| &status.conditions);
    conditions.any(|condition| condition.kind == "Ready" && condition.status == "True")
}

fn port(pod: &Pod) -> Option<u16> {
    let mut ports = pod.spec.containers.iter().flat_map(|container| &container.ports);
    ports.find(|port| port.name.as_deref() == Some(ADMIN)).map(|port| port.container_port)
}
