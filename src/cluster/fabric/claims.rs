//! Claims, templates and device classes: watches for the webhook, and lists for the preview.
//!
//! The objects are read as JSON, because the newest version of the API differs between clusters.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use super::super::index::{self, Index, Objects, Options};
use super::super::list::list;
use super::super::request::RequestError;
use super::sources::{Field, Update, set};
use trainmesh_core::dra::{
    ClaimFacts, ClaimSpec, ClaimSpecs, DeviceClass, DeviceClasses, GROUP, MAX_SPECS, is_generated,
};

/// Kinds with their plurals.
const CLASS: (&str, &str) = ("DeviceClass", "deviceclasses");
const TEMPLATE: (&str, &str) = ("ResourceClaimTemplate", "resourceclaimtemplates");
const CLAIM: (&str, &str) = ("ResourceClaim", "resourceclaims");

/// Version that the webhook watches, since Kubernetes 1.34. Older clusters do not enable any version by default.
const VERSION: &str = "v1";
/// Versions that the preview tries, newest first.
const VERSIONS: [&str; 3] = [VERSION, "v1beta2", "v1beta1"];

/// Time for which changes are collected: users create a template immediately before its first pod.
const DEBOUNCE: Duration = Duration::from_millis(10);

/// Starts the watches.
pub(super) fn updates(client: &Client) -> [BoxStream<'static, Update>; 3] {
    [
        classes(client),
        specs(client, TEMPLATE, ClaimSpec::from_template, |facts| &mut facts.claims.templates),
        specs(client, CLAIM, ClaimSpec::from_claim, |facts| &mut facts.claims.claims),
    ]
}

fn classes(client: &Client) -> BoxStream<'static, Update> {
    let index = Arc::new(Index::default());
    let reduce = |object: &DynamicObject, _: Option<&DeviceClass>| DeviceClass::parse(&content(object));
    let changes = index::watch(api(client, CLASS, VERSION), index::all(), Arc::clone(&index), options(CLASS), reduce);
    let view = |classes: Option<&Objects<DeviceClass>>| Some(Arc::new(collect_classes(classes?.values().cloned())));
    changes.map(move |()| set(|facts| &mut facts.claims.classes, index.read(view))).boxed()
}

fn specs(
    client: &Client,
    kind: (&'static str, &'static str),
    read: fn(&Value, &str) -> ClaimSpec,
    field: Field<Option<Arc<ClaimSpecs>>>,
) -> BoxStream<'static, Update> {
    let index = Arc::new(Index::with_limit(MAX_SPECS));
    let reduce = move |object: &DynamicObject, _: Option<&Arc<ClaimSpec>>| reduce_spec(object, VERSION, read);
    let changes = index::watch(api(client, kind, VERSION), index::all(), Arc::clone(&index), options(kind), reduce);
    changes.map(move |()| set(field, index.read(view_specs))).boxed()
}

/// Lists the objects for pods in `namespaces`, as far as permissions allow.
pub(super) async fn survey(client: &Client, namespaces: &BTreeSet<String>) -> ClaimFacts {
    let classes = list_all(client, None, CLASS).await.map(|(_, objects)| {
        Arc::new(collect_classes(objects.iter().filter_map(|object| DeviceClass::parse(&content(object)))))
    });
    ClaimFacts {
        classes,
        templates: list_specs(client, namespaces, TEMPLATE, ClaimSpec::from_template).await,
        claims: list_specs(client, namespaces, CLAIM, ClaimSpec::from_claim).await,
    }
}

async fn list_specs(
    client: &Client,
    namespaces: &BTreeSet<String>,
    kind: (&str, &str),
    read: fn(&Value, &str) -> ClaimSpec,
) -> Option<Arc<ClaimSpecs>> {
    let mut specs = ClaimSpecs::default();
    for namespace in namespaces {
        let Some((version, objects)) = list_all(client, Some(namespace), kind).await else { continue };
        specs.complete(namespace);
        for object in &objects {
            if let Some(spec) = reduce_spec(object, version, read) {
                specs.insert(namespace, &object.name_any(), spec);
            }
        }
    }
    Some(Arc::new(specs))
}

/// Lists the objects in the newest version that the cluster serves. `None` if it serves none, or forbids the list.
async fn list_all(
    client: &Client,
    namespace: Option<&str>,
    kind: (&str, &str),
) -> Option<(&'static str, Vec<DynamicObject>)> {
    for version in VERSIONS {
        let resource = resource(kind, version);
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        match list(&format!("list {}", kind.1), &api, ListParams::default()).await {
            Ok(objects) => return Some((version, objects)),
            Err(error) if RequestError::is_not_found(&error) => {}
            Err(_) => return None,
        }
    }
    None
}

fn reduce_spec(object: &DynamicObject, version: &str, read: fn(&Value, &str) -> ClaimSpec) -> Option<Arc<ClaimSpec>> {
    (!is_generated(object.annotations().keys())).then(|| Arc::new(read(&content(object), version)))
}

fn view_specs(objects: Option<&Objects<Arc<ClaimSpec>>>) -> Option<Arc<ClaimSpecs>> {
    let mut specs = ClaimSpecs::of_all_namespaces();
    for (key, spec) in objects? {
        if let Some((namespace, name)) = key.split_once('/') {
            specs.insert(namespace, name, Arc::clone(spec));
        }
    }
    Some(Arc::new(specs))
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

fn api(client: &Client, kind: (&str, &str), version: &str) -> Api<DynamicObject> {
    Api::all_with(client.clone(), &resource(kind, version))
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

    fn claim(name: &str, annotation: &str) -> DynamicObject {
        let object = json!({"metadata": {"namespace": "team-a", "name": name, "annotations": {annotation: "x"}},
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}]}}});
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn claims_of_users_are_kept() {
        let index = Index::with_limit(MAX_SPECS);
        let events = [
            Event::Init,
            Event::InitApply(claim("own", "example.com/owner")),
            Event::InitApply(claim("generated", "resource.kubernetes.io/pod-claim-name")),
            Event::InitDone,
        ];
        for event in events {
            index.apply(&event, |object, _| reduce_spec(object, VERSION, ClaimSpec::from_claim));
        }
        let facts = ClaimFacts { claims: index.read(view_specs), ..ClaimFacts::default() };
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
