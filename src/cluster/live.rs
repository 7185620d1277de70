//! Reads from a live cluster: namespace labels, the configuration, a pod, and the result of creating one as a dry run.

use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::core::params::GetParams;
use kube::core::{GroupVersionKind, PartialObjectMeta, Request};
use kube::{Api, Client, Resource as _};
use serde_json::Value;
use thiserror::Error;

use super::request::{RequestError, find, send};
use trainmesh_core::gang::WorkloadKey;
use trainmesh_core::gang::object::GroupApi;
use trainmesh_core::objects::{CONFIG_KEY, CONFIG_MAP, WEBHOOK_CONFIGURATION};
use trainmesh_core::preview::{LiveNamespace, without_owners};
use trainmesh_core::scope;
use trainmesh_core::workload::RuntimeReference;

/// Reason why a read from the cluster failed.
#[derive(Debug, Error)]
pub enum LiveError {
    /// The request failed.
    #[error("could not {step}")]
    Request {
        /// The request, as a verb phrase.
        step: String,
        /// Cause.
        source: Box<kube::Error>,
    },
    /// The request failed, or there was no response in time.
    #[error(transparent)]
    Bounded(#[from] RequestError),
    /// The object is larger than the limit.
    #[error("could not {0}: it is larger than the limit of 4 MiB")]
    TooLarge(String),
}

/// Maximum length of the JSON text of an object, in bytes. The apiserver accepts requests of 3 MiB and adds status and
/// managed fields.
const MAX_OBJECT: usize = 4 << 20;

/// Returns namespace `name`; `None` if it does not exist.
pub async fn namespace(client: &Client, name: &str) -> Result<Option<LiveNamespace>, LiveError> {
    let api: Api<Namespace> = Api::all(client.clone());
    let found = find(&format!("read namespace {name}"), api.get_metadata(name)).await?;
    Ok(found.map(|PartialObjectMeta { metadata, .. }| LiveNamespace {
        opted_in_since: opted_in_since(metadata.managed_fields.as_deref().unwrap_or_default()),
        labels: metadata.labels.unwrap_or_default(),
    }))
}

/// Returns the pod `name`; `None` if it does not exist.
pub async fn pod(client: &Client, namespace: &str, name: &str) -> Result<Option<Value>, LiveError> {
    object(client, &ApiResource::erase::<Pod>(&()), namespace, name).await
}

/// Returns the workload that `key` identifies; `None` if it does not exist.
pub async fn workload(client: &Client, key: &WorkloadKey) -> Result<Option<Value>, LiveError> {
    let kind = GroupVersionKind::gvk(key.group, key.version, key.kind);
    object(client, &ApiResource::from_gvk_with_plural(&kind, key.resource), &key.namespace, &key.name).await
}

/// Returns the `PodGroup` of `api`; `None` if it does not exist, or if the cluster does not serve the API.
pub async fn pod_group(
    client: &Client,
    api: GroupApi,
    namespace: &str,
    name: &str,
) -> Result<Option<Value>, LiveError> {
    object(client, &super::gang::resource(api), namespace, name).await
}

/// Returns the `MutatingWebhookConfiguration` of trainmesh; `None` if it does not exist.
pub async fn webhook_configuration(client: &Client) -> Result<Option<MutatingWebhookConfiguration>, LiveError> {
    let api: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let step = format!("read MutatingWebhookConfiguration {WEBHOOK_CONFIGURATION}");
    Ok(find(&step, api.get(WEBHOOK_CONFIGURATION)).await?)
}

/// Returns the namespace that trainmesh is installed in: that of the Service in `found`, its `MutatingWebhookConfiguration`.
/// `None` if the object does not exist or refers to a URL.
#[must_use]
pub fn installation_namespace(found: Option<&MutatingWebhookConfiguration>) -> Option<&str> {
    let webhooks = found.and_then(|found| found.webhooks.as_deref()).unwrap_or_default();
    webhooks.iter().find_map(|webhook| webhook.client_config.service.as_ref()).map(|service| service.namespace.as_str())
}

/// Returns the text of the configuration of the installation in `namespace`; `None` if there is none.
pub async fn configuration(client: &Client, namespace: &str) -> Result<Option<String>, LiveError> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let found = find(&format!("read ConfigMap {namespace}/{CONFIG_MAP}"), api.get(CONFIG_MAP)).await?;
    Ok(found.and_then(|map| map.data?.remove(CONFIG_KEY)))
}

/// Returns the manifest of a training runtime of Kubeflow Trainer; `None` if it does not exist, or if Trainer is not
/// installed.
pub async fn runtime(client: &Client, reference: &RuntimeReference) -> Result<Option<Value>, LiveError> {
    let RuntimeReference { namespace, name } = reference;
    let kind = if namespace.is_some() { "TrainingRuntime" } else { "ClusterTrainingRuntime" };
    let version = GroupVersionKind::gvk("trainer.kubeflow.org", "v1alpha1", kind);
    let resource = ApiResource::from_gvk(&version);
    let api: Api<DynamicObject> = match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let found = find(&format!("read {kind} {name}"), api.get(name)).await?;
    Ok(found.map(|found| serde_json::to_value(found).unwrap_or_default()))
}

/// Returns `pod` as the apiserver would store it in `namespace`, after defaulting and all webhooks, and whether that is without
/// its owner. Creates nothing.
///
/// The owner of a pod in a preview does not exist yet. If a webhook does not find it, as that of Kueue, the pod is created
/// without it. If that is rejected, too, the error is that of the first attempt.
pub async fn dry_run(client: &Client, namespace: &str, pod: &Value) -> Result<(Value, bool), LiveError> {
    match (create_dry(client, namespace, pod).await, without_owners(pod)) {
        (Err(LiveError::Bounded(error)), Some(pod)) if error.is_not_found() => {
            let created = create_dry(client, namespace, &pod).await.map_err(|_| error)?;
            Ok((created, true))
        }
        (created, _) => Ok((created?, false)),
    }
}

async fn create_dry(client: &Client, namespace: &str, pod: &Value) -> Result<Value, LiveError> {
    let pods = ApiResource::erase::<Pod>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &pods);
    let step = format!("create a pod in namespace {namespace} as a dry run");
    let object: DynamicObject =
        serde_json::from_value(pod.clone()).map_err(|error| failed(|| step.clone())(kube::Error::SerdeError(error)))?;
    let parameters = PostParams { dry_run: true, ..PostParams::default() };
    let created = send(&step, api.create(&parameters, &object)).await?;
    Ok(serde_json::to_value(created).unwrap_or_default())
}

/// Returns the object; `None` if it does not exist.
async fn object(
    client: &Client,
    resource: &ApiResource,
    namespace: &str,
    name: &str,
) -> Result<Option<Value>, LiveError> {
    let kind = if resource.kind == "Pod" { "pod" } else { resource.kind.as_str() };
    let step = || format!("read {kind} {namespace}/{name}");
    let request = Request::new(DynamicObject::url_path(resource, Some(namespace))).get(name, &GetParams::default());
    let request = request.map_err(|error| failed(step)(kube::Error::BuildRequest(error)))?;
    match find(&step(), client.request_text(request)).await? {
        None => Ok(None),
        Some(text) if text.len() > MAX_OBJECT => Err(LiveError::TooLarge(step())),
        Some(text) => {
            let object = serde_json::from_str(&text);
            object.map(Some).map_err(|error| failed(step)(kube::Error::SerdeError(error)))
        }
    }
}

fn failed(step: impl FnOnce() -> String) -> impl FnOnce(kube::Error) -> LiveError {
    move |source| LiveError::Request { step: step(), source: Box::new(source) }
}

/// Returns the time of the last write by a field manager that owns the opt-in label. The label itself may be older.
fn opted_in_since(managed_fields: &[ManagedFieldsEntry]) -> Option<Timestamp> {
    let owns = |entry: &&ManagedFieldsEntry| {
        let labels = entry.fields_v1.as_ref().and_then(|fields| fields.0.pointer("/f:metadata/f:labels"));
        labels.is_some_and(|labels| scope::LABELS.iter().any(|key| labels.get(format!("f:{key}")).is_some()))
    };
    managed_fields.iter().filter(owns).filter_map(|entry| entry.time.as_ref()).map(|time| time.0).max()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn entry(label: &str, time: &str) -> Value {
        json!({"manager": "m", "time": time, "fieldsV1": {"f:metadata": {"f:labels": {".": {}, format!("f:{label}"): {}}}}})
    }

    #[rstest]
    #[case::none(json!([]), None)]
    #[case::other_label(json!([entry("app", "2026-01-01T00:00:00Z")]), None)]
    #[case::opted_in(json!([entry("trainmesh.dev/inject", "2026-01-01T00:00:00Z")]), Some("2026-01-01T00:00:00Z"))]
    #[case::istio_aux(json!([entry("io.datastrophic/istio-aux", "2026-01-01T00:00:00Z")]), Some("2026-01-01T00:00:00Z"))]
    #[case::last_manager(
        json!([entry("trainmesh.dev/inject", "2026-01-02T00:00:00Z"), entry("trainmesh.dev/inject", "2026-01-01T00:00:00Z")]),
        Some("2026-01-02T00:00:00Z")
    )]
    #[case::no_time(json!([{"manager": "m", "fieldsV1": {"f:metadata": {"f:labels": {"f:trainmesh.dev/inject": {}}}}}]), None)]
    #[case::no_fields(json!([{"manager": "m", "time": "2026-01-01T00:00:00Z"}]), None)]
    fn the_opt_in_is_dated_by_its_managers(#[case] managed_fields: Value, #[case] expected: Option<&str>) {
        let entries: Vec<ManagedFieldsEntry> = serde_json::from_value(managed_fields).unwrap();
        assert_eq!(opted_in_since(&entries), expected.map(|time| time.parse().unwrap()));
    }
}
