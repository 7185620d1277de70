//! Posts pods to the apiserver concurrently: one `kubectl` process for each would take a tenth of a second.

use axum::http::Request;
use futures::{StreamExt as _, stream};
use kube::Client;
use kube::client::Body;
use serde_json::Value;

/// Number of concurrent requests, as many as the controllers of a busy apiserver make.
const CONCURRENCY: usize = 16;

/// The apiserver's decision on a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub status: u16,
    /// Reason of a rejection; empty if the pod was accepted.
    pub reason: String,
}

/// A verdict with the response body.
#[derive(Clone, Debug)]
pub struct PodResponse {
    pub verdict: Verdict,
    /// The pod that would be stored, or the status of the rejection.
    pub body: Value,
}

impl PodResponse {
    pub fn accepted(&self) -> bool {
        (200..300).contains(&self.verdict.status)
    }

    /// Returns true if the webhook has changed the pod.
    pub fn patched(&self) -> bool {
        self.body.pointer("/metadata/annotations/trainmesh.dev~1applied").is_some()
    }
}

/// Posts each of `pods` to each of `namespaces` and passes the responses to `handle`, in the order of the pods.
pub async fn post<const N: usize>(
    client: &Client,
    namespaces: [&str; N],
    pods: impl Iterator<Item = Value>,
    mut handle: impl FnMut(usize, &[PodResponse; N]),
) {
    let responses =
        pods.map(|pod| {
            let text = pod.to_string();
            async move {
                futures::future::join_all(namespaces.map(|namespace| post_one(client, namespace, text.clone()))).await
            }
        });
    let mut responses = stream::iter(responses).buffered(CONCURRENCY).enumerate();
    while let Some((index, responses)) = responses.next().await {
        handle(index, &responses.try_into().expect("one response for each namespace"));
    }
}

async fn post_one(client: &Client, namespace: &str, pod: String) -> PodResponse {
    let uri = format!("/api/v1/namespaces/{namespace}/pods?dryRun=All");
    let request = Request::post(uri).header("Content-Type", "application/json").body(Body::from(pod.into_bytes()));
    let response = client.send(request.expect("a request")).await.expect("the apiserver responds");
    let status = response.status().as_u16();
    let body = response.into_body().collect_bytes().await.expect("a complete response");
    let body: Value = serde_json::from_slice(&body).expect("the apiserver responds with JSON");
    let reason = if status < 300 { "" } else { body["reason"].as_str().unwrap_or_default() };
    PodResponse { verdict: Verdict { status, reason: reason.to_owned() }, body }
}
