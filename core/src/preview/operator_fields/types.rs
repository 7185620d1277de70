//! Fields with a value of another type than that of the API, which the apiserver rejects.

use serde_json::Value;

use super::{Fields, Shape, children, table};
use crate::json;
use crate::manifest::placeholder::placeholders;
use crate::step::Step;
use crate::workload::RenderError;

/// A value with the type that is expected instead.
type Mistyped<'a> = (&'a Value, &'static str);

/// Fails if a field of `object` that its table contains, or of an object in an AppWrapper, has a value of another type. Readers would
/// treat the field as absent.
pub(in crate::preview) fn require_types(object: &Value) -> Result<(), RenderError> {
    let mut path = Vec::new();
    find_in_object(object, &mut path).map_err(|(found, expected)| {
        let path: String = path.iter().map(Step::to_string).collect();
        RenderError::invalid(path.trim_start_matches('.'), Some(found), expected)
    })
}

/// Fails at the first field. `path` is then its path.
fn find_in_object<'a>(object: &'a Value, path: &mut Vec<Step<'a>>) -> Result<(), Mistyped<'a>> {
    let text = |key: &str| json::text(object, key).unwrap_or_default();
    let Some(spec) = object.get("spec") else { return Ok(()) };
    path.push(Step::Key("spec"));
    if let Some(fields) = table::types_of(text("apiVersion"), text("kind")) {
        find(&Shape::Object(fields), spec, path)?;
    }
    if text("kind") == "AppWrapper" {
        path.push(Step::Key("components"));
        for (index, component) in json::items(spec, "components").enumerate() {
            if let Some(template) = component.get("template") {
                path.extend([Step::Index(index), Step::Key("template")]);
                find_in_object(template, path)?;
                path.truncate(path.len() - 2);
            }
        }
        path.pop();
    }
    path.pop();
    Ok(())
}

fn find<'a>(shape: &Shape, value: &'a Value, path: &mut Vec<Step<'a>>) -> Result<(), Mistyped<'a>> {
    // The apiserver treats null as absent. A placeholder can become any value.
    if value.is_null() || value.as_str().is_some_and(|text| placeholders(text).next().is_some()) {
        return Ok(());
    }
    if !shape.accepts(value) {
        return Err((value, shape.expected(value)));
    }
    match shape {
        Shape::Object(fields) => find_in_fields(fields, value, path)?,
        Shape::List(fields) | Shape::Map(fields) | Shape::OpenMap(fields, _) => {
            find_in_children(&Shape::Object(fields), value, path)?;
        }
        Shape::Texts | Shape::TextList | Shape::SomeOf(_) => find_in_children(&Shape::Text, value, path)?,
        _ => {}
    }
    Ok(())
}

fn find_in_fields<'a>(fields: &Fields, object: &'a Value, path: &mut Vec<Step<'a>>) -> Result<(), Mistyped<'a>> {
    for (name, shape) in fields.nested {
        if let Some(value) = object.get(name) {
            path.push(Step::Key(name));
            find(shape, value, path)?;
            path.pop();
        }
    }
    Ok(())
}

fn find_in_children<'a>(shape: &Shape, value: &'a Value, path: &mut Vec<Step<'a>>) -> Result<(), Mistyped<'a>> {
    for (step, value) in children(value) {
        path.push(step);
        find(shape, value, path)?;
        path.pop();
    }
    Ok(())
}

impl Shape {
    fn accepts(&self, value: &Value) -> bool {
        match self {
            Self::Object(_)
            | Self::Map(_)
            | Self::OpenMap(..)
            | Self::Texts
            | Self::JobTemplate
            | Self::PodTemplate => value.is_object(),
            Self::List(_) | Self::TextList | Self::SomeOf(_) => value.is_array(),
            Self::OneOf(_) | Self::Text => value.is_string(),
            Self::Number => value.is_u64(),
            Self::NumberOrText => value.is_u64() || value.is_string(),
        }
    }

    /// Returns what is expected instead of `found`, in the words of the readers of workloads.
    fn expected(&self, found: &Value) -> &'static str {
        match self {
            Self::Object(_)
            | Self::Map(_)
            | Self::OpenMap(..)
            | Self::Texts
            | Self::JobTemplate
            | Self::PodTemplate => "an object",
            Self::List(_) | Self::TextList | Self::SomeOf(_) => "a list",
            Self::OneOf(_) | Self::Text if found.is_number() || found.is_boolean() => "a string; quote it",
            Self::OneOf(_) | Self::Text => "a string",
            Self::Number => "a whole number",
            Self::NumberOrText => "a whole number or a string",
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    const JOB_SET: &str = "jobset.x-k8s.io/v1alpha2 JobSet";
    const LWS: &str = "leaderworkerset.x-k8s.io/v1 LeaderWorkerSet";
    const PEER_AUTHENTICATION: &str = "security.istio.io/v1 PeerAuthentication";
    const RULE: &str = "networking.istio.io/v1 DestinationRule";
    const PYTORCH: &str = "kubeflow.org/v1 PyTorchJob";
    const RUNTIME: &str = "trainer.kubeflow.org/v1alpha1 TrainingRuntime";
    const CLAIM: &str = "resource.k8s.io/v1beta1 ResourceClaim";
    const CLAIM_TEMPLATE: &str = "resource.k8s.io/v1 ResourceClaimTemplate";
    const DOMAIN: &str = "resource.nvidia.com/v1beta1 ComputeDomain";

    #[rstest]
    #[case::spec(JOB_SET, json!([]), "spec is []: expected an object")]
    #[case::startup_policy(JOB_SET, json!({"startupPolicy": "InOrder"}), "spec.startupPolicy is \"InOrder\": expected an object")]
    #[case::item(JOB_SET, json!({"replicatedJobs": [{"name": "a"}, "b"]}), "spec.replicatedJobs[1] is \"b\": expected an object")]
    #[case::one_of(LWS, json!({"startupPolicy": 5}), "spec.startupPolicy is 5: expected a string; quote it")]
    #[case::elastic_policy(PYTORCH, json!({"elasticPolicy": 4}), "spec.elasticPolicy is 4: expected an object")]
    #[case::run_policy(PYTORCH, json!({"runPolicy": []}), "spec.runPolicy is []: expected an object")]
    #[case::clean_pod_policy("kubeflow.org/v2beta1 MPIJob", json!({"runPolicy": "None"}), "spec.runPolicy is \"None\": expected an object")]
    #[case::replica_specs(PYTORCH, json!({"pytorchReplicaSpecs": {"Worker": []}}), "spec.pytorchReplicaSpecs.Worker is []: expected an object")]
    #[case::tasks("batch.volcano.sh/v1alpha1 Job", json!({"tasks": {"name": "a"}}), "spec.tasks is {\"name\":\"a\"}: expected a list")]
    #[case::mtls(PEER_AUTHENTICATION, json!({"mtls": "STRICT"}), "spec.mtls is \"STRICT\": expected an object")]
    #[case::mtls_list(PEER_AUTHENTICATION, json!({"mtls": ["STRICT"]}), "spec.mtls is [\"STRICT\"]: expected an object")]
    #[case::port_mtls(PEER_AUTHENTICATION, json!({"portLevelMtls": {"80": "STRICT"}}), "spec.portLevelMtls.80 is \"STRICT\": expected an object")]
    #[case::labels(PEER_AUTHENTICATION, json!({"selector": {"matchLabels": {"a": 5}}}), "spec.selector.matchLabels.a is 5: expected a string; quote it")]
    #[case::tls(RULE, json!({"trafficPolicy": {"tls": "MUTUAL"}}), "spec.trafficPolicy.tls is \"MUTUAL\": expected an object")]
    #[case::port(RULE, json!({"trafficPolicy": {"portLevelSettings": [{"port": {"number": "80"}}]}}), "spec.trafficPolicy.portLevelSettings[0].port.number is \"80\": expected a whole number; remove the quotes")]
    #[case::service_ports("v1 Service", json!({"ports": {"port": 80}}), "spec.ports is {\"port\":80}: expected a list")]
    #[case::service_port("v1 Service", json!({"ports": [{"port": "80"}]}), "spec.ports[0].port is \"80\": expected a whole number; remove the quotes")]
    #[case::target_port("v1 Service", json!({"ports": [{"port": 80, "targetPort": []}]}), "spec.ports[0].targetPort is []: expected a whole number or a string")]
    #[case::selector("v1 Service", json!({"selector": ["a"]}), "spec.selector is [\"a\"]: expected an object")]
    #[case::label("v1 Service", json!({"selector": {"a": 5}}), "spec.selector.a is 5: expected a string; quote it")]
    #[case::access_modes("v1 PersistentVolumeClaim", json!({"accessModes": "ReadWriteOnce"}), "spec.accessModes is \"ReadWriteOnce\": expected a list")]
    #[case::nodes(DOMAIN, json!({"numNodes": "2"}), "spec.numNodes is \"2\": expected a whole number; remove the quotes")]
    #[case::count(CLAIM_TEMPLATE, json!({"spec": {"devices": {"requests": [{"exactly": {"count": "8"}}]}}}), "spec.spec.devices.requests[0].exactly.count is \"8\": expected a whole number; remove the quotes")]
    #[case::requests(CLAIM_TEMPLATE, json!({"spec": {"devices": {"requests": {"name": "a"}}}}), "spec.spec.devices.requests is {\"name\":\"a\"}: expected a list")]
    #[case::alternatives(CLAIM, json!({"devices": {"requests": [{"firstAvailable": [{"deviceClassName": 5}]}]}}), "spec.devices.requests[0].firstAvailable[0].deviceClassName is 5: expected a string; quote it")]
    #[case::count_of_v1beta1(CLAIM, json!({"devices": {"requests": [{"count": "eight"}]}}), "spec.devices.requests[0].count is \"eight\": expected a whole number")]
    #[case::class("resource.k8s.io/v1 DeviceClass", json!({"selectors": [{"cel": "a"}]}), "spec.selectors[0].cel is \"a\": expected an object")]
    #[case::policy(RUNTIME, json!({"mlPolicy": "torch"}), "spec.mlPolicy is \"torch\": expected an object")]
    #[case::job_set_of_a_runtime(RUNTIME, json!({"template": {"spec": {"startupPolicy": "InOrder"}}}), "spec.template.spec.startupPolicy is \"InOrder\": expected an object")]
    fn values_of_other_types_are_errors(#[case] kind: &str, #[case] spec: Value, #[case] expected: &str) {
        let (api_version, kind) = kind.split_once(' ').unwrap();
        let object = json!({"apiVersion": api_version, "kind": kind, "spec": spec});
        assert_eq!(require_types(&object).unwrap_err().to_string(), expected);
        let wrapper = json!({"kind": "AppWrapper", "spec": {"components": [{}, {"template": object}]}});
        let expected = format!("spec.components[1].template.{expected}");
        assert_eq!(require_types(&wrapper).unwrap_err().to_string(), expected);
    }

    #[rstest]
    #[case::absent(JOB_SET, json!({}))]
    #[case::null(JOB_SET, json!({"startupPolicy": null, "replicatedJobs": null}))]
    #[case::field_that_nothing_reads(JOB_SET, json!({"volumeClaimPolicies": 5}))]
    #[case::named_target_port("v1 Service", json!({"ports": [{"port": 80, "targetPort": "http"}]}))]
    #[case::placeholder("v1 Service", json!({"ports": [{"port": "$PORT"}]}))]
    #[case::another_kind("serving.knative.dev/v1 Service", json!({"ports": 80}))]
    fn other_values_are_accepted(#[case] kind: &str, #[case] spec: Value) {
        let (api_version, kind) = kind.split_once(' ').unwrap();
        assert_eq!(require_types(&json!({"apiVersion": api_version, "kind": kind, "spec": spec})), Ok(()));
    }
}
