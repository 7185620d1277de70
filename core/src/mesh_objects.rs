//! Objects of Kubernetes and Istio that decide whether connections to a pod use mTLS: Services, `PeerAuthentications`
//! and `DestinationRules`, from manifests or from a cluster.
//!
//! Follows the documentation of Istio's APIs. Absent objects are unknown ones: without a `PeerAuthentication`, mTLS is
//! not required.

mod authentication;
mod destination_rule;
mod service;

use std::collections::BTreeMap;

use serde_json::Value;

pub use authentication::MtlsMode;
pub use service::Service;

use authentication::PeerAuthentication;
use destination_rule::DestinationRule;

use crate::json;
use crate::manifest::{Document, ObjectField};
use crate::pod::Pod;

/// API group of `PeerAuthentication`.
pub const SECURITY_GROUP: &str = "security.istio.io";
/// API group of `DestinationRule`.
pub const NETWORKING_GROUP: &str = "networking.istio.io";
/// Maximum number of objects. Further ones are unknown.
const MAX_OBJECTS: usize = 50_000;

/// Services, `PeerAuthentications` and `DestinationRules`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeshObjects {
    /// Services that select pods, by namespace and name.
    services: BTreeMap<String, BTreeMap<String, Service>>,
    /// By namespace and name.
    authentications: BTreeMap<(String, String), PeerAuthentication>,
    /// By namespace and name.
    destination_rules: BTreeMap<(String, String), DestinationRule>,
    count: usize,
}

/// The objects that apply to a pod.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeshView<'a> {
    /// The objects; `None` if unknown.
    pub objects: Option<&'a MeshObjects>,
    /// Namespace of the pod.
    pub namespace: &'a str,
}

/// A `DestinationRule` by which clients send mTLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutualRule<'a> {
    /// Namespace and name.
    pub name: String,
    /// Its TLS settings; `None` if the rule is not in the input.
    pub field: Option<&'a ObjectField>,
}

impl MeshObjects {
    /// Adds `object` if it has one of the kinds, and replaces the one with the same name. `namespace` is the namespace of
    /// objects without one. Returns false if it is of another kind.
    pub fn add(&mut self, object: &Value, namespace: &str) -> bool {
        self.insert(object, namespace, &|_| None)
    }

    /// Like [`Self::add`], for the object in `document`, whose fields have a position.
    pub fn add_document(&mut self, document: &Document, namespace: &str) {
        self.insert(&document.value, namespace, &|pointer| Some(ObjectField::of(document, pointer)));
    }

    /// Adds `object`, of which `field` returns fields with their positions.
    fn insert(&mut self, object: &Value, namespace: &str, field: &dyn Fn(&str) -> Option<ObjectField>) -> bool {
        let version = json::text(object, "apiVersion").unwrap_or_default();
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let metadata = |key: &str| json::text(object.get("metadata")?, key);
        let Some(name) = metadata("name") else { return false };
        let namespace = metadata("namespace").unwrap_or(namespace).to_owned();
        let kind = (group, json::text(object, "kind").unwrap_or_default());
        let is_known = matches!(
            kind,
            ("", "Service") | (SECURITY_GROUP, "PeerAuthentication") | (NETWORKING_GROUP, "DestinationRule")
        );
        if !is_known || self.count == MAX_OBJECTS {
            return is_known;
        }
        self.count += 1;
        let key = (namespace, name.to_owned());
        match kind {
            ("", _) => {
                if let Some(mut service) = Service::parse(object, &key.0, &key.1) {
                    service.field = field(service::FIELD);
                    self.services.entry(key.0).or_default().insert(key.1, service);
                }
            }
            (SECURITY_GROUP, _) => {
                self.authentications.insert(key, PeerAuthentication::parse(object));
            }
            _ => {
                if let Some(mut rule) = DestinationRule::parse(object) {
                    rule.field = field(rule.pointer());
                    self.destination_rules.insert(key, rule);
                }
            }
        }
        true
    }

    /// Returns true if there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns these objects, and those of `other` of other names.
    #[must_use]
    pub fn or(mut self, other: &Self) -> Self {
        for (namespace, services) in &other.services {
            let own = self.services.entry(namespace.clone()).or_default();
            for (name, service) in services {
                own.entry(name.clone()).or_insert_with(|| service.clone());
            }
        }
        for (key, authentication) in &other.authentications {
            self.authentications.entry(key.clone()).or_insert_with(|| authentication.clone());
        }
        for (key, rule) in &other.destination_rules {
            self.destination_rules.entry(key.clone()).or_insert_with(|| rule.clone());
        }
        self.count = self.count.saturating_add(other.count);
        self
    }

    /// Returns all Services that select pods.
    pub fn services(&self) -> impl Iterator<Item = &Service> {
        self.services.values().flat_map(BTreeMap::values)
    }

    /// Returns the Services of `namespace` that select pods.
    pub fn services_in(&self, namespace: &str) -> impl Iterator<Item = &Service> {
        self.services.get(namespace).into_iter().flat_map(BTreeMap::values)
    }

    /// Returns the mTLS mode of `port`, or of ports without a mode of their own, of a pod in `namespace`. `has_label`
    /// returns true if the pod has the label.
    #[must_use]
    pub fn mode(&self, namespace: &str, port: Option<u16>, has_label: impl Fn(&str, &str) -> bool) -> MtlsMode {
        authentication::mode(&self.authentications, namespace, port, has_label)
    }

    /// Returns the mTLS mode of the pods of `service`, as far as its selector shows: of its target ports, or, if it has no
    /// ports, of any port.
    #[must_use]
    pub fn requires_mtls(&self, service: &Service) -> bool {
        let mode = |port| self.mode(&service.namespace, port, |key, value| service.selects_label(key, value));
        let mut ports = service.target_numbers().peekable();
        if ports.peek().is_none() {
            return mode(None) == MtlsMode::Strict;
        }
        ports.any(|port| mode(port) == MtlsMode::Strict)
    }

    /// Returns the `DestinationRule` by which clients send mTLS to `port` of `service`, whatever the labels of its pods; `None` if
    /// there is none, or another rule is more specific.
    #[must_use]
    pub fn mutual_rule(&self, service: &Service, port: u16) -> Option<MutualRule<'_>> {
        let matching = self.destination_rules.iter().filter_map(|((namespace, name), rule)| {
            Some((rule.specificity(service, namespace)?, namespace, name, rule))
        });
        let (.., namespace, name, rule) = matching.max_by_key(|(specificity, ..)| *specificity)?;
        rule.is_mutual(port).then(|| MutualRule { name: format!("{namespace}/{name}"), field: rule.field.as_ref() })
    }
}

impl<'a> MeshView<'a> {
    /// Returns the Services that select `pod`.
    pub fn services_of(self, pod: Pod<'a>) -> impl Iterator<Item = &'a Service> {
        let services = self.objects.into_iter().flat_map(move |objects| objects.services_in(self.namespace));
        services.filter(move |service| service.selects(pod))
    }

    /// Returns true if `pod` requires mTLS on ports without a mode of their own.
    #[must_use]
    pub fn requires_mtls(self, pod: Pod<'_>) -> bool {
        self.objects.is_some_and(|objects| {
            objects.mode(self.namespace, None, |key, value| pod.label(key) == Some(value)) == MtlsMode::Strict
        })
    }
}

/// Returns the entries of a map of strings.
fn strings(object: Option<&Value>) -> BTreeMap<String, String> {
    let entries = object.and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}
