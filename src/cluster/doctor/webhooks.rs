//! Reads the validating webhooks, and sends a pod as a dry run in namespaces in which webhooks of others are called.

use std::collections::BTreeMap;

use futures::{StreamExt as _, stream};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhook, MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ApiResource, DynamicObject, ListParams, PostParams};
use kube::{Api, Client};
use serde_json::Value;

use super::super::list::list;
use super::super::request::{RequestError, send};
use super::LabelsByNamespace;
use trainmesh_core::doctor::{
    FieldProbe, ProbedFields, Version, control_namespaces, namespaces_to_probe, probe_pod, read_probe,
};
use trainmesh_core::scope::Installation;

/// Maximum number of concurrent dry runs: each passes all admission plugins and webhooks of the cluster.
const CONCURRENCY: usize = 4;

/// Reads the webhooks of all `ValidatingWebhookConfigurations`.
pub(super) async fn validating(client: &Client) -> Result<Vec<MutatingWebhook>, RequestError> {
    // The complete type would add to the size of the binary; the fields that doctor reads are those of a mutating webhook.
    let resource = ApiResource::erase::<ValidatingWebhookConfiguration>(&());
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let all = list("list ValidatingWebhookConfigurations", &api, ListParams::default()).await?;
    let webhooks = all.into_iter().filter_map(|mut found| match found.data.get_mut("webhooks").map(Value::take) {
        Some(Value::Array(webhooks)) => Some(webhooks),
        _ => None,
    });
    Ok(webhooks.flatten().filter_map(|webhook| serde_json::from_value(webhook).ok()).collect())
}

/// Sends the pod in the opted-in namespaces of `namespaces`, and in one without other webhooks.
pub(super) async fn probe_fields(
    client: &Client,
    version: &Version,
    configurations: &[MutatingWebhookConfiguration],
    namespaces: &LabelsByNamespace,
    installation: &Installation,
) -> FieldProbe {
    let pod = probe_pod(version);
    let opted_in = namespaces.iter().filter(|(name, labels)| installation.namespace_mode(name, labels).is_ok());
    let selected = namespaces_to_probe(configurations, opted_in);
    if selected.is_empty() {
        return FieldProbe::default();
    }
    let controls = control_namespaces(configurations, namespaces);
    let control = first_not_denied(controls, |namespace| send_pod(client, version, namespace, &pod)).await;
    let probes = selected.into_iter().map(|(namespace, called)| {
        let pod = &pod;
        async move {
            let result = send_pod(client, version, &namespace, pod).await;
            (namespace, (called, result))
        }
    });
    let namespaces: BTreeMap<_, _> = stream::iter(probes).buffer_unordered(CONCURRENCY).collect().await;
    FieldProbe { control, namespaces }
}

/// Sends the pod in one namespace after another until one does not deny it. Returns the last result.
async fn first_not_denied<'a, F>(
    namespaces: impl Iterator<Item = &'a String>,
    send: impl Fn(&'a String) -> F,
) -> Option<ProbedFields>
where
    F: Future<Output = ProbedFields>,
{
    let mut last = None;
    for namespace in namespaces {
        let result = send(namespace).await;
        let is_denied = result == ProbedFields::Unknown;
        last = Some(result);
        if !is_denied {
            break;
        }
    }
    last
}

async fn send_pod(client: &Client, version: &Version, namespace: &str, pod: &Value) -> ProbedFields {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &ApiResource::erase::<Pod>(&()));
    let Ok(pod) = serde_json::from_value(pod.clone()) else { return ProbedFields::Unknown };
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    match send(&format!("create a pod in namespace {namespace} as a dry run"), api.create(&dry_run, &pod)).await {
        Ok(created) => {
            serde_json::to_value(created).map_or(ProbedFields::Unknown, |created| read_probe(version, &created))
        }
        Err(RequestError::TimedOut(_)) => ProbedFields::TimedOut,
        Err(RequestError::Failed { .. } | RequestError::Malformed(_) | RequestError::TooLarge(_)) => {
            ProbedFields::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Each namespace has one result.
    #[rstest]
    #[case::the_first(vec![ProbedFields::Created(vec![])], Some(ProbedFields::Created(vec![])))]
    #[case::denied_in_the_first(
        vec![ProbedFields::Unknown, ProbedFields::Created(vec!["x"]), ProbedFields::Unknown],
        Some(ProbedFields::Created(vec!["x"]))
    )]
    #[case::no_response(vec![ProbedFields::TimedOut, ProbedFields::Created(vec![])], Some(ProbedFields::TimedOut))]
    #[case::denied_everywhere(vec![ProbedFields::Unknown, ProbedFields::Unknown], Some(ProbedFields::Unknown))]
    #[case::no_namespace(vec![], None)]
    #[tokio::test]
    async fn a_namespace_that_denies_the_pod_does_not_count(
        #[case] results: Vec<ProbedFields>,
        #[case] expected: Option<ProbedFields>,
    ) {
        let namespaces: Vec<String> = (0..results.len()).map(|index| index.to_string()).collect();
        let send = |namespace: &String| std::future::ready(results[namespace.parse::<usize>().unwrap()].clone());
        assert_eq!(first_not_denied(namespaces.iter(), send).await, expected);
    }
}
