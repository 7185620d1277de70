//! Reads the state of the mesh: Services, objects of Istio, the pods of opted-in namespaces, and those of Ray.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::{Api, Client, ResourceExt as _};

use super::super::list::list_metadata;
use super::super::mesh::read_objects;
use super::super::request::{RequestError, find, send};
use trainmesh_core::doctor::{InjectorRanges, MeshState};

/// Maximum number of pods that are checked: one page of a list.
const MAX_PODS: u32 = 500;
/// Pods that have not terminated.
const ACTIVE: &str = "status.phase!=Succeeded,status.phase!=Failed";
/// Label that Istio's injector adds to every pod with a sidecar.
const INJECTED: &str = "service.istio.io/canonical-name";
/// Key of the injector's values.
const VALUES: &str = "values";

/// Reads the state. Pods are those of the `opted_in` namespaces.
pub(super) async fn read(client: &Client, opted_in: &[String]) -> Result<MeshState, RequestError> {
    let objects = read_objects(client).await?;
    let mut pods = Vec::new();
    for namespace in opted_in {
        let limit = MAX_PODS.saturating_sub(u32::try_from(pods.len()).unwrap_or(u32::MAX));
        if limit == 0 {
            break;
        }
        let resource = ApiResource::erase::<Pod>(&());
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
        let parameters = ListParams::default().fields(ACTIVE).limit(limit);
        let page = send(&format!("list pods in {namespace}"), api.list(&parameters)).await?;
        let values = page.items.into_iter().filter_map(|pod| serde_json::to_value(pod).ok());
        pods.extend(values.map(|pod| (namespace.clone(), pod)));
    }
    let all: Api<Pod> = Api::all(client.clone());
    let ray = list_metadata("list pods", &all, ListParams::default().labels(MeshState::RAY_PODS)).await?;
    let ray_pods: Vec<_> =
        ray.into_iter().map(|pod| (pod.namespace().unwrap_or_default(), pod.labels().clone())).collect();
    // The number matters only for the Services of Ray, and the list may be long.
    let proxies = if ray_pods.is_empty() {
        0
    } else {
        list_metadata("list pods", &all, ListParams::default().labels(INJECTED)).await?.len()
    };
    Ok(MeshState { objects, pods, ray_pods, proxies: u64::try_from(proxies).unwrap_or(u64::MAX) })
}

/// Reads the ranges that Istio's injectors exclude, from these `ConfigMaps`. Those that do not exist are left out: the
/// control plane may run in another cluster.
pub(super) async fn injector_ranges(
    client: &Client,
    config_maps: BTreeSet<(String, String)>,
) -> Result<Vec<InjectorRanges>, RequestError> {
    let mut all = Vec::new();
    for (namespace, name) in config_maps {
        let api: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
        let found = find(&format!("read ConfigMap {namespace}/{name}"), api.get(&name)).await?;
        let values = found.and_then(|found| found.data?.remove(VALUES));
        all.extend(values.map(|values| InjectorRanges::parse(&namespace, &name, &values)));
    }
    Ok(all)
}
