//! Accounting: compares the requests of a job, those of its templates and those of its pods after admission, with the
//! quotas and nodes that the job needs.
//!
//! Operators and Kueue count templates, but a `ResourceQuota` and the scheduler count pods, to which webhooks have added
//! devices and sidecars. [`constraints`] reads the quotas from their objects, and [`JobAccount::new`] compares.
//!
//! Pure: no I/O, clock or client.

mod addition;
mod comparison;
pub mod constraints;
mod demand;
mod rejection;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::Value;

use crate::pod::Pod;

use addition::UNKNOWN_CONTAINER;
pub(crate) use addition::added_requests;
pub use addition::{Addition, additions};
pub use comparison::{Comparison, Shortage, Verdict};
pub use constraints::{CapacityGroup, Constraint, ConstraintKind, Scope};
pub use demand::{Demand, LIMITS_PREFIX, PODS};
use rejection::rejected_amounts;

/// Kinds whose pods Kueue admits individually (kubernetes-sigs/kueue 0.19.0, `pkg/controller/jobs/{pod,deployment}`). It reads the
/// templates of all other kinds.
const ADMITTED_AS_PODS: [&str; 3] = ["Pod", "Deployment", "ReplicaSet"];

/// Requests that a controller counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Counted {
    /// The pod templates, before the pods exist.
    Templates,
    /// The pods, after admission webhooks have changed them.
    Pods,
}

impl Counted {
    /// Returns what Kueue counts for a workload of this kind.
    #[must_use]
    pub fn by_kueue(kind: &str) -> Self {
        if ADMITTED_AS_PODS.contains(&kind) { Self::Pods } else { Self::Templates }
    }
}

/// Origin of the pods of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Basis {
    /// The apiserver returned the pod for a dry run, which all webhooks have changed.
    DryRun,
    /// The preview, which contains only the changes of trainmesh, because the dry run failed. If it exceeded a quota, the message
    /// contains what the apiserver counted.
    Preview,
}

/// Requests of a role.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoleAccount {
    /// Name of the role.
    pub role: String,
    /// Number of its pods; `None` if unknown.
    pub replicas: Option<u64>,
    /// Origin of `pod`.
    pub basis: Basis,
    /// Requests of one pod as its template has them.
    pub template: Demand,
    /// Requests of one pod after admission.
    pub pod: Demand,
    /// Requests that admission adds, by container.
    pub additions: Vec<Addition>,
}

/// Requests of a job, and the constraints that they are compared with.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobAccount {
    /// Requests of the roles.
    pub roles: Vec<RoleAccount>,
    /// Results, in the order of the constraints.
    pub constraints: Vec<Comparison>,
    /// Objects that could not be read, one message each.
    pub unknown: Vec<String>,
}

impl RoleAccount {
    /// Creates the account of a role from a pod of its template, and the pod after admission.
    #[must_use]
    pub fn new(role: &str, replicas: Option<u64>, template: &Value, admitted: &Value, basis: Basis) -> Self {
        let mut spec = template.get("spec").cloned().unwrap_or_default();
        let overhead = admitted.get("spec").and_then(|spec| spec.get("overhead"));
        // The apiserver adds the overhead of a RuntimeClass, and controllers that count templates add it, too.
        if let (Some(overhead), Some(fields)) = (overhead, spec.as_object_mut())
            && fields.contains_key("runtimeClassName")
        {
            fields.insert("overhead".to_owned(), overhead.clone());
        }
        Self {
            role: role.to_owned(),
            replicas,
            basis,
            template: Demand::of_pod(&spec),
            pod: Demand::of_pod(admitted.get("spec").unwrap_or(&Value::Null)),
            additions: additions(Pod::new(template), Pod::new(admitted)),
        }
    }

    /// Raises the requests of the pod to those in the message with which the apiserver rejected it, if it contains any.
    #[must_use]
    pub fn with_rejection(mut self, message: &str) -> Self {
        let unknown = self.pod.raise_to(&rejected_amounts(message));
        let requests = unknown.without_limits();
        if requests.iter().next().is_some() {
            self.additions.push(Addition { container: UNKNOWN_CONTAINER.to_owned(), requests });
        }
        self
    }
}

impl JobAccount {
    /// Compares `roles` with `constraints`.
    #[must_use]
    pub fn new(roles: Vec<RoleAccount>, constraints: &[Constraint], unknown: Vec<String>) -> Self {
        let constraints = constraints.iter().map(|constraint| Comparison::new(constraint, &roles)).collect();
        Self { roles, constraints, unknown }
    }
}
