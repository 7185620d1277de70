//! Pods of kinds that are not supported: pod templates that are found by their structure.
//!
//! A template is the field `template`, or one whose name ends with it, that contains `spec.containers` with names and
//! images. The operator of such a kind is unknown, and so are the labels and variables that it adds.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{Manifest, RolePod};

/// Kinds whose objects contain pod templates, but create no pods from them: API group and kind.
const KINDS_WITHOUT_PODS: [(&str, &str); 5] = [
    ("", "PodTemplate"),
    ("apps", "ControllerRevision"),
    ("kueue.x-k8s.io", "Workload"),
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"),
    ("trainer.kubeflow.org", "TrainingRuntime"),
];

/// Top-level fields of an object that are not searched for templates.
const NOT_SEARCHED: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];

/// Maximum number of templates that are shown: more roles than any known kind has.
pub(crate) const MAX_TEMPLATES: usize = 64;
/// Maximum nesting depth of a template in its object. The deepest known template, in an object that contains a list of
/// other objects, is at level 10.
pub(crate) const MAX_DEPTH: usize = 20;

/// A pod template in an object of any kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Template<'manifest> {
    /// Path in the object, as `kubectl explain` writes it.
    pub(crate) path: String,
    /// Template: `metadata` and `spec`.
    pub(crate) value: &'manifest Value,
    /// Field `replicas` beside the template; `None` if there is none. Also `None` if an outer object has one, because
    /// it is unknown how the two numbers combine.
    pub(crate) replicas: Option<&'manifest Value>,
}

/// Pod templates in an object of any kind.
#[derive(Debug, Default)]
pub(crate) struct Templates<'manifest> {
    /// Templates in the order of the text, [`MAX_TEMPLATES`] at most.
    pub(crate) shown: Vec<Template<'manifest>>,
    /// Number of templates beyond the limits.
    pub(crate) omitted: usize,
    /// Path of the first template beyond the limits; empty if there is none.
    pub(crate) first_omitted: String,
}

/// A search for templates.
struct Search<'manifest> {
    found: Templates<'manifest>,
    path: String,
    depth: usize,
}

/// Returns true if objects of this kind contain pod templates, but create no pods from them.
pub(crate) fn creates_no_pods(api_version: &str, kind: &str) -> bool {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    KINDS_WITHOUT_PODS.contains(&(group, kind))
}

/// Returns the pod templates in an object.
pub(crate) fn templates(object: &Value) -> Templates<'_> {
    let mut search = Search { found: Templates::default(), path: String::new(), depth: 0 };
    for (key, value) in object.as_object().into_iter().flatten() {
        if !NOT_SEARCHED.contains(&key.as_str()) {
            search.search_field(key, value, None, false);
        }
    }
    search.found
}

/// Renders one role for each pod template of an object of any kind. Each role is named after the path of its template.
pub(crate) fn roles(manifest: &Manifest<'_>) -> Vec<RolePod> {
    templates(manifest.raw).shown.iter().map(|template| role(template, manifest.namespace)).collect()
}

fn role(template: &Template<'_>, namespace: &str) -> RolePod {
    let mut metadata = Map::new();
    metadata.insert("namespace".to_owned(), namespace.into());
    for key in ["labels", "annotations"] {
        if let Some(value) = template.value.get("metadata").and_then(|metadata| metadata.get(key)) {
            metadata.insert(key.to_owned(), value.clone());
        }
    }
    let replicas = template.replicas.and_then(Value::as_u64).filter(|count| i32::try_from(*count).is_ok());
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.value.get("spec")});
    RolePod {
        name: template.path.clone(),
        replicas,
        generic: true,
        assumed_runtime: None,
        runtime: None,
        pod,
        notes: Vec::new(),
        follows: Vec::new(),
        component: None,
    }
}

impl<'manifest> Search<'manifest> {
    /// Searches the field `key`. `replicas` is the field of this name beside it, and `is_nested` is true if an outer
    /// object also has such a field.
    fn search_field(
        &mut self,
        key: &str,
        value: &'manifest Value,
        replicas: Option<&'manifest Value>,
        is_nested: bool,
    ) {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        let is_template = ends_with(key, "template") && has_containers(value);
        if is_template {
            self.add(value, replicas.filter(|_| !is_nested));
        } else {
            self.search_value(value, ends_with(key, "templates"), is_nested || replicas.is_some());
        }
        self.path.truncate(length);
    }

    /// Searches the value of a field. `are_templates` is true if its items may be templates. The depth of a document is limited.
    fn search_value(&mut self, value: &'manifest Value, are_templates: bool, is_nested: bool) {
        self.depth += 1;
        match value {
            Value::Object(fields) => {
                let replicas = fields.get("replicas");
                for (key, field) in fields {
                    self.search_field(key, field, replicas, is_nested);
                }
            }
            Value::Array(items) => {
                let length = self.path.len();
                for (index, item) in items.iter().enumerate() {
                    // Writing to a string cannot fail.
                    let _ = write!(self.path, "[{index}]");
                    if are_templates && has_containers(item) {
                        self.add(item, None);
                    } else {
                        self.search_value(item, false, is_nested);
                    }
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
        self.depth -= 1;
    }

    fn add(&mut self, value: &'manifest Value, replicas: Option<&'manifest Value>) {
        let Templates { shown, omitted, first_omitted } = &mut self.found;
        if shown.len() < MAX_TEMPLATES && self.depth <= MAX_DEPTH {
            shown.push(Template { path: self.path.clone(), value, replicas });
            return;
        }
        if *omitted == 0 {
            first_omitted.clone_from(&self.path);
        }
        *omitted += 1;
    }
}

/// Returns true if `key` ends with `suffix`, regardless of case: `template`, `leaderTemplate`.
fn ends_with(key: &str, suffix: &str) -> bool {
    let start = key.len().checked_sub(suffix.len());
    start.and_then(|start| key.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(suffix))
}

/// Returns true if `value` contains the spec of a complete pod: containers with names and images. A template without
/// images is an overlay for the pod of another object.
fn has_containers(value: &Value) -> bool {
    let is_container = |container: &Value| {
        ["name", "image"]
            .iter()
            .all(|key| container.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty()))
    };
    let containers = value.get("spec").and_then(|spec| spec.get("containers")).and_then(Value::as_array);
    containers.is_some_and(|containers| !containers.is_empty() && containers.iter().all(is_container))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::workload::Runtimes;

    fn template() -> Value {
        json!({"spec": {"containers": [{"name": "a", "image": "i"}]}})
    }

    fn check(object: &Value, expected: &[(&str, Option<u64>)]) {
        let manifest = Manifest { raw: object, namespace: "team", runtimes: &Runtimes::default() };
        let roles = roles(&manifest);
        let found: Vec<_> = roles.iter().map(|role| (role.name.as_str(), role.replicas)).collect();
        assert_eq!(found, expected);
    }

    #[rstest]
    #[case::replicas_beside(json!({"spec": {"replicas": 3, "template": template()}}), &[("spec.template", Some(3))])]
    #[case::none_beside(json!({"spec": {"template": template()}}), &[("spec.template", None)])]
    #[case::placeholder(json!({"spec": {"replicas": "$N", "template": template()}}), &[("spec.template", None)])]
    #[case::beyond_int32(json!({"spec": {"replicas": 2_147_483_648_u64, "template": template()}}), &[("spec.template", None)])]
    #[case::outer_replicas(
        json!({"spec": {"replicas": 2, "groups": [{"replicas": 3, "template": template()}]}}),
        &[("spec.groups[0].template", None)]
    )]
    #[case::roles(
        json!({"spec": {"roles": [{"replicas": 1, "template": template()}, {"replicas": 4, "template": template()}]}}),
        &[("spec.roles[0].template", Some(1)), ("spec.roles[1].template", Some(4))]
    )]
    #[case::other_names(
        json!({"spec": {"leaderTemplate": template(), "podTEMPLATE": template(), "podTemplates": [template()]}}),
        &[("spec.leaderTemplate", None), ("spec.podTEMPLATE", None), ("spec.podTemplates[0]", None)]
    )]
    #[case::outside_of_spec(json!({"template": template(), "status": {"template": template()}}), &[("template", None)])]
    #[case::not_a_template(json!({"spec": {"override": template(), "containers": [{"name": "a", "image": "i"}]}}), &[])]
    #[case::template_of_a_job(
        json!({"spec": {"jobTemplate": {"spec": {"template": template()}}}}),
        &[("spec.jobTemplate.spec.template", None)]
    )]
    #[case::no_image(json!({"spec": {"template": {"spec": {"containers": [{"name": "a"}]}}}}), &[])]
    #[case::not_all_have_an_image(
        json!({"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": ""}]}}}}), &[]
    )]
    #[case::no_containers(json!({"spec": {"template": {"spec": {"containers": []}}}}), &[])]
    #[case::containers_of_another_type(json!({"spec": {"template": {"spec": {"containers": ["a"]}}}}), &[])]
    #[case::not_an_object(json!([template()]), &[])]
    fn templates_are_found_by_their_structure(#[case] object: Value, #[case] expected: &[(&str, Option<u64>)]) {
        check(&object, expected);
    }

    #[rstest]
    #[case::kueue("kueue.x-k8s.io/v1beta1", "Workload", true)]
    #[case::core("v1", "PodTemplate", true)]
    #[case::another_group("example.com/v1", "PodTemplate", false)]
    fn kinds_without_pods_are_known_by_group_and_kind(
        #[case] api_version: &str,
        #[case] kind: &str,
        #[case] expected: bool,
    ) {
        assert_eq!(creates_no_pods(api_version, kind), expected);
    }

    #[test]
    fn the_pod_has_the_labels_of_its_template_only() {
        let mut template = template();
        template["metadata"] =
            json!({"name": "x", "labels": {"a": "b"}, "annotations": {"c": "d"}, "creationTimestamp": null});
        let object = json!({"metadata": {"name": "r", "labels": {"e": "f"}}, "spec": {"template": template}});
        let manifest = Manifest { raw: &object, namespace: "team", runtimes: &Runtimes::default() };
        let metadata = json!({"namespace": "team", "labels": {"a": "b"}, "annotations": {"c": "d"}});
        let spec = template["spec"].clone();
        let expected = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
        assert_eq!(roles(&manifest)[0].pod, expected);
    }

    #[rstest]
    #[case::number(json!({"templates": vec![template(); 64]}), 64, 0, "")]
    #[case::too_many(json!({"templates": vec![template(); 100]}), 64, 36, "spec.templates[64]")]
    #[case::deepest(nested(19), 1, 0, "")]
    #[case::too_deep(nested(20), 0, 1, &format!("spec.{}template", "a.".repeat(20)))]
    fn number_and_depth_are_limited(
        #[case] object: Value,
        #[case] shown: usize,
        #[case] omitted: usize,
        #[case] first_omitted: &str,
    ) {
        let object = json!({"spec": object});
        let found = templates(&object);
        assert_eq!((found.shown.len(), found.omitted, found.first_omitted.as_str()), (shown, omitted, first_omitted));
    }

    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!({"template": template()}), |object, _| json!({"a": object}))
    }
}
