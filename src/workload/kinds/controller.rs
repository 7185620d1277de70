//! Pods as the built-in controllers make them: a template's labels, annotations, finalizers and spec under the name,
//! the namespace and the reference of an owner.
//!
//! Source of the rules: `GetPodFromTemplate` of Kubernetes 1.36. What only a cluster can know (uids, hashes, random
//! suffixes) is shown as zeros; a digit 0 appears in no hash and in no suffix that Kubernetes makes, so zeros are
//! never mistaken for real ones.

#[cfg(test)]
mod examples;
mod field;
mod list;
#[cfg(test)]
pub(super) mod testing;

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use sha1::{Digest as _, Sha1};

pub(super) use field::Field;
pub(super) use list::{env, env_from_field, has_env, list_mut, object_mut, objects_mut, push};

use super::super::{Manifest, RenderError, Role};
use crate::pod::Pod;

/// Stands for the uid of an object that is not in a cluster.
pub(super) const ZERO_UID: &str = "00000000-0000-0000-0000-000000000000";
/// Stands for a hash over a template; Kubernetes makes up to ten characters of it.
pub(super) const ZERO_HASH: &str = "0000000000";
/// Stands for the random end of a generated name.
pub(super) const ZERO_SUFFIX: &str = "00000";

/// The longest name that the apiserver keeps before it adds a random suffix.
const LONGEST_GENERATED_BASE: usize = 58;
/// The longest name of a pod (a DNS subdomain).
const LONGEST_NAME: usize = 253;

/// The object that controls a pod.
#[derive(Clone, Debug)]
pub(super) struct Owner<'a> {
    /// Its name; a `generateName` is completed with [`ZERO_SUFFIX`].
    pub(super) name: String,
    /// Its uid, or [`ZERO_UID`].
    pub(super) uid: &'a str,
    api_version: &'static str,
    kind: &'static str,
    name_is_generated: bool,
}

/// A pod in the making.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) name: Option<String>,
    pub(super) generate_name: Option<String>,
    pub(super) labels: Map<String, Value>,
    pub(super) annotations: Map<String, Value>,
    pub(super) finalizers: Vec<Value>,
    pub(super) spec: Map<String, Value>,
    pub(super) notes: Vec<String>,
    namespace: String,
    owner: Value,
}

impl<'a> Owner<'a> {
    /// The object of the manifest itself. Its group and version are those that the operator writes, which need not
    /// be those of the manifest.
    pub(super) fn of(
        manifest: &Manifest<'a>,
        api_version: &'static str,
        kind: &'static str,
    ) -> Result<Self, RenderError> {
        let metadata = Field::root(manifest.raw).get("metadata");
        let uid = metadata.get("uid").text().unwrap_or(ZERO_UID);
        if let Some(name) = metadata.get("name").text() {
            return Ok(Self { name: name.to_owned(), uid, api_version, kind, name_is_generated: false });
        }
        let base = metadata.get("generateName").text().ok_or_else(|| metadata.get("name").missing())?;
        let name = format!("{}{ZERO_SUFFIX}", truncate(base, LONGEST_GENERATED_BASE));
        Ok(Self { name, uid, api_version, kind, name_is_generated: true })
    }

    /// An object that the operator creates between this one and the pod.
    pub(super) fn makes(&self, api_version: &'static str, kind: &'static str, name: String) -> Self {
        Self { name, uid: ZERO_UID, api_version, kind, name_is_generated: self.name_is_generated }
    }

    fn reference(&self) -> Value {
        json!({
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        })
    }

    fn generate_name(&self) -> String {
        if self.name.len() < LONGEST_NAME { format!("{}-", self.name) } else { self.name.clone() }
    }
}

impl Draft {
    /// The pod that a built-in controller would make from `template`.
    pub(super) fn new(template: &Field<'_>, owner: &Owner<'_>, namespace: &str) -> Result<Self, RenderError> {
        template.object()?;
        let spec = template.get("spec").object()?.clone();
        let metadata = template.get("metadata");
        let mut notes = Vec::new();
        if owner.name_is_generated {
            notes.push(format!("the apiserver completes metadata.generateName: {ZERO_SUFFIX} stands for its suffix"));
        }
        Ok(Self {
            name: None,
            generate_name: Some(owner.generate_name()),
            labels: metadata.get("labels").map(),
            annotations: metadata.get("annotations").map(),
            finalizers: metadata.get("finalizers").items().iter().filter_map(Field::value).cloned().collect(),
            spec,
            notes,
            namespace: namespace.to_owned(),
            owner: owner.reference(),
        })
    }

    /// Sets a label.
    pub(super) fn label(&mut self, key: &str, value: impl Into<Value>) {
        self.labels.insert(key.to_owned(), value.into());
    }

    /// Sets an annotation.
    pub(super) fn annotate(&mut self, key: &str, value: impl Into<Value>) {
        self.annotations.insert(key.to_owned(), value.into());
    }

    /// Sets the same text as label and as annotation.
    pub(super) fn mark(&mut self, key: &str, value: &str) {
        self.label(key, value);
        self.annotate(key, value);
    }

    /// Sets a field of the pod's spec.
    pub(super) fn set(&mut self, field: &str, value: impl Into<Value>) {
        self.spec.insert(field.to_owned(), value.into());
    }

    /// Whether a text field of the pod's spec is absent or empty, which is one to the operators.
    pub(super) fn is_unset(&self, field: &str) -> bool {
        self.spec.get(field).and_then(Value::as_str).is_none_or(str::is_empty)
    }

    /// Tells the reader something about this pod.
    pub(super) fn note(&mut self, sentence: impl Into<String>) {
        self.notes.push(sentence.into());
    }

    /// The finished pod as a role of its workload.
    pub(super) fn into_role(self, name: impl Into<String>, replicas: u64) -> Role {
        let fields = [
            ("name", self.name.map(Value::String)),
            ("generateName", self.generate_name.map(Value::String)),
            ("namespace", Some(Value::String(self.namespace))),
            ("labels", (!self.labels.is_empty()).then_some(Value::Object(self.labels))),
            ("annotations", (!self.annotations.is_empty()).then_some(Value::Object(self.annotations))),
            ("ownerReferences", Some(Value::Array(vec![self.owner]))),
            ("finalizers", (!self.finalizers.is_empty()).then_some(Value::Array(self.finalizers))),
        ];
        let metadata: Map<String, Value> =
            fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": self.spec});
        Role { name: name.into(), replicas, pod, notes: self.notes }
    }
}

/// The one role of a workload whose pods are all alike: `spec.replicas` of `spec.template`.
pub(super) fn alike(manifest: &Manifest<'_>, owner: &Owner<'_>) -> Result<(Draft, u64), RenderError> {
    let spec = Field::root(manifest.raw).get("spec");
    let replicas = spec.get("replicas").count()?.unwrap_or(1);
    Ok((Draft::new(&spec.get("template"), owner, manifest.namespace)?, replicas))
}

/// The name of the pod's controlling owner, when that is a `kind` of `api_version`.
pub(super) fn owned_by<'a>(pod: Pod<'a>, api_version: &str, kind: &str) -> Option<&'a str> {
    pod.controller().filter(|owner| owner.api_version == api_version && owner.kind == kind).map(|owner| owner.name)
}

/// A label that holds a number.
pub(super) fn label_number(pod: Pod<'_>, key: &str) -> Option<u64> {
    pod.label(key)?.parse().ok()
}

/// SHA-1 of `namespace/name` in hexadecimal: the label by which operators group pods for affinity.
pub(super) fn name_key(namespace: &str, name: &str) -> String {
    let mut key = String::new();
    for byte in Sha1::digest(format!("{namespace}/{name}")) {
        // Writing to a String cannot fail.
        let _ = write!(key, "{byte:02x}");
    }
    key
}

/// The first `length` bytes of a name. Names are ASCII; in a text that is not, a character that would be cut in two
/// is left out.
pub(super) fn truncate(name: &str, length: usize) -> &str {
    &name[..name.floor_char_boundary(length)]
}
