//! The objects of gangs: discovery, watches and writes of `PodGroups`, watches of the workloads that own pods, and what the
//! controller announces to the webhook on its Lease.

pub mod announced;
pub(crate) mod groups;
pub(crate) mod workloads;

use kube::Client;
use kube::api::ApiResource;
use kube::core::GroupVersionKind;

use super::request::{RequestError, send};
use trainmesh_core::gang::object::GroupApi;

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

fn resource(api: GroupApi) -> ApiResource {
    let kind = GroupVersionKind::gvk(api.group(), api.version(), GroupApi::KIND);
    ApiResource::from_gvk_with_plural(&kind, GroupApi::PLURAL)
}
