//! The objects of gangs: discovery, watches and writes of `PodGroups`, watches of the workloads that own pods, and what the
//! controller announces to the webhook on its Lease.

pub mod announced;
pub(crate) mod groups;
pub(crate) mod workloads;

use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};

use super::request::{RequestError, send};
use trainmesh_core::gang::object::GroupApi;
use trainmesh_core::keys;

/// Returns the APIs that the cluster serves, at most one version of each group.
pub(crate) async fn served_apis(client: &Client) -> Result<Vec<GroupApi>, RequestError> {
    let groups = send("list the API groups", client.list_api_groups()).await?.groups;
    let is_listed = |api: GroupApi| {
        let group = groups.iter().find(|group| group.name == api.group());
        group.is_some_and(|group| group.versions.iter().any(|version| version.version == api.version()))
    };
    let mut served: Vec<GroupApi> = Vec::new();
    for api in GroupApi::ALL {
        if !is_listed(api) || served.iter().any(|newer| newer.group() == api.group()) {
            continue;
        }
        let step = format!("list the resources of {}", api.api_version());
        match send(&step, client.list_api_group_resources(&api.api_version())).await {
            Ok(list) if list.resources.iter().any(|resource| resource.name == GroupApi::PLURAL) => served.push(api),
            Ok(_) => {}
            // Removed meanwhile.
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(served)
}

/// Returns true if an object of `apis` exists that the controller created. What it may not read does not count.
pub(crate) async fn any_own(client: &Client, apis: &[GroupApi]) -> Result<bool, RequestError> {
    let one = ListParams::default().labels(&format!("{}=true", keys::MANAGED)).limit(1);
    for api in apis {
        let step = format!("list the PodGroups of {}", api.api_version());
        let groups: Api<DynamicObject> = Api::all_with(client.clone(), &resource(*api));
        match send(&step, groups.list_metadata(&one)).await {
            Ok(found) if !found.items.is_empty() => return Ok(true),
            Ok(_) => {}
            Err(error) if error.is_forbidden() || error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

pub(super) fn resource(api: GroupApi) -> ApiResource {
    let kind = GroupVersionKind::gvk(api.group(), api.version(), GroupApi::KIND);
    ApiResource::from_gvk_with_plural(&kind, GroupApi::PLURAL)
}
