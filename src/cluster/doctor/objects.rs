//! The fields of Deployments and pods that `doctor` reads. The complete types would add a twentieth to the size of the
//! binary.

use k8s_openapi::api::apps::v1;
use k8s_openapi::api::core::v1::Pod as WholePod;
use kube::api::ApiResource;
use kube::core::{NotUsed, Object};
use kube::{Api, Client};
use serde::Deserialize;

/// A Deployment.
pub(super) type Deployment = Object<DeploymentSpec, NotUsed>;
/// A pod.
pub(super) type Pod = Object<PodSpec, PodStatus>;

/// Spec of a Deployment.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct DeploymentSpec {
    pub(super) template: PodTemplate,
}

/// Pod template of a Deployment.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct PodTemplate {
    pub(super) spec: PodSpec,
}

/// Spec of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PodSpec {
    pub(super) service_account_name: Option<String>,
    pub(super) host_network: bool,
    pub(super) containers: Vec<Container>,
    pub(super) volumes: Vec<Volume>,
}

/// A container.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Container {
    pub(super) env: Vec<Variable>,
    pub(super) ports: Vec<Port>,
}

/// An environment variable.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) value: Option<String>,
}

/// A container port.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Port {
    pub(super) name: Option<String>,
    pub(super) container_port: u16,
}

/// A volume.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Volume {
    pub(super) name: String,
    pub(super) secret: Option<SecretSource>,
}

/// Source of a Secret volume.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SecretSource {
    pub(super) secret_name: Option<String>,
}

/// Status of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PodStatus {
    #[serde(rename = "podIP")]
    pub(super) pod_ip: Option<String>,
    pub(super) conditions: Vec<Condition>,
}

/// A condition of a pod.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: String,
}

/// Returns the API of the Deployments in a namespace, or in all namespaces.
pub(super) fn deployments(client: &Client, namespace: Option<&str>) -> Api<Deployment> {
    let resource = ApiResource::erase::<v1::Deployment>(&());
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

/// Returns the API of the pods in a namespace.
pub(super) fn pods(client: &Client, namespace: &str) -> Api<Pod> {
    Api::namespaced_with(client.clone(), namespace, &ApiResource::erase::<WholePod>(&()))
}

/// Returns the API of the pods in all namespaces.
pub(super) fn all_pods(client: &Client) -> Api<Pod> {
    Api::all_with(client.clone(), &ApiResource::erase::<WholePod>(&()))
}
