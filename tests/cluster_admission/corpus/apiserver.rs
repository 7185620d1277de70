//! Posts pods straight to the apiserver, many at a time: a run of `kubectl` for each would take a tenth of a second.

use axum::http::Request;
use futures::{StreamExt as _, stream};
use kube::Client;
use kube::client::Body;
use serde_json::Value;

/// As many as an apiserver's own controllers post at a time on a busy day.
const AT_A_TIME: usize = 16;

/// What the apiserver made of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub status: u16,
    /// Its code word for a refusal.
    pub reason: String,
}

/// A verdict, and what is told beside it.
#[derive(Clone, Debug)]
pub struct Answer {
    pub verdict: Verdict,
    /// The pod that would be stored, or the refusal.
    pub body: Value,
}

impl Answer {
    pub fn accepted(&self) -> bool {
        (200..300).contains(&self.verdict.status)
    }

    /// Whether the webhook has changed the pod.
    pub fn patched(&self) -> bool {
        self.body.pointer("/metadata/annotations/trainmesh.dev~1applied").is_some()
    }
}

/// Posts each of `pods` into each of `namespaces`; the answers come in the order of the pods.
pub async fn post<const N: usize>(
    client: &Client,
    namespaces: [&str; N],
    pods: impl Iterator<Item = Value>,
    mut judge: impl FnMut(usize, &[Answer; N]),
) {
    let answers = pods.map(|pod| {
        let text = pod.to_string();
        async move { futures::future::join_all(namespaces.map(|namespace| one(client, namespace, text.clone()))).await }
    });
    let mut answers = stream::iter(answers).buffered(AT_A_TIME).enumerate();
    while let Some((index, answers)) = answers.next().await {
        judge(index, &answers.try_into().expect("one answer for each namespace"));
    }
}

async fn one(client: &Client, namespace: &str, pod: String) -> Answer {
    let uri = format!("/api/v1/namespaces/{namespace}/pods?dryRun=All");
    let request = Request::post(uri).header("Content-Type", "application/json").body(Body::from(pod.into_bytes()));
    let answer = client.send(request.expect("a request")).await.expect("the apiserver answers");
    let status = answer.status().as_u16();
    let body = answer.into_body().collect_bytes().await.expect("a whole answer");
    let body: Value = serde_json::from_slice(&body).expect("the apiserver answers in JSON");
    let reason = if status < 300 { "" } else { body["reason"].as_str().unwrap_or_default() };
    Answer { verdict: Verdict { status, reason: reason.to_owned() }, body }
}
