//! Reads the cluster facts once, as far as the user's permissions allow. Every request has a timeout.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ConfigMap, Node, ResourceQuota};
use kube::api::ListParams;
use kube::core::PartialObjectMeta;
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;

use super::super::list::{list, list_metadata};
use super::super::request::find;
use super::WatchedObjects;
use super::claims;
use super::partial_object::{NodeStatus, PartialObject, QuotaStatus};
use super::sources::{by_namespace, quota, shape};
use trainmesh_core::cluster_facts::{ClusterFacts, Names, Nodes};
use trainmesh_core::dra::ClaimFacts;
use trainmesh_core::objects::NETWORK_RESOURCES_INJECTOR;

/// Reads the facts, including the namespaces of the referenced objects, and the claims of `namespaces`. What cannot be
/// read is unknown.
pub async fn read_facts(client: &Client, watched: &WatchedObjects, namespaces: &BTreeSet<String>) -> ClusterFacts {
    let nodes: Api<PartialObject<Node, NodeStatus>> = Api::all(client.clone());
    let quotas: Api<PartialObject<ResourceQuota, QuotaStatus>> = Api::all(client.clone());
    let webhook_configurations: Api<PartialObjectMeta<MutatingWebhookConfiguration>> = Api::all(client.clone());
    let all = ListParams::default;
    let (nodes, quotas, injector, config_maps, claims) = tokio::join!(
        list("list nodes", &nodes, all()),
        list("list resource quotas", &quotas, all()),
        find(
            "read the webhook configuration of network-resources-injector",
            webhook_configurations.get_metadata(NETWORK_RESOURCES_INJECTOR)
        ),
        find_names::<ConfigMap>(client, &watched.references.config_maps),
        async { if watched.claims { claims::list_facts(client, namespaces).await } else { ClaimFacts::default() } },
    );
    let shapes = nodes.ok().map(|nodes| nodes.iter().map(shape).collect::<Vec<_>>());
    let quotas = quotas.ok().map(|quotas| by_namespace(&quotas.iter().filter_map(quota).collect::<Vec<_>>()));
    ClusterFacts {
        nodes: shapes.map(|shapes| Arc::new(Nodes::from_shapes(shapes.iter()))),
        quotas: quotas.map(Arc::new),
        config_maps: config_maps.map(Arc::new),
        claims,
        network_resources_injector: matches!(injector, Ok(Some(_))),
        pins: Arc::default(),
        gang_modes: Arc::default(),
        mesh: None,
    }
}

async fn find_names<K>(client: &Client, names: &BTreeSet<String>) -> Option<Names>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let api: Api<K> = Api::all(client.clone());
    let mut by_namespace = Names::new();
    for name in names {
        let only = ListParams::default().fields(&format!("metadata.name={name}"));
        let step = format!("list {} called {name}", K::plural(&()));
        for object in list_metadata(&step, &api, only).await.ok()? {
            by_namespace.entry(object.namespace().unwrap_or_default()).or_default().insert(name.clone());
        }
    }
    Some(by_namespace)
}
