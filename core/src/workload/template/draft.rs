//! A pod under construction: labels, annotations, finalizers and spec of a template, with a name, a namespace and an
//! owner reference.
//!
//! Follows `GetPodFromTemplate` of Kubernetes 1.36.

use std::mem;

use serde_json::{Map, Value, json};

use super::{Field, Owner, ZERO_SUFFIX, text};
use crate::workload::{RenderError, RolePod};

/// A pod under construction.
#[derive(Clone, Debug)]
pub(in crate::workload) struct Draft {
    /// `metadata.name`, if the operator sets it.
    pub(in crate::workload) name: Option<String>,
    /// `metadata.generateName`; by default the owner's name and a dash.
    pub(in crate::workload) generate_name: Option<String>,
    /// Labels of the pod; those of the template come first.
    pub(in crate::workload) labels: Map<String, Value>,
    /// Annotations of the pod; those of the template come first.
    pub(in crate::workload) annotations: Map<String, Value>,
    /// Finalizers of the pod. Operators that do not use `GetPodFromTemplate` drop those of the template.
    pub(in crate::workload) finalizers: Vec<Value>,
    /// Spec of the pod, in the field order of the template.
    pub(in crate::workload) spec: Map<String, Value>,
    namespace: String,
    owner: Value,
    notes: Vec<String>,
}

impl Draft {
    /// Creates the pod that a built-in controller would create from `template`.
    pub(in crate::workload) fn new(
        template: &Field<'_>,
        owner: &Owner<'_>,
        namespace: &str,
    ) -> Result<Self, RenderError> {
        template.required_object()?;
        let spec = template.get("spec").required_object()?.clone();
        let metadata = template.get("metadata");
        let mut notes = Vec::new();
        if owner.name_is_generated {
            notes.push(format!("the apiserver generates the suffix of metadata.generateName, shown as {ZERO_SUFFIX}"));
        }
        Ok(Self {
            name: None,
            generate_name: Some(owner.generate_name()),
            labels: metadata.get("labels").cloned_object()?,
            annotations: metadata.get("annotations").cloned_object()?,
            finalizers: metadata.get("finalizers").items()?.iter().filter_map(Field::value).cloned().collect(),
            spec,
            namespace: namespace.to_owned(),
            owner: owner.reference(),
            notes,
        })
    }

    /// Sets the complete name instead of `generateName`.
    pub(in crate::workload) fn set_name(&mut self, name: impl Into<String>) {
        self.name = Some(name.into());
        self.generate_name = None;
    }

    /// Sets a label.
    pub(in crate::workload) fn label(&mut self, key: &str, value: impl Into<Value>) {
        self.labels.insert(key.to_owned(), value.into());
    }

    /// Sets an annotation.
    pub(in crate::workload) fn annotate(&mut self, key: &str, value: impl Into<Value>) {
        self.annotations.insert(key.to_owned(), value.into());
    }

    /// Sets the same value as a label and as an annotation.
    pub(in crate::workload) fn label_and_annotate(&mut self, key: &str, value: &str) {
        self.label(key, value);
        self.annotate(key, value);
    }

    /// Sets a field of the spec. Keeps a value of another type, with which the apiserver rejects the template: the operator never reads it.
    pub(in crate::workload) fn set(&mut self, field: &str, value: impl Into<Value>) {
        let value = value.into();
        let known = self.spec.get(field).filter(|known| !known.is_null());
        if known.is_none_or(|known| mem::discriminant(known) == mem::discriminant(&value)) {
            self.spec.insert(field.to_owned(), value);
        }
    }

    /// Sets a string field of the spec if it is absent or empty, which operators do not distinguish.
    pub(in crate::workload) fn set_default(&mut self, field: &str, value: impl Into<Value>) {
        if text(&self.spec, field).is_empty() {
            self.set(field, value);
        }
    }

    /// Returns true if the pod uses the host network.
    pub(in crate::workload) fn uses_host_network(&self) -> bool {
        self.spec.get("hostNetwork").and_then(Value::as_bool) == Some(true)
    }

    /// Adds a note for the user.
    pub(in crate::workload) fn add_note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Returns the finished pod as a role of its workload.
    pub(in crate::workload) fn into_role(self, name: impl Into<String>, replicas: u64) -> RolePod {
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
        RolePod {
            name: name.into(),
            replicas: Some(replicas),
            generic: false,
            assumed_runtime: None,
            runtime: None,
            pod,
            notes: self.notes,
            follows: Vec::new(),
            component: None,
        }
    }
}

/// Validates that a template has containers, and that the fields that operators add to have the expected type. For
/// operators that inspect the containers before they create a pod.
pub(in crate::workload) fn require_containers(template: &Field<'_>) -> Result<(), RenderError> {
    template.object()?;
    template.get("metadata").object()?;
    require_pod_spec(&template.get("spec"))
}

/// Validates the spec of a template in the same way.
pub(in crate::workload) fn require_pod_spec(spec: &Field<'_>) -> Result<(), RenderError> {
    spec.object()?;
    let containers = spec.get("containers");
    if containers.items()?.is_empty() {
        return Err(spec.missing_field("containers", "PodSpec"));
    }
    for list in [spec.get("initContainers"), containers] {
        for container in list.items()? {
            container.required_object()?;
            for list in ["env", "envFrom", "ports", "volumeMounts", "command", "args"] {
                container.get(list).items()?;
            }
        }
    }
    spec.get("volumes").items()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::workload::{Manifest, Runtimes};

    #[rstest]
    #[case::absent(json!({}), json!("Never"))]
    #[case::null(json!({"restartPolicy": null}), json!("Never"))]
    #[case::another_policy(json!({"restartPolicy": "Always"}), json!("Never"))]
    #[case::number(json!({"restartPolicy": 5}), json!(5))]
    #[case::list(json!({"restartPolicy": []}), json!([]))]
    fn only_values_of_the_same_type_are_replaced(#[case] spec: Value, #[case] expected: Value) {
        let raw = json!({"metadata": {"name": "j"}});
        let manifest = Manifest { raw: &raw, namespace: "team", runtimes: &Runtimes::default() };
        let owner = Owner::from_manifest(&manifest, "batch/v1", "Job").unwrap();
        let template = json!({"spec": spec});
        let mut draft = Draft::new(&Field::with_path(&template, "t"), &owner, "team").unwrap();
        draft.set("restartPolicy", "Never");
        assert_eq!(draft.spec["restartPolicy"], expected);
    }

    #[rstest]
    #[case::containers_null(json!({"spec": {"containers": null}}), "t.spec.containers is missing")]
    #[case::no_spec(json!({}), "t.spec.containers is missing")]
    #[case::not_an_object(json!("x"), "t is \"x\": expected an object")]
    #[case::spec_is_a_list(json!({"spec": []}), "t.spec is []: expected an object")]
    #[case::container_is_text(json!({"spec": {"containers": ["a"]}}), "t.spec.containers[0] is \"a\": expected an object")]
    #[case::env_is_an_object(json!({"spec": {"containers": [{"env": {"A": "1"}}]}}), "t.spec.containers[0].env is {\"A\":\"1\"}: expected a list")]
    #[case::volumes_are_text(json!({"spec": {"containers": [{}], "volumes": "v"}}), "t.spec.volumes is \"v\": expected a list")]
    #[case::labels_are_a_list(json!({"metadata": {"labels": ["a"]}, "spec": {"containers": [{}]}}), "t.metadata.labels is [\"a\"]: expected an object")]
    fn a_malformed_template_is_rejected_with_its_path(#[case] template: Value, #[case] message: &str) {
        let raw = json!({"metadata": {"name": "j"}});
        let manifest = Manifest { raw: &raw, namespace: "team", runtimes: &Runtimes::default() };
        let owner = Owner::from_manifest(&manifest, "batch/v1", "Job").unwrap();
        let template = Field::with_path(&template, "t");
        let error = require_containers(&template).and_then(|()| Draft::new(&template, &owner, "team")).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}
