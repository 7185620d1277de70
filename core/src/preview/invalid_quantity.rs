//! Finds the quantities of a pod that the apiserver rejects: the types of the API contain them as text.

use serde_json::Value;

use super::InvalidField;
use super::invalid_field::{MAX_FIELDS, QUANTITY};
use crate::quantity::is_negative;
use crate::step::Step;

/// Expected value in place of a negative quantity: the apiserver rejects it in resources and sizes (kubernetes/kubernetes,
/// `pkg/apis/core/validation`, `ValidateResourceQuantityValue`, `validateEmptyDirVolumeSource`).
const NOT_NEGATIVE: &str = "a quantity of 0 or more";
/// Label of the pods that KubeRay creates, as a JSON pointer.
const RAY_NODE_TYPE: &str = "/metadata/labels/ray.io~1node-type";
/// Volume that KubeRay adds. Its size is the memory of the Ray container.
const RAY_VOLUME: &str = "shared-mem";
/// Lists of containers in the spec of a pod.
const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Returns the quantities in resources, overhead and size limits of `pod` that the apiserver rejects, in this order. Values of
/// another type are left to the decoder.
pub(super) fn invalid_quantities(pod: &Value) -> Vec<InvalidField> {
    let Some(spec) = pod.get("spec") else { return Vec::new() };
    let mut found = Vec::new();
    let root = [Step::Key("spec")];
    for list in CONTAINERS {
        let containers = spec.get(list).and_then(Value::as_array).into_iter().flatten();
        for (index, container) in containers.enumerate() {
            let path = [Step::Key("spec"), Step::Key(list), Step::Index(index)];
            check_resources(container, &path, &mut found);
        }
    }
    check_resources(spec, &root, &mut found);
    check_map(spec.get("overhead"), &[&root[..], &[Step::Key("overhead")]].concat(), &mut found);
    let is_ray_node = pod.pointer(RAY_NODE_TYPE).is_some();
    let volumes = spec.get("volumes").and_then(Value::as_array).into_iter().flatten();
    for (index, volume) in volumes.enumerate() {
        let fields = [Step::Key("volumes"), Step::Index(index), Step::Key("emptyDir"), Step::Key("sizeLimit")];
        let limit = volume.get("emptyDir").and_then(|volume| volume.get("sizeLimit"));
        let is_of_kuberay = is_ray_node && volume.get("name").and_then(Value::as_str) == Some(RAY_VOLUME);
        let is_copied = |limit: &&Value| {
            let text = limit.to_string();
            let is_memory = |known: &InvalidField| known.found == text && known.path.ends_with(".memory");
            is_of_kuberay && found.iter().any(is_memory)
        };
        if let Some(limit) = limit.filter(|limit| !is_copied(limit)) {
            check(limit, &[&root[..], &fields].concat(), &mut found);
        }
    }
    found
}

/// Checks the limits and requests of `owner`, which is at `path`.
fn check_resources<'a>(owner: &'a Value, path: &[Step<'a>], found: &mut Vec<InvalidField>) {
    for list in ["limits", "requests"] {
        let quantities = owner.get("resources").and_then(|resources| resources.get(list));
        check_map(quantities, &[path, &[Step::Key("resources"), Step::Key(list)]].concat(), found);
    }
}

fn check_map<'a>(quantities: Option<&'a Value>, path: &[Step<'a>], found: &mut Vec<InvalidField>) {
    for (name, quantity) in quantities.and_then(Value::as_object).into_iter().flatten() {
        check(quantity, &[path, &[Step::Key(name)]].concat(), found);
    }
}

fn check(quantity: &Value, path: &[Step<'_>], found: &mut Vec<InvalidField>) {
    if let Some(expected) = expected_quantity(quantity).filter(|_| found.len() < MAX_FIELDS) {
        found.push(InvalidField::new(path, quantity, expected));
    }
}

/// Returns what the apiserver expects instead of `quantity`; `None` if it accepts it, or it has another type.
pub(super) fn expected_quantity(quantity: &Value) -> Option<&'static str> {
    if !(quantity.is_string() || quantity.is_number()) {
        return None;
    }
    match is_negative(quantity) {
        None => Some(QUANTITY),
        Some(is_negative) => is_negative.then_some(NOT_NEGATIVE),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::valid(json!({"containers": [{"resources": {"limits": {"memory": "64G", "cpu": 0.5, "nvidia.com/gpu": "8"}}}]}), &[])]
    #[case::bytes(
        json!({"containers": [{"resources": {"limits": {"memory": "64GB"}}}]}),
        &[".spec.containers[0].resources.limits.memory is \"64GB\": expected a quantity such as 8 or 4Gi"]
    )]
    #[case::word_and_negative(
        json!({"initContainers": [{"resources": {"requests": {"cpu": "four"}, "limits": {"nvidia.com/gpu": -8}}}]}),
        &[
            ".spec.initContainers[0].resources.limits[nvidia.com/gpu] is -8: expected a quantity of 0 or more",
            ".spec.initContainers[0].resources.requests.cpu is \"four\": expected a quantity such as 8 or 4Gi",
        ]
    )]
    #[case::resources_of_the_pod(
        json!({"resources": {"limits": {"cpu": "8 "}, "requests": {"cpu": "8c"}}, "overhead": {"memory": "1GiB"}}),
        &[
            ".spec.resources.requests.cpu is \"8c\": expected a quantity such as 8 or 4Gi",
            ".spec.overhead.memory is \"1GiB\": expected a quantity such as 8 or 4Gi",
        ]
    )]
    #[case::size_of_a_volume(
        json!({"volumes": [{"name": "a"}, {"emptyDir": {"medium": "Memory", "sizeLimit": "64GB"}}]}),
        &[".spec.volumes[1].emptyDir.sizeLimit is \"64GB\": expected a quantity such as 8 or 4Gi"]
    )]
    #[case::size_of_the_memory_of_a_container(
        json!({
            "containers": [{"resources": {"limits": {"memory": "8gi"}}}],
            "volumes": [{"name": "shm", "emptyDir": {"sizeLimit": "8gi"}}],
        }),
        &[
            ".spec.containers[0].resources.limits.memory is \"8gi\": expected a quantity such as 8 or 4Gi",
            ".spec.volumes[0].emptyDir.sizeLimit is \"8gi\": expected a quantity such as 8 or 4Gi",
        ]
    )]
    #[case::other_types(json!({"containers": [{"resources": {"limits": {"cpu": null, "memory": []}}}, 5], "volumes": {}}), &[])]
    fn quantities_that_the_apiserver_rejects_are_named(#[case] spec: Value, #[case] expected: &[&str]) {
        let found: Vec<String> = invalid_quantities(&json!({"spec": spec})).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[rstest]
    #[case::copied(&json!({"ray.io/node-type": "worker"}), "shared-mem", "8gi", 1)]
    #[case::another_size(&json!({"ray.io/node-type": "worker"}), "shared-mem", "9gi", 2)]
    #[case::another_volume(&json!({"ray.io/node-type": "worker"}), "shm", "8gi", 2)]
    #[case::another_operator(&json!({}), "shared-mem", "8gi", 2)]
    fn the_size_that_kuberay_copies_is_left_out(
        #[case] labels: &Value,
        #[case] volume: &str,
        #[case] size: &str,
        #[case] expected: usize,
    ) {
        let spec = json!({
            "containers": [{"resources": {"limits": {"memory": "8gi"}}}],
            "volumes": [{"name": volume, "emptyDir": {"sizeLimit": size}}],
        });
        assert_eq!(invalid_quantities(&json!({"metadata": {"labels": labels}, "spec": spec})).len(), expected);
    }

    #[test]
    fn their_number_is_limited() {
        let containers: Vec<Value> = (0..100).map(|_| json!({"resources": {"limits": {"cpu": "x"}}})).collect();
        assert_eq!(invalid_quantities(&json!({"spec": {"containers": containers}})).len(), MAX_FIELDS);
    }
}
