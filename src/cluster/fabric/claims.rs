//! Claims, templates and device classes: watches for the webhook, and lists for the preview.
//!
//! The kinds are named at run time, because the newest version of the API differs between clusters.

mod object;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::{DynamicResourceScope, GroupVersionKind};
use kube::runtime::watcher;
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::super::index::{self, Amount, Index, Known, Limit, Objects, Options};
use super::super::list::list;
use super::super::request::RequestError;
use super::update::{Field, Update, set};
use object::ClaimObject;
use trainmesh_core::dra::{
    ClaimContent, ClaimFacts, ClaimSpec, ClaimSpecs, DeviceClass, DeviceClasses, GROUP, MAX_ALL_SPECS,
    MAX_ALL_SPECS_SIZE, MAX_SPECS, MAX_SPECS_SIZE, UnknownCause,
};

/// Creates the spec of a claim or template from its content and the version of the API.
type Read = fn(ClaimContent, &str) -> ClaimSpec;

/// Kinds with their plurals.
const CLASS: (&str, &str) = ("DeviceClass", "deviceclasses");
const TEMPLATE: (&str, &str) = ("ResourceClaimTemplate", "resourceclaimtemplates");
const CLAIM: (&str, &str) = ("ResourceClaim", "resourceclaims");

/// Version that the webhook watches. Clusters serve it by default since Kubernetes 1.34; older clusters serve no
/// version by default.
const VERSION: &str = "v1";
/// Versions that the preview tries, newest first.
const VERSIONS: [&str; 3] = [VERSION, "v1beta2", "v1beta1"];

/// Page size for claims and templates. Any user can create objects of 1.5 MiB, the limit of etcd, and a page is
/// buffered as text, and each object once more, before it is decoded.
const PAGE: u32 = 5;

/// Time for which changes are collected: users create a template immediately before its first pod.
const DEBOUNCE: Duration = Duration::from_millis(10);

/// Starts the watches.
pub(super) fn updates(client: &Client) -> [BoxStream<'static, Update>; 3] {
    [
        classes(client),
        specs(client, TEMPLATE, ClaimSpec::from_template_content, |facts| &mut facts.claims.templates),
        specs(client, CLAIM, ClaimSpec::from_claim_content, |facts| &mut facts.claims.claims),
    ]
}

fn classes(client: &Client) -> BoxStream<'static, Update> {
    let index = Arc::new(Index::default());
    let reduce = |object: &DynamicObject, _: Option<&DeviceClass>| DeviceClass::parse(&content(object));
    let api = Api::all_with(client.clone(), &resource(CLASS, VERSION));
    let changes = index::watch(api, index::all(), Arc::clone(&index), options(CLASS), reduce);
    let view = |classes: Option<&Objects<DeviceClass>>| {
        let classes = classes.ok_or(UnknownCause::NotReadable)?;
        Ok(Arc::new(collect_classes(classes.values().cloned())))
    };
    changes.map(move |()| set(|facts| &mut facts.claims.classes, index.read(view))).boxed()
}

fn specs(
    client: &Client,
    kind: (&'static str, &'static str),
    read: Read,
    field: Field<Arc<ClaimSpecs>>,
) -> BoxStream<'static, Update> {
    let index = Arc::new(Index::with_limit(limit()));
    let reduce = move |object: &ClaimObject, known: Option<&Arc<ClaimSpec>>| {
        let spec = reduce_spec(object, VERSION, read)?;
        // Lists repeat what is known: the memory is shared.
        Some(known.filter(|known| **known == spec).cloned().unwrap_or(spec))
    };
    let api = Api::all_with(client.clone(), &resource(kind, VERSION));
    let config = watcher::Config::default().page_size(PAGE);
    let changes = index::watch(api, config, Arc::clone(&index), options(kind), reduce);
    changes.map(move |()| set(field, index.read_known(view_specs))).boxed()
}

/// Lists the objects for pods in `namespaces`, as far as permissions allow.
pub(super) async fn list_facts(client: &Client, namespaces: &BTreeSet<String>) -> ClaimFacts {
    let classes = list_all(client, None, CLASS).await.map(|(_, objects)| {
        Arc::new(collect_classes(
            objects.iter().filter_map(|object: &DynamicObject| DeviceClass::parse(&content(object))),
        ))
    });
    ClaimFacts {
        classes: classes.ok_or(UnknownCause::NotReadable),
        templates: list_specs(client, namespaces, TEMPLATE, ClaimSpec::from_template_content).await,
        claims: list_specs(client, namespaces, CLAIM, ClaimSpec::from_claim_content).await,
    }
}

async fn list_specs(client: &Client, namespaces: &BTreeSet<String>, kind: (&str, &str), read: Read) -> Arc<ClaimSpecs> {
    let mut specs = ClaimSpecs::default();
    for namespace in namespaces {
        let Some((version, objects)) = list_all(client, Some(namespace), kind).await else {
            specs.set_others(namespace, UnknownCause::NotReadable);
            continue;
        };
        specs.set_others(namespace, UnknownCause::Missing);
        for object in &objects {
            if let Some(spec) = reduce_spec(object, version, read) {
                specs.insert(namespace, &object.name_any(), spec);
            }
        }
    }
    Arc::new(specs)
}

/// Lists the objects in the newest version that the cluster serves. `None` if it serves none, or forbids the list.
async fn list_all<K>(client: &Client, namespace: Option<&str>, kind: (&str, &str)) -> Option<(&'static str, Vec<K>)>
where
    K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope> + Clone + DeserializeOwned + Debug,
{
    for version in VERSIONS {
        let resource = resource(kind, version);
        let api: Api<K> = match namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        match list(&format!("list {}", kind.1), &api, ListParams::default().limit(PAGE)).await {
            Ok(objects) => return Some((version, objects)),
            Err(error) if RequestError::is_not_found(&error) => {}
            Err(_) => return None,
        }
    }
    None
}

fn reduce_spec(object: &ClaimObject, version: &str, read: Read) -> Option<Arc<ClaimSpec>> {
    (!object.is_generated).then(|| Arc::new(read(object.content.clone(), version)))
}

/// Called once a list is complete or rejected.
fn view_specs(known: Option<&Known<'_, Arc<ClaimSpec>>>) -> Arc<ClaimSpecs> {
    let Some(Known { objects, truncated }) = known else {
        return Arc::new(ClaimSpecs::unknown(UnknownCause::NotReadable));
    };
    let mut specs = ClaimSpecs::of_all_namespaces();
    for (key, spec) in *objects {
        if let Some((namespace, name)) = key.split_once('/') {
            specs.insert(namespace, name, Arc::clone(spec));
        }
    }
    for namespace in *truncated {
        specs.set_others(namespace, UnknownCause::LeftOut);
    }
    Arc::new(specs)
}

fn limit() -> Limit<Arc<ClaimSpec>> {
    Limit {
        of_namespace: Amount { objects: MAX_SPECS, size: MAX_SPECS_SIZE },
        of_all: Amount { objects: MAX_ALL_SPECS, size: MAX_ALL_SPECS_SIZE },
        size_of: |spec| spec.size(),
    }
}

fn collect_classes(classes: impl Iterator<Item = DeviceClass>) -> DeviceClasses {
    let mut all = DeviceClasses::default();
    classes.for_each(|class| all.insert(class));
    all
}

/// Returns the parts of an object that are parsed.
fn content(object: &DynamicObject) -> Value {
    let created = object.creation_timestamp().map(|time| time.0.to_string());
    let metadata = json!({"name": object.name_any(), "creationTimestamp": created});
    json!({"metadata": metadata, "spec": object.data.get("spec")})
}

fn resource((kind, plural): (&str, &str), version: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, version, kind), plural)
}

fn options((_, plural): (&str, &str)) -> Options {
    Options::optional(plural).with_debounce(DEBOUNCE)
}

#[cfg(test)]
mod tests {
    use kube::runtime::watcher::Event;

    use super::*;
    use trainmesh_core::dra::{DeviceKind, PodClaims};
    use trainmesh_core::pod::Pod;

    fn claim(name: &str, annotation: &str) -> ClaimObject {
        let object = json!({"metadata": {"namespace": "team-a", "name": name, "annotations": {annotation: "x"}},
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}]}}});
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn claims_of_users_are_kept() {
        let index = Index::with_limit(limit());
        let events = [
            Event::Init,
            Event::InitApply(claim("own", "example.com/owner")),
            Event::InitApply(claim("generated", "resource.kubernetes.io/pod-claim-name")),
            Event::InitDone,
        ];
        for event in events {
            index.apply(&event, |object, _| reduce_spec(object, VERSION, ClaimSpec::from_claim_content));
        }
        let facts = ClaimFacts { claims: index.read_known(view_specs), ..ClaimFacts::default() };
        let gpus = |name: &str| {
            let pod = json!({"spec": {"resourceClaims": [{"name": "c", "resourceClaimName": name}],
                "containers": [{"name": "train", "resources": {"claims": [{"name": "c"}]}}]}});
            let pod = Pod::new(&pod);
            let claims = PodClaims::new(pod, facts.view("team-a"), |_| false);
            claims.count(pod.containers().next().unwrap(), DeviceKind::is_accelerator).exact()
        };
        assert_eq!((gpus("own"), gpus("generated")), (Some(2), None));
    }
}
