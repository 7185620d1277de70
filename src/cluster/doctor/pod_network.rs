//! Reads the IP ranges of pods from the configuration of kubeadm, Cilium and Calico, and the addresses of pods.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, ListParams};
use kube::core::{GroupVersionKind, NotUsed, Object};
use kube::{Api, Client, ResourceExt as _};
use serde::Deserialize;

use super::super::list::list;
use super::super::request::{RequestError, find, send};
use super::objects::all_pods;
use trainmesh_core::cidr::Cidr;
use trainmesh_core::doctor::{PodNetwork, configured_ranges};

/// Namespace of the `ConfigMaps` of kubeadm and Cilium.
const SYSTEM: &str = "kube-system";
/// Maximum number of pods whose addresses are compared: one page of the list.
const MAX_PODS: u32 = 500;

/// Spec of Calico's `IPPool`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct PoolSpec {
    cidr: String,
    disabled: bool,
}

/// Reads the ranges and addresses.
pub(super) async fn read(client: &Client) -> Result<PodNetwork, RequestError> {
    let kubeadm = config_map(client, "kubeadm-config").await?;
    let cilium = config_map(client, "cilium-config").await?;
    let mut ranges = configured_ranges(kubeadm.get("ClusterConfiguration").map(String::as_str), &cilium);
    ranges.extend(pools(client).await?);
    let page = send("list pods", all_pods(client).list(&ListParams::default().limit(MAX_PODS))).await?;
    let addresses = page.items.into_iter().filter(|pod| !pod.spec.host_network).filter_map(|pod| {
        let address = pod.status.as_ref()?.pod_ip.as_deref()?.parse().ok()?;
        Some((format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any()), address))
    });
    Ok(PodNetwork { ranges, addresses: addresses.collect() })
}

/// Returns the data of a `ConfigMap`; empty if it does not exist.
async fn config_map(client: &Client, name: &str) -> Result<BTreeMap<String, String>, RequestError> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM);
    let found = find(&format!("read ConfigMap {SYSTEM}/{name}"), api.get(name)).await?;
    Ok(found.and_then(|found| found.data).unwrap_or_default())
}

/// Returns the ranges of Calico's pools; none if Calico is not installed.
async fn pools(client: &Client) -> Result<Vec<(Cidr, String)>, RequestError> {
    let kind = GroupVersionKind::gvk("crd.projectcalico.org", "v1", "IPPool");
    let resource = ApiResource::from_gvk_with_plural(&kind, "ippools");
    let api: Api<Object<PoolSpec, NotUsed>> = Api::all_with(client.clone(), &resource);
    let pools = match list("list IPPools", &api, ListParams::default()).await {
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        pools => pools?,
    };
    let enabled = pools.iter().filter(|pool| !pool.spec.disabled);
    let range = |pool: &Object<PoolSpec, NotUsed>| {
        Some((Cidr::parse(&pool.spec.cidr)?.network(), format!("IPPool {}", pool.name_any())))
    };
    Ok(enabled.filter_map(range).collect())
}
