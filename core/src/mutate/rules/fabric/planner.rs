//! State of planning: the writes, conflicts and notes that result from comparing a profile with a pod.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use super::target::TargetContainer;
use crate::cluster_facts::ClusterView;
use crate::config::Profile;
use crate::dra::PodClaims;
use crate::json;
use crate::mutate::Plan;
use crate::mutate::rules::RuleContext;
use crate::pod::Pod;

/// Compares a profile with a pod and collects the result.
pub(super) struct Planner<'a> {
    pub(super) pod: Pod<'a>,
    pub(super) context: &'a RuleContext<'a>,
    pub(super) cluster: ClusterView<'a>,
    pub(super) profile: &'a Profile,
    pub(super) targets: Vec<TargetContainer<'a>>,
    /// Devices that the pod's claims provide.
    pub(super) claims: PodClaims<'a>,
    /// Writes that add the missing parts of the profile.
    pub(super) plan: Plan,
    /// Reasons why the profile cannot be applied.
    pub(super) conflicts: Vec<Conflict>,
    /// Resources that the plan adds, for the guards.
    pub(super) demands: Vec<ResourceDemand>,
    /// Planned settings that a Pod Security level forbids, with the least strict level that forbids them.
    pub(super) forbidden: Vec<(PodSecurityLevel, String)>,
    added: Vec<String>,
    unchanged: Vec<String>,
    found: Vec<String>,
}

/// A reason why a profile cannot be applied to a pod, with a fix.
#[derive(Clone, Debug)]
pub(super) struct Conflict {
    problem: String,
    fix: String,
    /// JSON pointer of the pod's field that conflicts, if there is one.
    pub(super) field: Option<String>,
    /// True if a guard reports the conflict, false if the pod's own settings conflict with the profile.
    pub(super) is_guard: bool,
    /// True if the queue of the job may resolve the conflict before the pod exists.
    pub(super) is_pending: bool,
}

/// A problem and its fix.
pub(super) type Problem = (String, Cow<'static, str>);

/// Amount of a resource that the plan adds.
#[derive(Clone, Debug)]
pub(super) struct ResourceDemand {
    pub(super) resource: String,
    /// Sum over all containers.
    pub(super) total: u64,
}

/// Pod Security levels that impose restrictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PodSecurityLevel {
    Baseline,
    Restricted,
}

impl Conflict {
    /// Creates a conflict of the pod's own settings with the profile.
    pub(super) fn new(problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { problem: problem.into(), fix: fix.into(), field: None, is_guard: false, is_pending: false }
    }

    /// Creates a conflict that the queue of the job may resolve.
    pub(super) fn pending(problem: impl Into<String>, cause: impl Into<String>) -> Self {
        Self { is_pending: true, ..Self::new(problem, cause) }
    }

    /// Sets the field that conflicts.
    pub(super) fn at(self, field: Option<String>) -> Self {
        Self { field, ..self }
    }
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        context: &'a RuleContext<'a>,
        profile: &'a Profile,
        targets: Vec<TargetContainer<'a>>,
        claims: PodClaims<'a>,
    ) -> Self {
        Self {
            pod: context.pod,
            context,
            cluster: context.snapshot.cluster,
            profile,
            targets,
            claims,
            plan: Plan::default(),
            conflicts: Vec::new(),
            demands: Vec::new(),
            forbidden: Vec::new(),
            added: Vec::new(),
            unchanged: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Appends an item to a list in each of `targets`. `keys` is the path from the container to the list.
    pub(super) fn append<const KEYS: usize>(&mut self, targets: &[usize], keys: [&str; KEYS], item: impl Into<Value>) {
        let lists = targets.iter().filter_map(|index| self.targets.get(*index)).map(|target| target.path(keys));
        self.plan.append_to_each(lists, item);
    }

    /// Records that the pod's own settings conflict with the profile.
    pub(super) fn add_conflict(&mut self, problem: impl Into<String>, fix: impl Into<String>) {
        self.conflicts.push(Conflict::new(problem, fix));
    }

    /// Like [`Self::add_conflict`], for a conflict with the field at `pointer`.
    pub(super) fn add_conflict_at(
        &mut self,
        pointer: impl fmt::Display,
        problem: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.conflicts.push(Conflict::new(problem, fix).at(Some(pointer.to_string())));
    }

    /// Records that the cluster would reject the pod or never start it.
    pub(super) fn add_guard_conflict(&mut self, problem: impl Into<String>, fix: impl Into<String>) {
        self.conflicts.push(Conflict { is_guard: true, ..Conflict::new(problem, fix) });
    }

    /// Notes a part that is added.
    pub(super) fn note_added(&mut self, part: impl fmt::Display) {
        self.added.push(format!("added {part}"));
    }

    /// Notes a setting of the user that differs from the profile and is kept.
    pub(super) fn note_kept(&mut self, part: impl fmt::Display) {
        self.unchanged.push(format!("kept {part}"));
    }

    /// Notes a part that is not added, with the reason.
    pub(super) fn note_skipped(&mut self, part: impl fmt::Display) {
        self.unchanged.push(format!("skipped {part}"));
    }

    /// Notes a part that the pod already has.
    pub(super) fn note_found(&mut self, part: impl fmt::Display) {
        self.found.push(format!("found {part}"));
    }

    /// Returns the notes about the parts of the profile.
    pub(super) fn notes(&self) -> Vec<String> {
        self.added.iter().chain(&self.unchanged).chain(&self.found).cloned().collect()
    }

    /// Returns a suffix that names the containers of `targets`. Empty if these are all targets.
    pub(super) fn container_suffix(&self, targets: &[usize]) -> String {
        if targets.len() == self.targets.len() {
            return String::new();
        }
        let names: Vec<&str> =
            targets.iter().filter_map(|index| self.targets.get(*index)).map(|target| target.container.name()).collect();
        format!(" in {}", names.join(", "))
    }

    /// Returns a field of the pod's `spec`. `null` counts as absent.
    pub(super) fn spec_field(&self, field: &str) -> Option<&'a Value> {
        spec_field(self.pod, field)
    }

    /// Returns the items of a list in the pod's `spec`.
    pub(super) fn spec_items(&self, field: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.spec_field(field).and_then(Value::as_array).into_iter().flatten()
    }
}

/// Returns a field of the `spec` of `pod`. `null` counts as absent.
fn spec_field<'a>(pod: Pod<'a>, field: &str) -> Option<&'a Value> {
    json::field(pod.spec()?, field).filter(|value| !value.is_null())
}

/// Returns true if `found` contains everything in `required`. It may contain more, such as the apiserver's defaults.
pub(super) fn covers(found: &Value, required: &Value) -> bool {
    match (found, required) {
        (Value::Object(found), Value::Object(required)) => {
            required.iter().all(|(key, value)| found.get(key).is_some_and(|found| covers(found, value)))
        }
        (Value::Array(found), Value::Array(required)) => {
            found.len() == required.len() && found.iter().zip(required).all(|(found, required)| covers(found, required))
        }
        _ => found == required,
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.problem, self.fix)
    }
}
