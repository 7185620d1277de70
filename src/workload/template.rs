//! From a pod template to a pod: the parts that every operator shares.
//!
//! A [`Draft`] is a template that was checked once, so that an operator's changes to it cannot fail. Where a function
//! here adds an entry it does so as Go's encoder writes it: an empty value is left out.

mod batch;
mod field;
mod merge;
mod quantity;
#[cfg(test)]
pub(super) mod testing;

use serde_json::{Map, Value, json};

pub(super) use batch::{BatchJob, NO_UID};
pub(super) use field::Field;
pub(super) use merge::strategic_merge;
pub(super) use quantity::whole_units;

use super::{Manifest, RenderError};

/// A pod in the making.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// The pod's labels, the template's first.
    pub(super) labels: Map<String, Value>,
    /// The pod's annotations, the template's first.
    pub(super) annotations: Map<String, Value>,
    /// The pod's finalizers. Operators that build the pod by hand drop the template's.
    pub(super) finalizers: Vec<Value>,
    /// The pod's spec, in the order of the template.
    pub(super) spec: Map<String, Value>,
}

/// The name that a pod is created under.
#[derive(Clone, Debug)]
pub(super) enum PodName {
    /// `metadata.name`.
    Fixed(String),
    /// `metadata.generateName`.
    Generated(String),
}

/// A workload as its pods refer to it.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    /// The workload's name; a generated one ends with zeros.
    pub(super) name: String,
    /// The workload's uid; zeros before it is created.
    pub(super) uid: String,
    /// What a reader must know of these two.
    pub(super) notes: Vec<String>,
}

impl Draft {
    /// Reads the template at `field` and checks the shape of every part that operators add to.
    pub(super) fn read(field: &Field<'_>) -> Result<Self, RenderError> {
        field.object()?;
        let (metadata, spec) = (field.at("metadata"), field.at("spec"));
        metadata.object()?;
        spec.object()?;
        let containers = spec.at("containers");
        if containers.items()?.is_empty() {
            return Err(containers.missing());
        }
        for list in [spec.at("initContainers"), containers] {
            for container in list.items()? {
                container.required_object()?;
                for part in ["env", "envFrom", "ports", "volumeMounts", "command", "args"] {
                    container.at(part).items()?;
                }
            }
        }
        spec.at("volumes").items()?;
        Ok(Self {
            labels: metadata.at("labels").object()?.cloned().unwrap_or_default(),
            annotations: metadata.at("annotations").object()?.cloned().unwrap_or_default(),
            finalizers: metadata.at("finalizers").items()?.iter().filter_map(Field::value).cloned().collect(),
            spec: spec.required_object()?.clone(),
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

    /// Sets a field of the spec.
    pub(super) fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.spec.insert(key.to_owned(), value.into());
    }

    /// The containers, without the init containers.
    pub(super) fn containers(&mut self) -> impl Iterator<Item = &mut Map<String, Value>> {
        objects(&mut self.spec, "containers")
    }

    /// The init containers.
    pub(super) fn init_containers(&mut self) -> impl Iterator<Item = &mut Map<String, Value>> {
        objects(&mut self.spec, "initContainers")
    }

    /// The container of this name.
    pub(super) fn container(&mut self, name: &str) -> Option<&mut Map<String, Value>> {
        self.containers().find(|container| text(container, "name") == name)
    }

    /// Sets the pod's restart policy. `ExitCode` is the operators' own word: they judge the exit code, the kubelet
    /// must not restart.
    pub(super) fn restart(&mut self, policy: &str) {
        self.set("restartPolicy", if policy == "ExitCode" { "Never" } else { policy });
    }

    /// The pod as it is sent to the apiserver.
    pub(super) fn into_pod(self, name: PodName, namespace: &str, owner: Value) -> Value {
        let mut metadata = Map::new();
        let (key, name) = match name {
            PodName::Fixed(name) => ("name", name),
            PodName::Generated(prefix) => ("generateName", prefix),
        };
        metadata.insert(key.to_owned(), name.into());
        metadata.insert("namespace".to_owned(), namespace.into());
        metadata.insert("labels".to_owned(), self.labels.into());
        if !self.annotations.is_empty() {
            metadata.insert("annotations".to_owned(), self.annotations.into());
        }
        metadata.insert("ownerReferences".to_owned(), Value::Array(vec![owner]));
        if !self.finalizers.is_empty() {
            metadata.insert("finalizers".to_owned(), self.finalizers.into());
        }
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": self.spec})
    }
}

impl Identity {
    /// Reads name and uid of `manifest`.
    pub(super) fn read(manifest: &Manifest<'_>) -> Result<Self, RenderError> {
        let metadata = Field::root(manifest.raw).at("metadata");
        let uid = metadata.at("uid").text()?.unwrap_or(NO_UID).to_owned();
        if let Some(name) = metadata.at("name").text()?.filter(|name| !name.is_empty()) {
            return Ok(Self { name: name.to_owned(), uid, notes: Vec::new() });
        }
        let prefix = metadata.at("generateName").text()?.filter(|prefix| !prefix.is_empty());
        let prefix = prefix.ok_or_else(|| metadata.at("name").missing())?;
        let notes = vec![format!("The apiserver completes the name {prefix}: the five zeros stand for its letters.")];
        Ok(Self { name: format!("{prefix}00000"), uid, notes })
    }

    /// The reference by which a pod names this workload as its controller.
    pub(super) fn owner(&self, api_version: &str, kind: &str) -> Value {
        controlled_by(api_version, kind, &self.name, &self.uid)
    }
}

/// An owner reference of a controller.
pub(super) fn controlled_by(api_version: &str, kind: &str, name: &str, uid: &str) -> Value {
    json!({
        "apiVersion": api_version, "kind": kind, "name": name, "uid": uid,
        "controller": true, "blockOwnerDeletion": true,
    })
}

/// An environment variable.
pub(super) fn env(name: &str, value: impl Into<String>) -> Value {
    let value = value.into();
    if value.is_empty() { json!({"name": name}) } else { json!({"name": name, "value": value}) }
}

/// An environment variable that takes a field of its pod.
pub(super) fn env_of_field(name: &str, path: &str) -> Value {
    json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}})
}

/// Adds `items` at the end of a list, whatever stands there already.
pub(super) fn append(object: &mut Map<String, Value>, list: &str, items: impl IntoIterator<Item = Value>) {
    if let Some(Value::Array(present)) = object.get_mut(list) {
        present.extend(items);
    } else {
        object.insert(list.to_owned(), items.into_iter().collect());
    }
}

/// Puts `item` in the place of the entry with the same `key`, or at the end of the list.
pub(super) fn upsert(object: &mut Map<String, Value>, list: &str, key: &str, item: Value) {
    let present = object.get_mut(list).and_then(Value::as_array_mut);
    match present.and_then(|entries| entries.iter_mut().find(|entry| entry.get(key) == item.get(key))) {
        Some(entry) => *entry = item,
        None => append(object, list, [item]),
    }
}

/// The text of a field; an absent one is empty, as in Go.
pub(super) fn text<'a>(object: &'a Map<String, Value>, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a list is absent or empty, which Go does not tell apart.
pub(super) fn is_empty(object: &Map<String, Value>, list: &str) -> bool {
    object.get(list).and_then(Value::as_array).is_none_or(Vec::is_empty)
}

fn objects<'a>(spec: &'a mut Map<String, Value>, list: &str) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::containers_null(json!({"spec": {"containers": null}}), "t.spec.containers is missing")]
    #[case::no_spec(json!({}), "t.spec.containers is missing")]
    #[case::not_an_object(json!("x"), "t is \"x\": expected an object")]
    #[case::spec_is_a_list(json!({"spec": []}), "t.spec is []: expected an object")]
    #[case::container_is_text(json!({"spec": {"containers": ["a"]}}), "t.spec.containers[0] is \"a\": expected an object")]
    #[case::env_is_an_object(json!({"spec": {"containers": [{"env": {"A": "1"}}]}}), "t.spec.containers[0].env is {\"A\":\"1\"}: expected a list")]
    #[case::volumes_are_text(json!({"spec": {"containers": [{}], "volumes": "v"}}), "t.spec.volumes is \"v\": expected a list")]
    #[case::labels_are_a_list(json!({"metadata": {"labels": ["a"]}, "spec": {"containers": [{}]}}), "t.metadata.labels is [\"a\"]: expected an object")]
    fn a_malformed_template_is_refused_with_its_path(#[case] template: Value, #[case] message: &str) {
        let error = Draft::read(&Field::named(&template, "t")).unwrap_err();
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn an_entry_is_replaced_in_its_place_or_added_at_the_end() {
        let mut container = json!({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]});
        let container = container.as_object_mut().unwrap();
        upsert(container, "env", "name", env("A", "3"));
        upsert(container, "env", "name", env("C", ""));
        upsert(container, "volumeMounts", "mountPath", json!({"name": "v", "mountPath": "/v"}));
        let expected = json!({
            "env": [{"name": "A", "value": "3"}, {"name": "B", "value": "2"}, {"name": "C"}],
            "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        });
        assert_eq!(Value::Object(container.clone()), expected);
    }
}
