//! Checks that JSON decodes as a Pod, without building the complete typed Pod.
//!
//! A typed list item can take a hundred times the memory of its JSON: a volume `{}` of two bytes becomes a kilobyte of
//! empty fields. The items of potentially long lists are therefore decoded and dropped one by one, without their text.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, ContainerStatus, EnvFromSource, EnvVar, EphemeralContainer, Pod, PodCondition, PodSpec,
    PodStatus, ProjectedVolumeSource, ResourceRequirements, Toleration, TopologySpreadConstraint, Volume, VolumeDevice,
    VolumeMount, VolumeProjection,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Error, Map, Value};

use crate::api_type::Decoder;

type Decode = fn(&Value) -> Result<(), Error>;

/// Decodes `value` as a Pod.
pub(super) fn pod(value: &Value) -> Result<(), Error> {
    object::<Pod>(value, &[("spec", spec), ("status", status)])
}

fn spec(value: &Value) -> Result<(), Error> {
    object::<PodSpec>(
        value,
        &[
            ("containers", |value| list(value, container::<Container>)),
            ("initContainers", |value| list(value, container::<Container>)),
            ("ephemeralContainers", |value| list(value, container::<EphemeralContainer>)),
            ("volumes", |value| list(value, volume)),
            ("tolerations", |value| list(value, typed::<Toleration>)),
            ("topologySpreadConstraints", |value| list(value, typed::<TopologySpreadConstraint>)),
        ],
    )
}

fn status(value: &Value) -> Result<(), Error> {
    object::<PodStatus>(
        value,
        &[
            ("conditions", |value| list(value, typed::<PodCondition>)),
            ("containerStatuses", |value| list(value, typed::<ContainerStatus>)),
            ("initContainerStatuses", |value| list(value, typed::<ContainerStatus>)),
            ("ephemeralContainerStatuses", |value| list(value, typed::<ContainerStatus>)),
        ],
    )
}

fn container<T: DeserializeOwned>(value: &Value) -> Result<(), Error> {
    object::<T>(
        value,
        &[
            ("env", |value| list(value, typed::<EnvVar>)),
            ("envFrom", |value| list(value, typed::<EnvFromSource>)),
            ("ports", |value| list(value, typed::<ContainerPort>)),
            ("volumeMounts", |value| list(value, typed::<VolumeMount>)),
            ("volumeDevices", |value| list(value, typed::<VolumeDevice>)),
            ("resources", resources),
        ],
    )
}

fn resources(value: &Value) -> Result<(), Error> {
    let lists = ["limits", "requests"].into_iter().filter_map(|field| value.get(field)?.as_object());
    // Decoding in parts costs more than the rest of a container, and a quantity of null is rare.
    if lists.flat_map(Map::values).any(Value::is_null) {
        object::<ResourceRequirements>(value, &[("limits", quantities), ("requests", quantities)])
    } else {
        typed::<ResourceRequirements>(value)
    }
}

/// The apiserver reads null as 0 (kubernetes/apimachinery, `pkg/api/resource/quantity.go`, `UnmarshalJSON`).
fn quantities(value: &Value) -> Result<(), Error> {
    match value {
        Value::Object(fields) => fields.values().filter(|value| !value.is_null()).try_for_each(typed::<Quantity>),
        other => typed::<BTreeMap<String, Quantity>>(other),
    }
}

fn volume(value: &Value) -> Result<(), Error> {
    object::<Volume>(
        value,
        &[("projected", |value| {
            object::<ProjectedVolumeSource>(value, &[("sources", |value| list(value, typed::<VolumeProjection>))])
        })],
    )
}

/// Decodes `value` as a `T`, and the fields in `separate` individually. As in any optional field, null counts as
/// absent.
fn object<T: DeserializeOwned>(value: &Value, separate: &[(&str, Decode)]) -> Result<(), Error> {
    let Value::Object(fields) = value else { return typed::<T>(value) };
    let is_separate = |name: &str| separate.iter().any(|(field, _)| *field == name);
    T::deserialize(Decoder::shape_of_fields(value, &|name| !is_separate(name)))?;
    let mut present = separate.iter().filter_map(|(field, decode)| Some((fields.get(*field)?, decode)));
    present.try_for_each(|(value, decode)| if value.is_null() { Ok(()) } else { decode(value) })
}

fn list(value: &Value, item: Decode) -> Result<(), Error> {
    match value {
        Value::Array(items) => items.iter().try_for_each(item),
        // Returns the error of the deserializer.
        other => Vec::<IgnoredAny>::deserialize(other).map(drop),
    }
}

fn typed<T: DeserializeOwned>(value: &Value) -> Result<(), Error> {
    T::deserialize(Decoder::shape(value)).map(drop)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    /// A pod with every field that is decoded separately, each with a valid item.
    fn complete_pod() -> Value {
        let container = json!({"name": "a", "env": [{"name": "A"}], "envFrom": [{"prefix": "A"}],
            "ports": [{"containerPort": 1}], "volumeMounts": [{"name": "a", "mountPath": "/a"}],
            "volumeDevices": [{"name": "a", "devicePath": "/a"}]});
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [container], "initContainers": [container], "ephemeralContainers": [container],
                "volumes": [{"name": "a", "projected": {"sources": [{"configMap": {"name": "a"}}]}}],
                "tolerations": [{"key": "a"}], "topologySpreadConstraints": [{"maxSkew": 1}], "future": [1]},
            "status": {"conditions": [{"type": "a", "status": "b"}], "containerStatuses": [{"name": "a"}],
                "initContainerStatuses": [{"name": "a"}], "ephemeralContainerStatuses": [{"name": "a"}]}})
    }

    #[rstest]
    #[case::null(json!({"nvidia.com/gpu": null}), true)]
    #[case::number(json!({"nvidia.com/gpu": 8}), true)]
    #[case::boolean(json!({"nvidia.com/gpu": true}), false)]
    #[case::null_and_boolean(json!({"nvidia.com/gpu": null, "memory": true}), false)]
    #[case::null_and_number(json!({"nvidia.com/gpu": null, "memory": 1}), true)]
    #[case::no_mapping(json!(["nvidia.com/gpu"]), false)]
    #[case::no_limits(json!(null), true)]
    fn a_quantity_of_null_is_zero(#[case] limits: Value, #[case] expected: bool) {
        let spec = json!({"containers": [{"name": "a", "resources": {"limits": limits}}]});
        assert_eq!(pod(&json!({"spec": spec})).is_ok(), expected);
    }

    /// Asserts that decoding in parts accepts `value` if and only if the complete type does, and returns the result.
    fn decodes(value: &Value) -> bool {
        let (in_parts, complete) = (pod(value).is_ok(), Pod::deserialize(value).is_ok());
        assert_eq!(in_parts, complete, "{value}");
        in_parts
    }

    /// Collects the JSON pointers of `value` and of all its descendants.
    fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
        found.push(at.to_owned());
        match value {
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(index, item)| pointers(item, &format!("{at}/{index}"), found));
            }
            Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| pointers(value, &format!("{at}/{name}"), found));
            }
            _ => {}
        }
    }

    #[rstest]
    fn accepts_the_same_values_as_the_complete_type(
        #[values(json!(null), json!(1), json!("a"), json!({}), json!([]), json!([null]), json!([1]), json!({"name": 1}))]
        other: Value,
    ) {
        let pod = complete_pod();
        assert!(decodes(&pod));
        let mut paths = Vec::new();
        pointers(&pod, "", &mut paths);
        let accepted = paths.iter().filter(|path| {
            let mut changed = pod.clone();
            *changed.pointer_mut(path).unwrap() = other.clone();
            decodes(&changed)
        });
        assert!(accepted.count() < paths.len());
    }
}
