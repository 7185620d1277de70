//! Facts of a whole job that the checks of one pod need. Only a manifest shows them; an admission review contains one pod.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::deviation::Deviation;
use super::mutual_role::MutualRole;
use super::workload_facts::WorkloadFacts;
use crate::accounting::Counted;
use crate::workload::kueue_queue;

/// Facts of all roles of a job: a workload, or a component of an `AppWrapper`.
#[derive(Clone, Debug, Default)]
pub struct JobContext {
    /// Facts of the whole workload.
    pub(super) facts: Arc<WorkloadFacts>,
    /// Index of the first role of the job among those of the workload.
    pub(super) first_role: usize,
    /// The first role whose fabric differs from that of another role.
    pub(super) deviation: Option<Deviation>,
    /// The first role that selects other machines than a role before it.
    pub(super) other_machines: Option<Deviation>,
    /// The first role whose traffic Envoy captures, while that of another role bypasses it.
    pub(super) captured_role: Option<Deviation>,
    /// Services in the namespace of the job that select its pods.
    pub(super) services: BTreeSet<String>,
    /// Roles with ports that require mTLS.
    pub(super) mutual_roles: Vec<MutualRole>,
    /// Roles whose pods start together with others.
    pub(super) joint_roles: BTreeSet<String>,
    /// Number of roles that can be in a gang, as far as their kind shows; `None` if the decisions about them are unknown.
    pub(super) gang_roles: Option<usize>,
    /// Queue of Kueue that the workload names.
    pub(super) queue: Option<KueueQueue>,
}

/// A queue of Kueue, as a workload names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KueueQueue {
    /// Name of the `LocalQueue`.
    pub name: String,
    /// Requests that Kueue counts for the workload.
    pub counts: Counted,
}

impl JobContext {
    /// Creates the facts of the job whose roles start at the index `first_role` of those of the workload.
    #[must_use]
    pub fn new(facts: Arc<WorkloadFacts>, first_role: usize) -> Self {
        Self { facts, first_role, ..Self::default() }
    }

    /// Adds the facts of the workload itself.
    #[must_use]
    pub fn with_workload(self, workload: &Value) -> Self {
        let name = kueue_queue(workload);
        let kind = workload.get("kind").and_then(Value::as_str).unwrap_or_default();
        let queue = name.map(|name| KueueQueue { name: name.to_owned(), counts: Counted::by_kueue(kind) });
        Self { queue, ..self }
    }

    /// Returns the queue of Kueue that the workload names.
    #[must_use]
    pub fn queue(&self) -> Option<&KueueQueue> {
        self.queue.as_ref()
    }

    /// Adds the names of the roles whose pods start together with others.
    #[must_use]
    pub fn with_joint_roles<'a>(self, roles: impl Iterator<Item = &'a str>) -> Self {
        Self { joint_roles: roles.map(str::to_owned).collect(), ..self }
    }
}
