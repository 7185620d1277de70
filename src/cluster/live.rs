//! Reads from a live cluster: namespace labels, the configuration, and the result of creating a pod as a dry run.

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::core::{GroupVersionKind, PartialObjectMeta};
use kube::{Api, Client, ResourceExt as _};
use serde_json::Value;
use thiserror::Error;

use trainmesh_core::objects::{CONFIG_KEY, CONFIG_MAP, WEBHOOK_CONFIGURATION};
use trainmesh_core::workload::RuntimeReference;

/// An apiserver request that failed.
#[derive(Debug, Error)]
#[error("could not {step}")]
pub struct LiveError {
    step: String,
    source: Box<kube::Error>,
}

/// Returns the labels of `namespace`; `None` if it does not exist.
pub async fn labels(client: &Client, namespace: &str) -> Result<Option<BTreeMap<String, String>>, LiveError> {
    let api: Api<Namespace> = Api::all(client.clone());
    let found: Option<PartialObjectMeta<Namespace>> =
        api.get_metadata_opt(namespace).await.map_err(failed(|| format!("read namespace {namespace}")))?;
    Ok(found.map(|namespace| namespace.labels().clone()))
}

/// Returns the namespace that trainmesh is installed in: that of the Service in its `MutatingWebhookConfiguration`.
/// `None` if there is no such object, or if it uses a URL.
pub async fn installation_namespace(client: &Client) -> Result<Option<String>, LiveError> {
    let api: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let step = || format!("read MutatingWebhookConfiguration {WEBHOOK_CONFIGURATION}");
    let found = api.get_opt(WEBHOOK_CONFIGURATION).await.map_err(failed(step))?;
    let webhooks = found.and_then(|found| found.webhooks).unwrap_or_default();
    Ok(webhooks.into_iter().find_map(|webhook| webhook.client_config.service).map(|service| service.namespace))
}

/// Returns the text of the configuration of the installation in `namespace`; `None` if there is none.
pub async fn configuration(client: &Client, namespace: &str) -> Result<Option<String>, LiveError> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let found = api.get_opt(CONFIG_MAP).await.map_err(failed(|| format!("read ConfigMap {namespace}/{CONFIG_MAP}")))?;
    Ok(found.and_then(|map| map.data?.remove(CONFIG_KEY)))
}

/// Returns the manifest of a training runtime of Kubeflow Trainer; `None` if it does not exist, or Trainer is not installed.
pub async fn runtime(client: &Client, reference: &RuntimeReference) -> Result<Option<Value>, LiveError> {
    let RuntimeReference { namespace, name } = reference;
    let kind = if namespace.is_some() { "TrainingRuntime" } else { "ClusterTrainingRuntime" };
    let version = GroupVersionKind::gvk("trainer.kubeflow.org", "v1alpha1", kind);
    let resource = ApiResource::from_gvk(&version);
    let api: Api<DynamicObject> = match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    match api.get(name).await {
        Ok(found) => Ok(Some(serde_json::to_value(found).unwrap_or_default())),
        // A kind that is not installed is also not found, but without a reason.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(failed(|| format!("read {kind} {name}"))(error)),
    }
}

/// Returns `pod` as the apiserver would store it in `namespace`, after defaulting and all webhooks. Creates nothing.
pub async fn dry_run(client: &Client, namespace: &str, pod: &Value) -> Result<Value, LiveError> {
    let pods = ApiResource::erase::<k8s_openapi::api::core::v1::Pod>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &pods);
    let fail = failed(|| format!("create a pod in namespace {namespace} as a dry run"));
    let object: DynamicObject =
        serde_json::from_value(pod.clone()).map_err(|error| fail(kube::Error::SerdeError(error)))?;
    let parameters = PostParams { dry_run: true, ..PostParams::default() };
    let fail = failed(|| format!("create a pod in namespace {namespace} as a dry run"));
    let created = api.create(&parameters, &object).await.map_err(fail)?;
    Ok(serde_json::to_value(created).unwrap_or_default())
}

fn failed(step: impl FnOnce() -> String) -> impl FnOnce(kube::Error) -> LiveError {
    move |source| LiveError { step: step(), source: Box::new(source) }
}
