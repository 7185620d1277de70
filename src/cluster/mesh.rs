//! Reads the Services and objects of Istio that decide how clients connect to pods.

use k8s_openapi::api::core::v1::Service;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::Value;

use super::list::list;
use super::request::RequestError;
use trainmesh_core::mesh_objects::{MeshObjects, NETWORKING_GROUP, SECURITY_GROUP};

/// Kinds of Istio, with their groups and plural names.
const ISTIO: [(&str, &str, &str); 2] = [
    (SECURITY_GROUP, "PeerAuthentication", "peerauthentications"),
    (NETWORKING_GROUP, "DestinationRule", "destinationrules"),
];
/// Versions of Istio's kinds, the current one first.
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// Reads the objects of all namespaces. Kinds that the cluster does not serve have no objects.
pub(crate) async fn read_objects(client: &Client) -> Result<MeshObjects, RequestError> {
    let mut objects = MeshObjects::default();
    add(client, &ApiResource::erase::<Service>(&()), &mut objects).await?;
    for (group, kind, plural) in ISTIO {
        for version in VERSIONS {
            let kind = GroupVersionKind::gvk(group, version, kind);
            let resource = ApiResource::from_gvk_with_plural(&kind, plural);
            match add(client, &resource, &mut objects).await {
                Err(error) if error.is_not_found() => {}
                added => {
                    added?;
                    break;
                }
            }
        }
    }
    Ok(objects)
}

async fn add(client: &Client, resource: &ApiResource, objects: &mut MeshObjects) -> Result<(), RequestError> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), resource);
    let found = list(&format!("list {}", resource.plural), &api, ListParams::default()).await?;
    for object in found {
        // The items of a list have no type.
        let mut object = serde_json::to_value(object).unwrap_or_default();
        object["apiVersion"] = Value::from(resource.api_version.as_str());
        object["kind"] = Value::from(resource.kind.as_str());
        objects.add(&object, "");
    }
    Ok(())
}
