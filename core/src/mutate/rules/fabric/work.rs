//! What is being decided: the parts of a profile, held against a pod one by one.

use std::fmt;

use serde_json::Value;

use super::target::Target;
use crate::cluster_facts::ClusterView;
use crate::config::Profile;
use crate::keys;
use crate::mutate::Plan;
use crate::mutate::rules::Facts;
use crate::pod::Pod;

/// What has been decided so far.
pub(super) struct Work<'a> {
    pub(super) pod: Pod<'a>,
    pub(super) facts: &'a Facts<'a>,
    pub(super) cluster: ClusterView<'a>,
    pub(super) profile: &'a Profile,
    pub(super) targets: Vec<Target<'a>>,
    /// What is missing.
    pub(super) plan: Plan,
    /// Why the pod cannot have the profile.
    pub(super) conflicts: Vec<Conflict>,
    /// What is missing of resources, for the guards.
    pub(super) demands: Vec<Demand>,
    /// What is missing that a level of Pod Security forbids, with the level.
    pub(super) forbidden: Vec<(Level, String)>,
    added: Vec<String>,
    kept: Vec<String>,
    found: Vec<String>,
}

/// Why a pod cannot have a profile: what stands against it, and the cure.
#[derive(Clone, Debug)]
pub(super) struct Conflict {
    what: String,
    cure: String,
    /// Whether the cluster is against it, and not the pod.
    pub(super) guard: bool,
}

/// What is missing of a resource.
#[derive(Clone, Debug)]
pub(super) struct Demand {
    pub(super) resource: String,
    /// Of all containers.
    pub(super) total: u64,
}

/// The levels of Pod Security that forbid anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Baseline,
    Restricted,
}

impl<'a> Work<'a> {
    pub(super) fn new(facts: &'a Facts<'a>, profile: &'a Profile, targets: Vec<Target<'a>>) -> Self {
        Self {
            pod: facts.pod,
            facts,
            cluster: facts.snapshot.cluster,
            profile,
            targets,
            plan: Plan::default(),
            conflicts: Vec::new(),
            demands: Vec::new(),
            forbidden: Vec::new(),
            added: Vec::new(),
            kept: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Plans the same item for the end of a list in each of `targets`; `keys` lead from the container to the list.
    pub(super) fn append<const KEYS: usize>(&mut self, targets: &[usize], keys: [&str; KEYS], item: impl Into<Value>) {
        let lists = targets.iter().filter_map(|index| self.targets.get(*index)).map(|target| target.path(keys));
        self.plan.append_to_each(lists, item);
    }

    /// The user's text and the profile exclude each other.
    pub(super) fn conflict(&mut self, what: impl Into<String>, cure: impl Into<String>) {
        self.conflicts.push(Conflict { what: what.into(), cure: cure.into(), guard: false });
    }

    /// The cluster would not take the pod.
    pub(super) fn guarded(&mut self, what: impl Into<String>, cure: impl Into<String>) {
        self.conflicts.push(Conflict { what: what.into(), cure: cure.into(), guard: true });
    }

    /// Something is added.
    pub(super) fn added(&mut self, what: impl Into<String>) {
        self.added.push(what.into());
    }

    /// The user's own stands.
    pub(super) fn kept(&mut self, what: impl Into<String>) {
        self.kept.push(what.into());
    }

    /// The pod has it already.
    pub(super) fn found(&mut self, what: impl Into<String>) {
        self.found.push(what.into());
    }

    /// What was decided, part by part.
    pub(super) fn parts(&self) -> Vec<String> {
        let words = [("added", &self.added), ("kept", &self.kept), ("found", &self.found)];
        words.into_iter().flat_map(|(word, parts)| parts.iter().map(move |part| format!("{word} {part}"))).collect()
    }

    /// The containers of `targets`, by name; nothing where that is all of the profile's.
    pub(super) fn of(&self, targets: &[usize]) -> String {
        if targets.len() == self.targets.len() {
            return String::new();
        }
        let names: Vec<&str> =
            targets.iter().filter_map(|index| self.targets.get(*index)).map(|one| one.container.name()).collect();
        format!(" of {}", names.join(", "))
    }

    /// The types of machine that the pod may be placed on, where every placement that it allows names some; else none.
    pub(super) fn machines(&self) -> Vec<&'a str> {
        let selected = self.spec("nodeSelector").and_then(|selector| selector.get(keys::INSTANCE_TYPE)?.as_str());
        let brought = || {
            let mut selector = self.profile.pod.node_selector.iter();
            selector.find(|(key, _)| key.as_str() == keys::INSTANCE_TYPE).map(|(_, value)| value.as_str())
        };
        match selected.or_else(brought) {
            Some(machine) => vec![machine],
            None => self.machines_of_affinity().unwrap_or_default(),
        }
    }

    fn machines_of_affinity(&self) -> Option<Vec<&'a str>> {
        let required =
            self.spec("affinity")?.get("nodeAffinity")?.get("requiredDuringSchedulingIgnoredDuringExecution")?;
        let mut machines = Vec::new();
        for term in required.get("nodeSelectorTerms")?.as_array()? {
            let named = term.get("matchExpressions")?.as_array()?.iter().find(|expression| {
                let is = |field: &str, text: &str| expression.get(field).and_then(Value::as_str) == Some(text);
                is("key", keys::INSTANCE_TYPE) && is("operator", "In")
            });
            machines.extend(named?.get("values")?.as_array()?.iter().filter_map(Value::as_str));
        }
        Some(machines)
    }

    /// What stands in the pod's `spec` at `field`.
    pub(super) fn spec(&self, field: &str) -> Option<&'a Value> {
        self.pod.spec()?.get(field).filter(|value| !value.is_null())
    }

    /// The items of the list at `field` of the pod's `spec`.
    pub(super) fn items(&self, field: &str) -> impl Iterator<Item = &'a Value> {
        self.spec(field).and_then(Value::as_array).into_iter().flatten()
    }
}

/// Whether `found` holds all that `wanted` says; it may say more, as the apiserver's defaults do.
pub(super) fn covers(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => {
            wanted.iter().all(|(key, value)| found.get(key).is_some_and(|found| covers(found, value)))
        }
        (Value::Array(found), Value::Array(wanted)) => {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| covers(found, wanted))
        }
        _ => found == wanted,
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.what, self.cure)
    }
}
