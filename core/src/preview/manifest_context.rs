//! What the rest of the input says of a document: labels of namespaces and training runtimes, wherever they stand.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::manifest::Document;
use crate::workload::{RenderError, Runtimes};
use crate::{keys, scope};

/// The kinds that [`ManifestContext`] collects: only documents that mention one of them are worth parsing for it.
pub const CONTEXT_KINDS: [&str; 3] = ["Namespace", "TrainingRuntime", "ClusterTrainingRuntime"];

/// Labels of namespaces, and training runtimes.
#[derive(Debug)]
pub struct ManifestContext {
    given: Option<BTreeMap<String, String>>,
    by_namespace: BTreeMap<String, BTreeMap<String, String>>,
    /// A namespace of which nothing is known is taken as opted in and injected: that is what a preview is asked about.
    unknown: BTreeMap<String, String>,
    runtimes: Runtimes,
    /// Labels that every namespace has beside its own.
    added: BTreeMap<String, String>,
}

impl ManifestContext {
    /// Nothing known yet; `given` are the labels of all namespaces, whatever the input says.
    #[must_use]
    pub fn new(given: Option<BTreeMap<String, String>>) -> Self {
        let unknown = [(keys::INJECT, scope::ENABLED), (keys::ISTIO_INJECTION, "enabled")];
        Self {
            given,
            by_namespace: BTreeMap::new(),
            unknown: unknown.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
            runtimes: Runtimes::default(),
            added: BTreeMap::new(),
        }
    }

    /// Adds label `key` to every namespace, in the place of one of its own.
    #[must_use]
    pub fn with_label(mut self, key: &str, value: &str) -> Self {
        self.added.insert(key.to_owned(), value.to_owned());
        let known = self.given.iter_mut().chain(self.by_namespace.values_mut()).chain([&mut self.unknown]);
        for labels in known {
            labels.extend(self.added.clone());
        }
        self
    }

    /// Takes note of `document` if it is of one of [`CONTEXT_KINDS`]. `namespace` is that of documents without one.
    pub fn note(&mut self, document: &Document, namespace: &str) {
        let text = |pointer: &str| document.value.pointer(pointer).and_then(Value::as_str);
        let Some(name) = text("/metadata/name") else { return };
        let group = text("/apiVersion").and_then(|version| version.split_once('/')).map(|(group, _)| group);
        match (group, text("/kind")) {
            (None, Some("Namespace")) => {
                self.set(name.to_owned(), labels(&document.value));
            }
            (Some("trainer.kubeflow.org"), Some("TrainingRuntime")) => {
                let namespace = text("/metadata/namespace").unwrap_or(namespace).to_owned();
                self.runtimes.by_name.insert((Some(namespace), name.to_owned()), document.value.clone());
            }
            (Some("trainer.kubeflow.org"), Some("ClusterTrainingRuntime")) => {
                self.runtimes.by_name.insert((None, name.to_owned()), document.value.clone());
            }
            _ => {}
        }
    }

    /// The same, but that a namespace of which nothing is known is not taken as injected.
    #[must_use]
    pub fn without_mesh(mut self) -> Self {
        self.unknown.remove(keys::ISTIO_INJECTION);
        self
    }

    /// Sets the labels of `namespace`, whatever the input says of it.
    pub fn set(&mut self, namespace: String, mut labels: BTreeMap<String, String>) {
        labels.extend(self.added.clone());
        self.by_namespace.insert(namespace, labels);
    }

    /// The labels of `namespace`.
    #[must_use]
    pub fn labels(&self, namespace: &str) -> &BTreeMap<String, String> {
        self.given.as_ref().or_else(|| self.by_namespace.get(namespace)).unwrap_or(&self.unknown)
    }

    /// The training runtimes of the input.
    #[must_use]
    pub fn runtimes(&self) -> &Runtimes {
        &self.runtimes
    }
}

/// Refuses a `Namespace` whose labels are none: they decide what every pod in it gets.
pub(super) fn check(namespace: &Value) -> Result<(), RenderError> {
    let expected = "a mapping of strings";
    let invalid = |path: String, found: &Value| RenderError::Invalid { path, found: found.to_string(), expected };
    match namespace.pointer("/metadata/labels") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Object(labels)) => match labels.iter().find(|(_, value)| !value.is_string()) {
            None => Ok(()),
            Some((key, value)) => Err(invalid(format!("metadata.labels[{key}]"), value)),
        },
        Some(other) => Err(invalid("metadata.labels".to_owned(), other)),
    }
}

fn labels(namespace: &Value) -> BTreeMap<String, String> {
    let labels = namespace.pointer("/metadata/labels").and_then(Value::as_object);
    labels.into_iter().flatten().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}
