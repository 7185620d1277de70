//! Context of a manifest in the input: namespace labels, training runtimes, `ComputeDomains`, the objects of dynamic
//! resource allocation, Services, objects of Istio, and those that training jobs use.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::duplicates::Duplicates;
use super::namespace_metadata::labels;
use super::{LiveWorkload, namespace_of, similar_namespace};
use crate::dra::{ClaimFacts, ClaimObjects, GROUP};
use crate::fabric::{COMPUTE_DOMAIN_GROUP, ComputeDomain};
use crate::gang::WorkloadKey;
use crate::lint::NamespaceObjects;
use crate::manifest::{Document, DocumentWarning};
use crate::mesh_objects::MeshObjects;
use crate::workload::{CLUSTER_RUNTIME, RuntimeReference, Runtimes, StockRuntimes, TRAINER_GROUP};
use crate::{keys, scope};

/// Kinds that [`ManifestContext`] collects, `TrainJob`, which uses runtimes, and the image of etcd, whose pods any kind may create. Documents that do not contain
/// any of these strings can be skipped.
pub const CONTEXT_KINDS: [&str; 15] = [
    "Namespace",
    "TrainingRuntime",
    "ClusterTrainingRuntime",
    "TrainJob",
    "ComputeDomain",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "DeviceClass",
    "Service",
    "PeerAuthentication",
    "DestinationRule",
    "PersistentVolumeClaim",
    "PodGroup",
    "LocalQueue",
    "etcd",
];

/// Label that every namespace has.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Namespace labels, training runtimes, `ComputeDomains`, claims and device classes of the input.
#[derive(Debug)]
pub struct ManifestContext {
    /// Labels of all namespaces, which override those of the input.
    override_labels: Option<BTreeMap<String, String>>,
    by_namespace: BTreeMap<String, BTreeMap<String, String>>,
    /// Namespaces in `by_namespace` whose labels are those of the input, with their documents.
    namespaces: BTreeMap<String, Arc<Document>>,
    /// Labels of namespaces that are not in the input: by default those of an injected namespace that is opted in.
    default_labels: BTreeMap<String, String>,
    runtimes: Runtimes,
    /// Runtimes that the `TrainJobs` of the input use.
    used_runtimes: BTreeSet<RuntimeReference>,
    compute_domains: BTreeMap<String, Vec<ComputeDomain>>,
    /// Claims, templates and device classes.
    claims: ClaimObjects,
    /// Services and objects of Istio.
    mesh: MeshObjects,
    /// Objects of each namespace that training jobs use.
    objects: BTreeMap<String, NamespaceObjects>,
    /// Those of a namespace without any.
    no_objects: NamespaceObjects,
    duplicates: Duplicates,
    /// Objects of manifests that exist in the cluster, each with those that it has created.
    live_workloads: HashMap<WorkloadKey, Vec<LiveWorkload>>,
    /// Labels that are added to every namespace.
    extra_labels: BTreeMap<String, String>,
}

impl ManifestContext {
    /// Creates an empty context. `override_labels` are the labels of all namespaces, regardless of the input.
    #[must_use]
    pub fn new(override_labels: Option<BTreeMap<String, String>>) -> Self {
        let default_labels = [(keys::INJECT, scope::ENABLED), (keys::ISTIO_INJECTION, "enabled")];
        Self {
            override_labels,
            by_namespace: BTreeMap::new(),
            namespaces: BTreeMap::new(),
            default_labels: default_labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
            runtimes: Runtimes::default(),
            used_runtimes: BTreeSet::new(),
            compute_domains: BTreeMap::new(),
            claims: ClaimObjects::default(),
            mesh: MeshObjects::default(),
            objects: BTreeMap::new(),
            no_objects: NamespaceObjects::default(),
            duplicates: Duplicates::default(),
            live_workloads: HashMap::new(),
            extra_labels: BTreeMap::new(),
        }
    }

    /// Adds a label to every namespace, overriding the namespace's own.
    #[must_use]
    pub fn with_label(mut self, key: &str, value: &str) -> Self {
        self.extra_labels.insert(key.to_owned(), value.to_owned());
        let maps = self.override_labels.iter_mut().chain(self.by_namespace.values_mut());
        for labels in maps.chain([&mut self.default_labels]) {
            labels.extend(self.extra_labels.clone());
        }
        self
    }

    /// Adds `document` if it is one of [`CONTEXT_KINDS`]. `namespace` is the namespace of documents without one. Of several
    /// documents with the same object, the last one counts.
    pub fn add(&mut self, document: &Document, namespace: &str) {
        let text = |pointer: &str| document.value.pointer(pointer).and_then(Value::as_str);
        self.used_runtimes.extend(RuntimeReference::all(&document.value, namespace_of(document, namespace)));
        let Some(name) = text("/metadata/name") else { return };
        let group = text("/apiVersion").and_then(|version| version.split_once('/')).map(|(group, _)| group);
        if let Some(kind) = text("/kind").filter(|kind| self.is_exclusive(group, kind)) {
            let namespace = text("/metadata/namespace").unwrap_or(namespace);
            self.duplicates.add(document, kind, namespace, name);
        }
        match (group, text("/kind")) {
            (None, Some("Namespace")) => {
                self.set_labels(name.to_owned(), labels(&document.value));
                self.namespaces.insert(name.to_owned(), Arc::new(document.clone()));
            }
            (Some(TRAINER_GROUP), Some("TrainingRuntime" | CLUSTER_RUNTIME)) => {
                self.add_runtime_manifest(document, namespace);
            }
            (Some(COMPUTE_DOMAIN_GROUP), Some("ComputeDomain")) => {
                let namespace = text("/metadata/namespace").unwrap_or(namespace).to_owned();
                let domain = ComputeDomain::of(document);
                if let Some(domain) = &domain {
                    self.claims.add_channel_template(&namespace, &domain.template);
                }
                self.compute_domains.entry(namespace).or_default().extend(domain);
            }
            (Some(GROUP), Some(_)) => self.claims.add(&document.value, namespace),
            _ => {
                self.mesh.add_document(document, namespace);
                let namespace = text("/metadata/namespace").unwrap_or(namespace);
                self.objects.entry(namespace.to_owned()).or_default().add(document);
            }
        }
    }

    /// Returns the warning about `document` if it replaces another object of the input.
    pub(super) fn duplicate(&self, document: &Document) -> Option<&DocumentWarning> {
        self.duplicates.warning(document)
    }

    /// Returns true if a `TrainJob` of the input uses the runtime.
    pub(super) fn is_used(&self, runtime: &RuntimeReference) -> bool {
        self.used_runtimes.contains(runtime)
    }

    /// Returns true if an object of this kind replaces an earlier one with the same name.
    fn is_exclusive(&self, group: Option<&str>, kind: &str) -> bool {
        match group {
            None => kind == "Namespace" && self.override_labels.is_none(),
            Some(TRAINER_GROUP) => ["TrainingRuntime", CLUSTER_RUNTIME].contains(&kind),
            Some(GROUP) => ["ResourceClaim", "ResourceClaimTemplate", "DeviceClass"].contains(&kind),
            Some(_) => false,
        }
    }

    /// Adds `document` if it is a training runtime, and replaces the one with the same name. Returns true if it is one.
    /// `namespace` is the namespace of documents without one.
    pub fn add_runtime_manifest(&mut self, document: &Document, namespace: &str) -> bool {
        let reference = RuntimeReference::from_runtime(&document.value, namespace);
        reference.map(|reference| self.add_runtime(reference, document.clone())).is_some()
    }

    /// Adds the manifest of a training runtime.
    pub fn add_runtime(&mut self, reference: RuntimeReference, manifest: Document) {
        self.runtimes.by_name.insert(reference, Arc::new(manifest));
    }

    /// Sets the runtimes that are assumed for `TrainJobs` whose runtime has not been added.
    pub fn assume_runtimes(&mut self, stock: StockRuntimes) {
        self.runtimes.stock = stock;
    }

    /// Adds the object of a manifest that exists in the cluster, which `key` identifies, and those that it has created.
    pub fn add_live_workloads(&mut self, key: WorkloadKey, workloads: Vec<LiveWorkload>) {
        self.live_workloads.insert(key, workloads);
    }

    /// Adds Kueue's `LocalQueue` of `namespace` for jobs without the label of a queue.
    pub fn add_default_queue(&mut self, namespace: String) {
        self.objects.entry(namespace).or_default().add_default_queue();
    }

    /// Returns the object of `key`, if it exists in the cluster, and those that it has created.
    pub(super) fn live_workloads(&self, key: &WorkloadKey) -> &[LiveWorkload] {
        self.live_workloads.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// Sets the labels of `namespace`, which replace those of the input.
    pub fn set_labels(&mut self, namespace: String, mut labels: BTreeMap<String, String>) {
        self.namespaces.remove(&namespace);
        labels.extend(self.extra_labels.clone());
        self.by_namespace.insert(namespace, labels);
    }

    /// Returns the labels of `namespace`.
    #[must_use]
    pub fn labels(&self, namespace: &str) -> &BTreeMap<String, String> {
        self.override_labels.as_ref().or_else(|| self.by_namespace.get(namespace)).unwrap_or(&self.default_labels)
    }

    /// Returns the Namespaces of the input that have labels which the labels of all namespaces replace.
    #[must_use]
    pub fn replaced_namespaces(&self) -> Vec<&str> {
        let Some(all) = &self.override_labels else { return Vec::new() };
        let is_replaced = |name: &&String| {
            let labels = self.by_namespace.get(*name).into_iter().flatten();
            labels.into_iter().any(|(key, value)| key != NAME_LABEL && all.get(key) != Some(value))
        };
        self.namespaces.keys().filter(is_replaced).map(String::as_str).collect()
    }

    /// Returns true if the labels of some namespace are those of its Namespace in the input.
    #[must_use]
    pub fn has_namespaces(&self) -> bool {
        self.override_labels.is_none() && !self.namespaces.is_empty()
    }

    /// Returns the `ComputeDomains` of `namespace` in the input.
    #[must_use]
    pub fn compute_domains(&self, namespace: &str) -> &[ComputeDomain] {
        self.compute_domains.get(namespace).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the claims, templates and device classes of the input, beside those of `known`.
    #[must_use]
    pub fn claims(&self, known: &ClaimFacts) -> ClaimFacts {
        self.claims.facts(known)
    }

    /// Returns the Services and objects of Istio of the input, beside those of `known`; `None` if there are none.
    #[must_use]
    pub fn mesh(&self, known: Option<&MeshObjects>) -> Option<Arc<MeshObjects>> {
        let all = known.map_or_else(|| self.mesh.clone(), |known| self.mesh.clone().or(known));
        (!all.is_empty()).then(|| Arc::new(all))
    }

    /// Returns the other objects of `namespace` in the input.
    pub(super) fn objects(&self, namespace: &str) -> &NamespaceObjects {
        self.objects.get(namespace).unwrap_or(&self.no_objects)
    }

    /// Returns the labels of all namespaces, if they do not depend on the input.
    #[must_use]
    pub fn override_labels(&self) -> Option<&BTreeMap<String, String>> {
        self.override_labels.as_ref()
    }

    /// Returns the labels that were added to every namespace.
    #[must_use]
    pub fn added_labels(&self) -> &BTreeMap<String, String> {
        &self.extra_labels
    }

    /// Returns the labels of namespaces that are not in the input.
    #[must_use]
    pub fn assumed_labels(&self) -> &BTreeMap<String, String> {
        &self.default_labels
    }

    /// Returns the Namespace in the input with the labels of `namespace`; `None` if they are from elsewhere.
    pub(super) fn namespace(&self, namespace: &str) -> Option<&Document> {
        self.namespaces.get(namespace).filter(|_| self.override_labels.is_none()).map(Arc::as_ref)
    }

    /// Returns the Namespace in the input of which `namespace` is probably a misspelling.
    #[must_use]
    pub fn similar_namespace(&self, namespace: &str) -> Option<&str> {
        let mut names = self.namespaces.keys().map(String::as_str);
        names.find(|name| similar_namespace::resembles(namespace, name)).filter(|_| self.override_labels.is_none())
    }

    /// Returns true if the labels of `namespace` are not known but assumed.
    #[must_use]
    pub fn is_assumed(&self, namespace: &str) -> bool {
        self.override_labels.is_none() && !self.by_namespace.contains_key(namespace)
    }

    /// Returns the training runtimes of the input.
    #[must_use]
    pub fn runtimes(&self) -> &Runtimes {
        &self.runtimes
    }
}
