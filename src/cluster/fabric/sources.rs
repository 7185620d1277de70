//! The watches, one for each kind of fact.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::{self, BoxStream, SelectAll};
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ConfigMap, Node, ResourceQuota};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher;
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;

use super::super::index::{self, Index, Objects, Options};
use super::partial_object::{NodeStatus, PartialObject, QuotaStatus};
use super::update::{Field, Update, set};
use super::{WatchedObjects, claims, pins};
use trainmesh_core::cluster_facts::{Names, NodeShape, Nodes, Quota, ReferencedObjects};
use trainmesh_core::gang::mode_pins::ModePins;
use trainmesh_core::gang::pins::Pins;
use trainmesh_core::objects::{FABRIC_CONFIG_MAP, NETWORK_RESOURCES_INJECTOR};

/// Page size for lists that only administrators can fill.
const LARGE_PAGE: u32 = 250;

/// Namespaces that contain an object, by the object's name.
type NamespacesByName = BTreeMap<String, Arc<Index<String>>>;

/// Starts all watches; `namespace` contains trainmesh's own objects. Without `watched` objects of fabrics, watches only the pins.
pub(super) fn updates(
    client: &Client,
    namespace: &str,
    watched: Option<&WatchedObjects>,
) -> SelectAll<BoxStream<'static, Update>> {
    let of_fabrics = watched.map(|watched| fabric_updates(client, watched)).unwrap_or_default();
    stream::select_all(of_fabrics.into_iter().chain([pins(client, namespace)]))
}

fn fabric_updates(client: &Client, watched: &WatchedObjects) -> Vec<BoxStream<'static, Update>> {
    let WatchedObjects { references: ReferencedObjects { config_maps }, claims } = watched;
    let claims = if *claims { claims::updates(client).into() } else { Vec::new() };
    let others = [
        nodes(client),
        quotas(client),
        injector(client),
        watch_names::<ConfigMap>(client, config_maps, |facts| &mut facts.config_maps),
    ];
    others.into_iter().chain(claims).collect()
}

fn nodes(client: &Client) -> BoxStream<'static, Update> {
    let nodes = |nodes: Option<&Objects<NodeShape>>| nodes.map(|nodes| Arc::new(Nodes::from_shapes(nodes.values())));
    let api = Api::all(client.clone());
    watch_field(api, unfiltered(), "nodes", |node, _| Some(shape(node)), nodes, |facts| &mut facts.nodes)
}

fn quotas(client: &Client) -> BoxStream<'static, Update> {
    let quotas =
        |quotas: Option<&Objects<(String, Quota)>>| quotas.map(|quotas| Arc::new(by_namespace(quotas.values())));
    let api = Api::all(client.clone());
    watch_field(api, unfiltered(), "resource quotas", |object, _| quota(object), quotas, |facts| &mut facts.quotas)
}

fn injector(client: &Client) -> BoxStream<'static, Update> {
    let api: Api<PartialObjectMeta<MutatingWebhookConfiguration>> = Api::all(client.clone());
    let exists = |found: Option<&Objects<String>>| found.is_some_and(|found| !found.is_empty());
    let name = |object: &PartialObjectMeta<_>, _: Option<&String>| Some(object.name_any());
    let config = index::named(NETWORK_RESOURCES_INJECTOR);
    watch_field(api, config, NETWORK_RESOURCES_INJECTOR, name, exists, |facts| &mut facts.network_resources_injector)
}

fn pins(client: &Client, namespace: &str) -> BoxStream<'static, Update> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let index: Arc<Index<(Arc<Pins>, Arc<ModePins>)>> = Arc::default();
    let reduce = |object: &ConfigMap, _: Option<&(Arc<Pins>, Arc<ModePins>)>| {
        let (pins, modes) = pins::parse(object);
        Some((Arc::new(pins), Arc::new(modes)))
    };
    let options = Options::optional("the pins of gangs");
    let changes = index::watch(api, index::named(FABRIC_CONFIG_MAP), Arc::clone(&index), options, reduce);
    let update = move |()| {
        let found = index.read(|found| found.and_then(|found| found.values().next().cloned()));
        let (pins, modes) = found.unwrap_or_default();
        let update: Update = Box::new(move |facts| (facts.pins, facts.gang_modes) = (pins, modes));
        update
    };
    changes.map(update).boxed()
}

/// Watches the objects with these names, to find the namespaces that contain them. The field stays `None` until every
/// name has been listed.
fn watch_names<K>(
    client: &Client,
    names: &BTreeSet<String>,
    field: Field<Option<Arc<Names>>>,
) -> BoxStream<'static, Update>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Send + Sync + 'static,
{
    let namespaces: NamespacesByName = names.iter().map(|name| (name.clone(), Arc::default())).collect();
    let changes = stream::select_all(namespaces.iter().map(|(name, index)| {
        let api: Api<PartialObjectMeta<K>> = Api::all(client.clone());
        let options = Options::optional(format!("{} {name}", K::plural(&())));
        index::watch(api, index::named(name), Arc::clone(index), options, |object, _| object.namespace()).boxed()
    }));
    changes.map(move |()| set(field, names_by_namespace(&namespaces).map(Arc::new))).boxed()
}

/// Watches one field of the facts. `view` computes it from the objects, or from `None` while they are unknown.
fn watch_field<K, V, T>(
    api: Api<K>,
    config: watcher::Config,
    resource: &str,
    reduce: impl Fn(&K, Option<&V>) -> Option<V> + Send + 'static,
    view: impl Fn(Option<&Objects<V>>) -> T + Send + 'static,
    field: Field<T>,
) -> BoxStream<'static, Update>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    V: PartialEq + Send + Sync + 'static,
    T: Send + 'static,
{
    let index = Arc::new(Index::default());
    let changes = index::watch(api, config, Arc::clone(&index), Options::optional(resource), reduce);
    changes.map(move |()| set(field, index.read(&view))).boxed()
}

/// Groups the names by namespace. Returns `None` until every name has been listed.
fn names_by_namespace(namespaces: &NamespacesByName) -> Option<Names> {
    let mut names = Names::new();
    for (name, index) in namespaces {
        for namespace in index.read(|namespaces| namespaces.map(|all| all.values().cloned().collect::<Vec<_>>()))? {
            names.entry(namespace).or_default().insert(name.clone());
        }
    }
    Some(names)
}

pub(super) fn shape(node: &PartialObject<Node, NodeStatus>) -> NodeShape {
    NodeShape::new(node.labels(), &node.status.allocatable)
}

/// Reduces a quota to its namespace and content.
pub(super) fn quota(quota: &PartialObject<ResourceQuota, QuotaStatus>) -> Option<(String, Quota)> {
    let read = Quota::from_status(&quota.name_any(), &quota.status.hard, &quota.status.used)?;
    Some((quota.namespace().unwrap_or_default(), read))
}

/// Groups quotas by namespace.
pub(super) fn by_namespace<'a>(quotas: impl IntoIterator<Item = &'a (String, Quota)>) -> HashMap<String, Vec<Quota>> {
    let mut by_namespace: HashMap<String, Vec<Quota>> = HashMap::new();
    for (namespace, quota) in quotas {
        by_namespace.entry(namespace.clone()).or_default().push(quota.clone());
    }
    by_namespace
}

fn unfiltered() -> watcher::Config {
    watcher::Config::default().page_size(LARGE_PAGE)
}

#[cfg(test)]
mod tests {
    use kube::core::ObjectMeta;
    use kube::runtime::watcher::Event;

    use super::*;

    #[test]
    fn names_are_known_once_all_of_them_are_listed() {
        let indexes = NamespacesByName::from(["a", "b"].map(|name| (name.to_owned(), Arc::default())));
        let list = |name: &str, namespaces: &[&str]| {
            let object = |namespace: &&str| {
                let metadata = ObjectMeta { namespace: Some((*namespace).to_owned()), ..ObjectMeta::default() };
                Event::InitApply(ConfigMap { metadata, ..ConfigMap::default() })
            };
            for event in [Event::Init].into_iter().chain(namespaces.iter().map(object)).chain([Event::InitDone]) {
                indexes[name].apply(&event, |object, _| object.namespace());
            }
        };
        list("a", &["team-a", "team-b"]);
        assert_eq!(names_by_namespace(&indexes), None);
        list("b", &["team-b"]);
        let names = names_by_namespace(&indexes).unwrap();
        assert_eq!((names["team-a"].len(), names["team-b"].len()), (1, 2));
        assert_eq!(names_by_namespace(&NamespacesByName::new()), Some(Names::new()));
    }
}
