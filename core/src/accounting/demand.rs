//! Amounts that one pod takes from quotas and nodes.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::pod::Requests;

/// Resource that counts pods.
pub const PODS: &str = "pods";
/// Prefix of the limits in a [`Demand`], as a `ResourceQuota` names them.
pub const LIMITS_PREFIX: &str = "limits.";
const CPU: &str = "cpu";
/// Resources that each container must specify if a quota contains them (kubernetes 1.37.2, `pkg/quota/v1/evaluator/core/pods.go`).
const REQUIRED: [&str; 2] = [CPU, "memory"];

/// Amounts by resource: requests, limits with a prefix, and the number of pods. CPU is counted in thousandths, other resources
/// in whole units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    amounts: BTreeMap<String, u64>,
    /// Requests and limits that a container omits.
    omitted: BTreeSet<String>,
}

impl Demand {
    /// Returns the demand of a pod with this `spec`.
    #[must_use]
    pub fn of_pod(spec: &Value) -> Self {
        let requests = Requests::from_pod_spec(spec);
        let limits = Requests::limits_from_pod_spec(spec);
        let mut demand = Self::from(requests);
        for (name, amount) in limits.iter() {
            demand.set(format!("{LIMITS_PREFIX}{name}"), amount);
        }
        demand.set(PODS, 1);
        demand.omitted = omitted(spec);
        demand
    }

    /// Returns the amounts in a list of quantities.
    #[must_use]
    pub fn from_list(list: &Map<String, Value>) -> Self {
        Requests::from_list(list).into()
    }

    /// Returns the amount of `resource`; 0 if there is none.
    #[must_use]
    pub fn amount(&self, resource: &str) -> u64 {
        self.amounts.get(resource).copied().unwrap_or_default()
    }

    /// Returns true if there is an amount of `resource`, which may be 0.
    #[must_use]
    pub fn contains(&self, resource: &str) -> bool {
        self.amounts.contains_key(resource)
    }

    /// Returns true if each amount of `other` is at most that of this demand.
    pub(super) fn contains_all(&self, other: &Self) -> bool {
        other.iter().all(|(name, amount)| self.contains(name) && self.amount(name) >= amount)
    }

    /// Returns true if a container omits the request or limit for `resource`.
    #[must_use]
    pub fn omits(&self, resource: &str) -> bool {
        self.omitted.contains(resource)
    }

    /// Returns the resources with their amounts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.amounts.iter().map(|(name, amount)| (name.as_str(), *amount))
    }

    /// Returns the requests as quantities, without limits and the number of pods.
    pub fn requests(&self) -> impl Iterator<Item = (&str, String)> {
        let requests = self.iter().filter(|(name, _)| *name != PODS && !name.starts_with(LIMITS_PREFIX));
        requests.map(|(name, amount)| (name, quantity(name, amount)))
    }

    /// Returns the demand without limits.
    #[must_use]
    pub(super) fn without_limits(mut self) -> Self {
        self.amounts.retain(|name, _| !name.starts_with(LIMITS_PREFIX));
        self
    }

    /// Sets an amount.
    pub fn set(&mut self, resource: impl Into<String>, amount: u64) {
        self.amounts.insert(resource.into(), amount);
    }

    /// Records that a container omits the request or limit for `resources`.
    pub(super) fn omit(&mut self, resources: impl Iterator<Item = String>) {
        self.omitted.extend(resources);
    }

    /// Adds `count` times `other`.
    pub fn add(&mut self, other: &Self, count: u64) {
        if count == 0 {
            return;
        }
        for (name, amount) in &other.amounts {
            let own = self.amounts.entry(name.clone()).or_default();
            *own = own.saturating_add(amount.saturating_mul(count));
        }
        self.omit(other.omitted.iter().cloned());
    }

    /// Raises each amount to that of `other`, and returns the differences.
    pub(super) fn raise_to(&mut self, other: &Self) -> Self {
        let mut raised = Self::default();
        for (name, amount) in other.iter() {
            let missing = amount.saturating_sub(self.amount(name));
            if missing > 0 {
                raised.set(name, missing);
                self.set(name, amount);
            }
        }
        self.omit(other.omitted.iter().cloned());
        raised
    }
}

/// Returns the requests and limits that a container omits, though a quota may require them.
fn omitted(spec: &Value) -> BTreeSet<String> {
    let has_any = |list: &Value| list.as_object().is_some_and(|list| !list.is_empty());
    // Resources of the pod apply to all its containers.
    if spec
        .get("resources")
        .is_some_and(|pod| ["requests", "limits"].iter().any(|list| pod.get(list).is_some_and(has_any)))
    {
        return BTreeSet::new();
    }
    let containers = |list: &str| spec.get(list).and_then(Value::as_array).into_iter().flatten();
    let mut found = BTreeSet::new();
    for container in containers("initContainers").chain(containers("containers")) {
        let requests = Demand::from(Requests::from_container(container));
        let limits = Demand::from(Requests::limits_from_container(container));
        for name in REQUIRED {
            found.extend((!requests.contains(name)).then(|| name.to_owned()));
            found.extend((!limits.contains(name)).then(|| format!("{LIMITS_PREFIX}{name}")));
        }
    }
    found
}

impl From<Requests> for Demand {
    fn from(requests: Requests) -> Self {
        let amounts = requests.iter().map(|(name, amount)| (name.to_owned(), amount)).collect();
        Self { amounts, omitted: BTreeSet::new() }
    }
}

impl Serialize for Demand {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(name, amount)| (name, quantity(name, amount))))
    }
}

/// Returns an amount of `resource` as a quantity.
#[must_use]
pub(super) fn quantity(resource: &str, amount: u64) -> String {
    if resource.strip_prefix(LIMITS_PREFIX).unwrap_or(resource) != CPU {
        binary(resource, amount)
    } else if amount.is_multiple_of(1000) {
        (amount / 1000).to_string()
    } else {
        format!("{amount}m")
    }
}

/// Returns bytes with a suffix, if that is exact.
fn binary(resource: &str, amount: u64) -> String {
    const SUFFIXES: [(u32, &str); 3] = [(30, "Gi"), (20, "Mi"), (10, "Ki")];
    let name = resource.strip_prefix(LIMITS_PREFIX).unwrap_or(resource);
    let is_bytes = name == "memory" || name == "ephemeral-storage" || name.starts_with("hugepages-");
    let exact = SUFFIXES.into_iter().find(|(shift, _)| is_bytes && amount > 0 && amount.trailing_zeros() >= *shift);
    exact.map_or_else(|| amount.to_string(), |(shift, suffix)| format!("{}{suffix}", amount >> shift))
}
