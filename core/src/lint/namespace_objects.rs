//! Objects of the input that the pods of a workload use: Services, claims for volumes, `PodGroups`, and pods of etcd.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::gang::GangMode;
use crate::gang::object::GroupApi;
use crate::hint::is_typo;
use crate::json;
use crate::keys::DEFAULT_QUEUE;
use crate::manifest::{Document, ObjectField};
use crate::pod::{Container, ContainerKind, Pod};

/// Field of a `PodGroup` of Kubernetes with its minimum.
const NATIVE_MINIMUM: &str = "/spec/schedulingPolicy/gang/minCount";

/// Start of the API versions of Kueue.
const KUEUE_GROUP: &str = "kueue.x-k8s.io/";

/// Maximum number of Services with which a misspelled name is compared: each job may have such a name.
const MAX_COMPARED: usize = 100;

/// Objects of one namespace. Of several definitions of an object, the last one counts.
#[derive(Debug, Default)]
pub struct NamespaceObjects {
    services: BTreeMap<String, ServiceManifest>,
    claims: BTreeMap<String, VolumeClaim>,
    groups: BTreeMap<(GangMode, String), GroupManifest>,
    /// True if Kueue's `LocalQueue` for jobs without the label of a queue exists.
    has_default_queue: bool,
    /// Pods with a container of etcd whose version is known.
    stores: Vec<StorePod>,
}

/// A Service.
#[derive(Debug)]
pub(super) struct ServiceManifest {
    /// Labels that it selects; empty if its endpoints are managed separately.
    pub(super) selector: BTreeMap<String, String>,
    /// True if it has no cluster IP, so that its name resolves to the addresses of the pods.
    pub(super) is_headless: bool,
    pub(super) ports: Vec<ServicePort>,
}

/// A port of a Service.
#[derive(Debug)]
pub(super) struct ServicePort {
    pub(super) number: u64,
    /// Port of the pods, a number or a name; `None` if it is the same.
    pub(super) target: Option<Value>,
}

/// A `PersistentVolumeClaim`.
#[derive(Debug, Default)]
pub(super) struct VolumeClaim {
    pub(super) access_modes: Vec<String>,
    pub(super) class: String,
}

/// A `PodGroup`.
#[derive(Debug, Default)]
pub(super) struct GroupManifest {
    /// Minimum number of pods, and its field.
    pub(super) minimum: Option<(u64, ObjectField)>,
    /// Names of the resources that it reserves, and their field; `None` if it reserves none.
    pub(super) reserved: Option<(Vec<String>, ObjectField)>,
}

/// A pod of etcd.
#[derive(Debug)]
pub(super) struct StorePod {
    labels: Map<String, Value>,
    pub(super) image: String,
    /// True if it serves version 2 of etcd's API.
    pub(super) serves_v2: bool,
}

impl NamespaceObjects {
    /// Adds the object in `document`, if it is of one of these kinds.
    pub fn add(&mut self, document: &Document) {
        let object = &document.value;
        let Some(name) = object.get("metadata").and_then(|metadata| json::text(metadata, "name")) else { return };
        let api_version = json::text(object, "apiVersion").unwrap_or_default();
        let spec = object.get("spec").unwrap_or(&Value::Null);
        match json::text(object, "kind") {
            Some("Service") if api_version == "v1" => {
                self.services.insert(name.to_owned(), ServiceManifest::read(spec));
            }
            Some("PersistentVolumeClaim") => {
                self.claims.insert(name.to_owned(), VolumeClaim::read(spec));
            }
            Some("PodGroup") => {
                if let Some(mode) = group_mode(api_version) {
                    self.groups.insert((mode, name.to_owned()), GroupManifest::read(document, spec));
                }
            }
            Some("LocalQueue") if api_version.starts_with(KUEUE_GROUP) => {
                self.has_default_queue |= name == DEFAULT_QUEUE;
            }
            Some("Pod") => self.stores.extend(StorePod::read(object)),
            _ => self.stores.extend(spec.get("template").and_then(StorePod::read)),
        }
    }

    /// Adds the `LocalQueue` for jobs without the label of a queue.
    pub(crate) fn add_default_queue(&mut self) {
        self.has_default_queue = true;
    }

    /// Returns true if Kueue labels jobs without the label of a queue with its default one.
    pub(crate) fn has_default_queue(&self) -> bool {
        self.has_default_queue
    }

    /// Returns the Service that `host`, as a pod of `namespace` resolves it, is the name of.
    pub(super) fn service<'a>(&'a self, host: &str, namespace: &str) -> Option<(&'a str, &'a ServiceManifest)> {
        let mut labels = host.split('.');
        let name = labels.next()?;
        let is_local =
            labels.next().is_none_or(|label| label == namespace) && labels.next().is_none_or(|it| it == "svc");
        self.services.get_key_value(name).filter(|_| is_local).map(|(name, service)| (name.as_str(), service))
    }

    /// Returns the name of the first Service of which `name` is a misspelling, and for which `selects` returns true.
    pub(super) fn similar_service(&self, name: &str, selects: impl Fn(&ServiceManifest) -> bool) -> Option<&str> {
        let mut compared = self.services.iter().take(MAX_COMPARED);
        let found = compared.find(|(known, service)| is_typo(name, known) && selects(service));
        found.map(|(known, _)| known.as_str())
    }

    /// Returns the claim called `name`.
    pub(super) fn claim(&self, name: &str) -> Option<&VolumeClaim> {
        self.claims.get(name)
    }

    /// Returns the `PodGroup` that `pod` names, with its name.
    pub(super) fn group<'a>(&self, pod: Pod<'a>) -> Option<(&'a str, &GroupManifest)> {
        GangMode::WITH_OBJECTS.into_iter().find_map(|mode| {
            let name = mode.gang_named_by(pod)?;
            Some((name, self.groups.get(&(mode, name.to_owned()))?))
        })
    }

    /// Returns the pods of etcd that `service` selects.
    pub(super) fn stores<'a>(&'a self, service: &'a ServiceManifest) -> impl Iterator<Item = &'a StorePod> {
        let is_selected = |pod: &&StorePod| {
            service
                .selector
                .iter()
                .all(|(key, value)| pod.labels.get(key).and_then(Value::as_str) == Some(value.as_str()))
        };
        self.stores.iter().filter(|_| !service.selector.is_empty()).filter(is_selected)
    }
}

impl ServiceManifest {
    fn read(spec: &Value) -> Self {
        let selector = spec.get("selector").and_then(Value::as_object).into_iter().flatten();
        let is_external = json::text(spec, "type") == Some("ExternalName");
        let port = |port: &Value| {
            let target = port.get("targetPort").filter(|target| !target.is_null());
            Some(ServicePort { number: port.get("port")?.as_u64()?, target: target.cloned() })
        };
        Self {
            selector: selector.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect(),
            is_headless: is_external || json::text(spec, "clusterIP") == Some("None"),
            ports: json::items(spec, "ports").filter_map(port).collect(),
        }
    }
}

impl VolumeClaim {
    fn read(spec: &Value) -> Self {
        Self {
            access_modes: json::items(spec, "accessModes").filter_map(Value::as_str).map(str::to_owned).collect(),
            class: json::text(spec, "storageClassName").unwrap_or_default().to_owned(),
        }
    }
}

impl GroupManifest {
    /// Reads `spec` of the `PodGroup` of any API in `document`.
    fn read(document: &Document, spec: &Value) -> Self {
        let native = || Some((NATIVE_MINIMUM, spec.get("schedulingPolicy")?.get("gang")?.get("minCount")?));
        let minimum = spec.get("minMember").map(|minimum| ("/spec/minMember", minimum)).or_else(native);
        let minimum = minimum.and_then(|(field, minimum)| Some((minimum.as_u64()?, ObjectField::of(document, field))));
        let reserved = resource_names(spec.get("minResources"));
        let reserved = reserved.map(|names| (names, ObjectField::of(document, "/spec/minResources")));
        Self { minimum, reserved }
    }
}

impl StorePod {
    /// Reads `pod`, a pod or a pod template.
    fn read(pod: &Value) -> Option<Self> {
        let is_store = |container: &Container<'_>| container.kind == ContainerKind::App;
        let mut containers = Pod::new(pod).containers().filter(is_store);
        let (container, serves_v2) = containers.find_map(|container| Some((container, container.serves_etcd_v2()?)))?;
        let labels = pod.get("metadata").and_then(|metadata| metadata.get("labels")?.as_object());
        let image = json::text(container.raw(), "image")?.to_owned();
        Some(Self { labels: labels.cloned().unwrap_or_default(), image, serves_v2 })
    }
}

/// Returns the names of the resources in a resource list.
pub(super) fn resource_names(list: Option<&Value>) -> Option<Vec<String>> {
    Some(list?.as_object()?.keys().cloned().collect())
}

/// Returns the mode whose `PodGroups` have this `apiVersion`.
fn group_mode(api_version: &str) -> Option<GangMode> {
    let (group, _) = api_version.split_once('/')?;
    GroupApi::ALL.into_iter().find(|api| api.group() == group).map(GroupApi::mode)
}
