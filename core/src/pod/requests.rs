//! Resource requests of a pod, as schedulers count them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::quantity::{milli_units, whole_units};

/// Resource that is counted in thousandths.
const CPU: &str = "cpu";
/// Maximum number of resources that are counted. Pods request a few.
const MAX_RESOURCES: usize = 32;

/// Requests of a pod: CPU in thousandths, and other resources in whole units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests(BTreeMap<String, u64>);

impl Requests {
    /// Returns the requests of a pod with this `spec`: those of its containers and sidecar containers together, or of one
    /// init container if it requests more, and the overhead. A limit without a request counts as the request.
    #[must_use]
    pub fn from_pod_spec(spec: &Value) -> Self {
        let mut total = Self::of_containers(spec, Self::from_container);
        total.add(&Self::overhead(spec));
        total
    }

    /// Returns the limits of a pod with this `spec`, as a `ResourceQuota` counts them. The overhead adds only to limits that
    /// exist.
    #[must_use]
    pub fn limits_from_pod_spec(spec: &Value) -> Self {
        let mut total = Self::of_containers(spec, Self::limits_from_container);
        for (name, amount) in Self::overhead(spec).0 {
            if let Some(own) = total.0.get_mut(&name) {
                *own = own.saturating_add(amount);
            }
        }
        total
    }

    /// Returns the overhead of the `RuntimeClass` of a pod with this `spec`.
    #[must_use]
    pub fn overhead(spec: &Value) -> Self {
        spec.get("overhead").and_then(Value::as_object).map(Self::from_list).unwrap_or_default()
    }

    fn of_containers(spec: &Value, of_container: impl Fn(&Value) -> Self) -> Self {
        let containers = |list: &str| spec.get(list).and_then(Value::as_array).into_iter().flatten();
        let mut total = Self::default();
        for container in containers("containers") {
            total.add(&of_container(container));
        }
        // Sidecar containers that start before an init container run beside it.
        let (mut sidecars, mut peak) = (Self::default(), Self::default());
        for container in containers("initContainers") {
            let own = of_container(container);
            if container.get("restartPolicy").and_then(Value::as_str) == Some("Always") {
                sidecars.add(&own);
            } else {
                let mut beside = sidecars.clone();
                beside.add(&own);
                peak.raise_to(&beside);
            }
        }
        total.add(&sidecars);
        total.raise_to(&peak);
        total
    }

    /// Returns the requests of a container.
    #[must_use]
    pub fn from_container(container: &Value) -> Self {
        let mut requests = Self::limits_from_container(container);
        requests.0.extend(Self::from_resources(container, "requests").0);
        requests
    }

    /// Returns the limits of a container.
    #[must_use]
    pub fn limits_from_container(container: &Value) -> Self {
        Self::from_resources(container, "limits")
    }

    fn from_resources(container: &Value, list: &str) -> Self {
        let list = container.get("resources").and_then(|resources| resources.get(list)?.as_object());
        list.map(Self::from_list).unwrap_or_default()
    }

    /// Returns the amounts in a list of quantities, such as the `allocatable` of a node.
    #[must_use]
    pub fn from_list(list: &Map<String, Value>) -> Self {
        let units = |name: &str, amount: &Value| if name == CPU { milli_units(amount) } else { whole_units(amount) };
        let amounts = list.iter().filter_map(|(name, amount)| Some((name.clone(), units(name, amount)?)));
        Self(amounts.take(MAX_RESOURCES).collect())
    }

    /// Adds `other`.
    pub fn add(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            if let Some(own) = self.entry(name) {
                *own = own.saturating_add(*amount);
            }
        }
    }

    /// Raises each amount to that of `other`.
    pub fn raise_to(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            if let Some(own) = self.entry(name) {
                *own = (*own).max(*amount);
            }
        }
    }

    /// Returns what these requests exceed `other` by.
    #[must_use]
    pub fn excess_over(&self, other: &Self) -> Self {
        let excess = |(name, amount): (&String, &u64)| {
            let excess = amount.saturating_sub(other.0.get(name).copied().unwrap_or_default());
            (excess > 0).then(|| (name.clone(), excess))
        };
        Self(self.0.iter().filter_map(excess).collect())
    }

    /// Returns the names and amounts, in the units of [`Requests`].
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, amount)| (name.as_str(), *amount))
    }

    /// Returns the requests except those for devices.
    #[must_use]
    pub fn without_devices(&self) -> Self {
        let others = self.0.iter().filter(|(name, _)| !is_device(name));
        Self(others.map(|(name, amount)| (name.clone(), *amount)).collect())
    }

    /// Returns the requests for devices: the extended resources.
    pub fn devices(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().filter(|(name, _)| is_device(name)).map(|(name, amount)| (name.as_str(), *amount))
    }

    /// Returns the requests as a list of quantities.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let quantity = |(name, amount): (&String, &u64)| {
            let text = if name == CPU { format!("{amount}m") } else { amount.to_string() };
            (name.clone(), Value::String(text))
        };
        Value::Object(self.0.iter().map(quantity).collect())
    }

    fn entry(&mut self, name: &str) -> Option<&mut u64> {
        if !self.0.contains_key(name) {
            if self.0.len() == MAX_RESOURCES {
                return None;
            }
            self.0.insert(name.to_owned(), 0);
        }
        self.0.get_mut(name)
    }
}

/// Returns true for an extended resource.
fn is_device(resource: &str) -> bool {
    resource.contains('/')
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn container(requests: &Value) -> Value {
        json!({"resources": {"requests": requests}})
    }

    #[rstest]
    #[case::sum(
        json!({"containers": [container(&json!({"cpu": "1500m", "memory": "1Gi"})), container(&json!({"cpu": 2}))]}),
        json!({"cpu": "3500m", "memory": "1073741824"})
    )]
    #[case::limits_count_as_requests(
        json!({"containers": [{"resources": {"limits": {"nvidia.com/gpu": 8, "cpu": "2"}, "requests": {"cpu": "1"}}}]}),
        json!({"cpu": "1000m", "nvidia.com/gpu": "8"})
    )]
    #[case::larger_init_container(
        json!({"initContainers": [container(&json!({"cpu": 4}))], "containers": [container(&json!({"cpu": 1, "memory": 5}))]}),
        json!({"cpu": "4000m", "memory": "5"})
    )]
    #[case::sidecar_beside_an_init_container(
        json!({"initContainers": [
            {"restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}}, container(&json!({"cpu": 4})),
        ], "containers": [container(&json!({"cpu": 1}))]}),
        json!({"cpu": "4100m"})
    )]
    #[case::sidecar_after_the_init_container(
        json!({"initContainers": [container(&json!({"cpu": 4})), {"restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}}],
            "containers": [container(&json!({"cpu": 1}))]}),
        json!({"cpu": "4000m"})
    )]
    #[case::overhead(
        json!({"containers": [container(&json!({"cpu": 1}))], "overhead": {"cpu": "250m"}}), json!({"cpu": "1250m"})
    )]
    #[case::malformed(json!({"containers": [{"resources": {"requests": {"cpu": "many"}}}, "x"]}), json!({}))]
    fn requests_are_those_that_schedulers_count(#[case] spec: Value, #[case] expected: Value) {
        assert_eq!(Requests::from_pod_spec(&spec).to_json(), expected);
    }

    #[test]
    fn the_number_of_resources_is_limited() {
        let many: Map<String, Value> = (0..100).map(|index| (format!("r{index}"), json!(1))).collect();
        let spec = json!({"containers": [container(&Value::Object(many.clone())), container(&json!({"z": 1}))]});
        let json = Requests::from_pod_spec(&spec).to_json();
        assert_eq!(json.as_object().map(Map::len), Some(MAX_RESOURCES));
    }
}
