//! The watches, one for each kind of fact.

#![expect(clippy::zero_sized_map_values, reason = "a table whose objects have no light form but their presence")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ConfigMap, Node, ResourceQuota};
use k8s_openapi::api::resource::v1::ResourceClaimTemplate;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher;
use kube::{Api, Resource, ResourceExt as _};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::slim::{NodeStatus, QuotaStatus, Slim};
use super::table::{Key, keep};
use super::{FactCache, INJECTOR, pins};
use crate::cluster_facts::{ClusterFacts, Names, NodeShape, Nodes, Quota, ReferencedObjects};
use crate::gang::pins::Pins;

/// Objects in one page of a list that anybody may fill: the page is read as a whole before it is decoded, and the
/// annotations of one object may have 256 KiB.
const PAGE: u32 = 50;
/// Objects in one page of a list that only administrators fill.
const LARGE_PAGE: u32 = 500;

/// A part of the facts.
type Part<T> = fn(&mut ClusterFacts) -> &mut T;

/// Starts every watch.
pub(super) fn spawn(
    cache: &Arc<FactCache>,
    named: &ReferencedObjects,
    stop: &CancellationToken,
    watches: &mut JoinSet<()>,
) {
    watches.spawn(nodes(Arc::clone(cache), stop.clone()));
    watches.spawn(quotas(Arc::clone(cache), stop.clone()));
    watches.spawn(injector(Arc::clone(cache), stop.clone()));
    watches.spawn(carried(Arc::clone(cache), stop.clone()));
    let ReferencedObjects { config_maps, claim_templates } = named;
    present::<ConfigMap>(cache, config_maps, |facts| &mut facts.config_maps, stop, watches);
    present::<ResourceClaimTemplate>(cache, claim_templates, |facts| &mut facts.claim_templates, stop, watches);
}

async fn nodes(cache: Arc<FactCache>, stop: CancellationToken) {
    let tell = |known: Option<&BTreeMap<Key, NodeShape>>| {
        let nodes = known.map(|known| Arc::new(Nodes::of(known.values())));
        cache.change(|facts| facts.nodes.clone_from(&nodes));
    };
    keep(Api::all(cache.client.clone()), all(), "nodes", |node| Some(shape(&node)), tell, stop).await;
}

async fn quotas(cache: Arc<FactCache>, stop: CancellationToken) {
    let tell = |known: Option<&BTreeMap<Key, Quota>>| {
        let quotas = known.map(|known| Arc::new(by_namespace(known.iter())));
        cache.change(|facts| facts.quotas.clone_from(&quotas));
    };
    let light = |object| quota(&object);
    keep(Api::all(cache.client.clone()), all(), "resource quotas", light, tell, stop).await;
}

async fn injector(cache: Arc<FactCache>, stop: CancellationToken) {
    let api: Api<PartialObjectMeta<MutatingWebhookConfiguration>> = Api::all(cache.client.clone());
    let tell = |known: Option<&BTreeMap<Key, ()>>| {
        let there = known.is_some_and(|known| !known.is_empty());
        cache.change(|facts| facts.network_resources_injector = there);
    };
    keep(api, only(INJECTOR), INJECTOR, |_| Some(()), tell, stop).await;
}

async fn carried(cache: Arc<FactCache>, stop: CancellationToken) {
    let api: Api<ConfigMap> = Api::namespaced(cache.client.clone(), &cache.home);
    let tell = |known: Option<&BTreeMap<Key, Arc<Pins>>>| {
        let pins = known.and_then(|known| known.values().next().cloned()).unwrap_or_default();
        cache.change(|facts| facts.pins = Arc::clone(&pins));
    };
    keep(api, only(pins::NAME), "the pins of gangs", |object| Some(Arc::new(pins::parse(&object))), tell, stop).await;
}

/// Watches for each of `names`, in all namespaces, whether it is there. The part is known when all of them are.
fn present<K>(
    cache: &Arc<FactCache>,
    names: &BTreeSet<String>,
    part: Part<Option<Arc<Names>>>,
    stop: &CancellationToken,
    watches: &mut JoinSet<()>,
) where
    K: Resource<DynamicType = ()> + Clone + Debug + Send + Sync + 'static,
{
    let all: Arc<Mutex<BTreeMap<String, Option<BTreeSet<String>>>>> =
        Arc::new(Mutex::new(names.iter().map(|name| (name.clone(), None)).collect()));
    for name in names {
        let (cache, all, name, stop) = (Arc::clone(cache), Arc::clone(&all), name.clone(), stop.clone());
        watches.spawn(async move {
            let api: Api<PartialObjectMeta<K>> = Api::all(cache.client.clone());
            let tell = |known: Option<&BTreeMap<Key, ()>>| {
                let namespaces = known.map(|known| known.keys().map(|(namespace, _)| namespace.clone()).collect());
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                all.insert(name.clone(), namespaces);
                let names = together(&all).map(Arc::new);
                cache.change(|facts| part(facts).clone_from(&names));
            };
            let what = format!("{} {name}", K::plural(&()));
            keep(api, only(&name), &what, |_| Some(()), tell, stop).await;
        });
    }
}

/// Names by namespace, from namespaces by name; `None` as long as one name is unknown.
fn together(all: &BTreeMap<String, Option<BTreeSet<String>>>) -> Option<Names> {
    let mut names = Names::new();
    for (name, namespaces) in all {
        for namespace in namespaces.as_ref()? {
            names.entry(namespace.clone()).or_default().insert(name.clone());
        }
    }
    Some(names)
}

pub(super) fn shape(node: &Slim<Node, NodeStatus>) -> NodeShape {
    NodeShape::read(node.labels(), &node.status.allocatable)
}

pub(super) fn quota(quota: &Slim<ResourceQuota, QuotaStatus>) -> Option<Quota> {
    Quota::read(&quota.name_any(), &quota.status.hard, &quota.status.used)
}

/// Quotas by their namespace.
pub(super) fn by_namespace<'a>(quotas: impl Iterator<Item = (&'a Key, &'a Quota)>) -> HashMap<String, Vec<Quota>> {
    let mut by_namespace: HashMap<String, Vec<Quota>> = HashMap::new();
    for ((namespace, _), quota) in quotas {
        by_namespace.entry(namespace.clone()).or_default().push(quota.clone());
    }
    by_namespace
}

fn all() -> watcher::Config {
    watcher::Config::default().page_size(LARGE_PAGE)
}

/// The one object called `name`, of each namespace.
fn only(name: &str) -> watcher::Config {
    watcher::Config::default().fields(&format!("metadata.name={name}")).page_size(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_when_all_of_them_are() {
        let namespaces = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        let mut all = BTreeMap::from([("a".to_owned(), namespaces(&["team-a", "team-b"])), ("b".to_owned(), None)]);
        assert_eq!(together(&all), None);
        all.insert("b".to_owned(), namespaces(&["team-b"]));
        let names = together(&all).unwrap();
        assert_eq!((names["team-a"].len(), names["team-b"].len()), (1, 2));
        assert_eq!(together(&BTreeMap::new()), Some(Names::new()));
    }
}
