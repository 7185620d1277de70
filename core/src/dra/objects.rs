//! Collects claims, templates and classes from their objects.

use std::sync::Arc;

use serde_json::Value;

use super::classes::{DeviceClass, DeviceClasses};
use super::facts::{ClaimFacts, ClaimSpecs};
use super::spec::{ClaimSpec, GROUP};

/// Claims, templates and classes of a manifest, in the order of the documents: later ones replace earlier ones.
#[derive(Clone, Debug, Default)]
pub struct ClaimObjects {
    classes: Vec<DeviceClass>,
    templates: Vec<NamedSpec>,
    claims: Vec<NamedSpec>,
}

#[derive(Clone, Debug)]
struct NamedSpec {
    namespace: String,
    name: String,
    spec: Arc<ClaimSpec>,
}

/// Versions of the API group that have the kinds in a known form.
const VERSIONS: [&str; 3] = ["v1", "v1beta2", "v1beta1"];

impl ClaimObjects {
    /// Adds `object` if it is a claim, a template or a device class. An object without a namespace is in `namespace`.
    pub fn add(&mut self, object: &Value, namespace: &str) {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let version = text("/apiVersion").and_then(|version| version.strip_prefix(GROUP)?.strip_prefix('/'));
        let Some(version) = version.filter(|version| VERSIONS.contains(version)) else { return };
        let namespace = text("/metadata/namespace").unwrap_or(namespace);
        let named = |spec: ClaimSpec| {
            let name = text("/metadata/name")?.to_owned();
            Some(NamedSpec { namespace: namespace.to_owned(), name, spec: Arc::new(spec) })
        };
        match text("/kind") {
            Some("DeviceClass") => self.classes.extend(DeviceClass::parse(object)),
            Some("ResourceClaimTemplate") => self.templates.extend(named(ClaimSpec::from_template(object, version))),
            Some("ResourceClaim") => self.claims.extend(named(ClaimSpec::from_claim(object, version))),
            _ => {}
        }
    }

    /// Adds the template for the channels of a `ComputeDomain`, which NVIDIA's driver creates.
    pub fn add_channel_template(&mut self, namespace: &str, template: &str) {
        let spec = Arc::new(ClaimSpec::channel());
        self.templates.push(NamedSpec { namespace: namespace.to_owned(), name: template.to_owned(), spec });
    }

    /// Returns `known` with these objects added. They replace objects of the same name.
    #[must_use]
    pub fn facts(&self, known: &ClaimFacts) -> ClaimFacts {
        let Self { classes, templates, claims } = self;
        let mut facts = known.clone();
        if !classes.is_empty() {
            let mut all = facts.classes.as_deref().cloned().unwrap_or_default();
            classes.iter().cloned().for_each(|class| DeviceClasses::insert(&mut all, class));
            facts.classes = Ok(Arc::new(all));
        }
        add_specs(&mut facts.templates, templates);
        add_specs(&mut facts.claims, claims);
        facts
    }
}

fn add_specs(known: &mut Arc<ClaimSpecs>, specs: &[NamedSpec]) {
    if specs.is_empty() {
        return;
    }
    let all = Arc::make_mut(known);
    for NamedSpec { namespace, name, spec } in specs {
        all.insert(namespace, name, Arc::clone(spec));
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::dra::{DeviceKind, PodClaims};
    use crate::pod::Pod;

    fn template(version: &str, name: &str, count: u64) -> Value {
        let gpu = json!({"deviceClassName": "h100", "count": count});
        let request = if version == "v1beta1" {
            json!({"name": "gpu", "deviceClassName": "h100", "count": count})
        } else {
            json!({"name": "gpu", "exactly": gpu})
        };
        json!({"apiVersion": format!("resource.k8s.io/{version}"), "kind": "ResourceClaimTemplate",
            "metadata": {"name": name}, "spec": {"spec": {"devices": {"requests": [request]}}}})
    }

    fn class() -> Value {
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "h100"},
            "spec": {"extendedResourceName": "nvidia.com/gpu"}})
    }

    #[rstest]
    #[case::v1(&[class(), template("v1", "gpus", 8)], "8")]
    #[case::v1beta2(&[class(), template("v1beta2", "gpus", 8)], "8")]
    #[case::v1beta1(&[class(), template("v1beta1", "gpus", 8)], "8")]
    #[case::the_last_one(&[class(), template("v1", "gpus", 8), template("v1", "gpus", 4)], "4")]
    #[case::other_version(&[class(), template("v1alpha3", "gpus", 8)], "an unknown number of")]
    #[case::other_name(&[class(), template("v1", "other", 8)], "an unknown number of")]
    #[case::no_class(&[template("v1", "gpus", 8)], "an unknown number of")]
    fn objects_of_the_input_are_used(#[case] documents: &[Value], #[case] expected: &str) {
        let mut objects = ClaimObjects::default();
        for document in documents {
            objects.add(document, "team-a");
        }
        let facts = objects.facts(&ClaimFacts::default());
        let pod = json!({"spec": {"resourceClaims": [{"name": "c", "resourceClaimTemplateName": "gpus"}],
            "containers": [{"name": "train", "resources": {"claims": [{"name": "c"}]}}]}});
        let pod = Pod::new(&pod);
        let claims = PodClaims::new(pod, facts.view("team-a"), |_| false);
        let count = claims.count(pod.containers().next().unwrap(), DeviceKind::is_accelerator);
        assert_eq!(count.to_string(), expected);
    }
}
