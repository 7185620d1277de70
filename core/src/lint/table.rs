//! Table of all checks: documentation, an example with its fix, and the function. One submodule per topic.

mod claims;
mod compute_domains;
mod devices;
mod durability;
mod fields;
mod gangs;
mod interfaces;
mod job;
mod mesh;
mod mpi;
mod network;
mod own_keys;
mod placement;
mod process_groups;
mod role_traffic;
mod security;
mod tuning;
mod values;
mod volumes;

use super::context::CheckContext;
use super::role_traffic::mixed_modes;
use super::sink::FindingSink;
use super::{LintInput, services, startup};
use crate::config::CheckId;
use crate::finding::{Finding, Severity};

/// A check.
#[derive(Debug)]
pub struct Check {
    /// ID of the check.
    pub id: CheckId,
    /// Default severity.
    pub severity: Severity,
    /// Summary of the problem, a lowercase fragment.
    pub title: &'static str,
    /// Why it is a problem, in sentences.
    pub why: &'static str,
    /// How to fix it, a lowercase fragment.
    pub fix: &'static str,
    /// Example of the problem.
    pub example: Example,
    pub(super) run: fn(&CheckContext<'_>, &mut FindingSink<'_>),
}

/// Part of a pod in which a check finds a problem, and the fixed version of it.
#[derive(Debug)]
pub struct Example {
    /// Precondition of the example; empty if there is none.
    pub given: &'static str,
    /// Manifest with the problem.
    pub wrong: &'static str,
    /// Manifest without the problem.
    pub fixed: &'static str,
}

/// The check that the rule `mesh.traffic` also runs.
pub const CAPTURED_TRAFFIC: CheckId = CheckId::new(21);

/// The check that also runs for the roles of a manifest, because the queue may be a label of the workload.
pub const QUOTA: CheckId = CheckId::new(29);

/// The check that also compares the fabrics of the roles of a manifest.
pub const MIXED_FABRICS: CheckId = CheckId::new(31);

/// The check that also compares the machines that the roles of a manifest select.
pub const MIXED_MACHINES: CheckId = CheckId::new(33);

/// The check that also runs for pods without a fabric.
pub const OWN_KEYS: CheckId = CheckId::new(45);

/// The check that the webhook skips, because refused rules already warn.
pub const REFUSED_RULES: CheckId = CheckId::new(46);

/// The check that also runs for the fields of a workload, and never in admission.
pub const UNKNOWN_FIELDS: CheckId = CheckId::new(49);

/// The check that reports what the rule `termination.managed` warns about.
pub const RUNNING_SIDECARS: CheckId = CheckId::new(50);

/// The check that the webhook skips, because the rule `fabric` warns about unknown claims.
pub const UNKNOWN_CLAIMS: CheckId = CheckId::new(51);

/// The check that also runs for pods that opt out, which the webhook does not get.
pub const OPTED_OUT: CheckId = CheckId::new(61);

/// The check that also runs for the labels and annotations of a workload.
pub const MISPLACED_KEYS: CheckId = CheckId::training(6);

/// The check of workloads that gang mode `kueue` leaves to Kueue, which the preview runs.
pub const MISSING_QUEUE: CheckId = CheckId::training(16);

/// The check that the preview skips if only audit mode prevents the change that fixes it.
pub const PORTLESS_SERVICE: CheckId = CheckId::new(55);

/// The checks about Services of the mesh and the start of pods in it. They run for the patched pod, whatever its fabric, and
/// never in admission, where the Services are not known.
pub const MESH: [CheckId; 9] = [
    CheckId::new(52),
    CheckId::new(53),
    CheckId::new(54),
    PORTLESS_SERVICE,
    CheckId::new(56),
    CheckId::new(57),
    CheckId::new(58),
    CheckId::new(59),
    CheckId::new(62),
];

/// The functions of [`MESH`].
pub(super) const MESH_CHECKS: [fn(&LintInput<'_>, &mut FindingSink<'_>); 9] = [
    services::uncaptured_port,
    services::mutual_rule,
    services::direct_calls,
    services::service_without_ports,
    startup::ambient_hook,
    startup::pod_limits,
    services::many_listeners,
    startup::early_network_use,
    mixed_modes,
];

/// All checks, grouped by topic.
pub(super) static TOPICS: [&[Check]; 19] = [
    values::CHECKS,
    tuning::CHECKS,
    interfaces::CHECKS,
    network::CHECKS,
    security::CHECKS,
    devices::CHECKS,
    fields::CHECKS,
    placement::CHECKS,
    volumes::CHECKS,
    job::CHECKS,
    mesh::CHECKS,
    role_traffic::CHECKS,
    mpi::CHECKS,
    compute_domains::CHECKS,
    claims::CHECKS,
    own_keys::CHECKS,
    process_groups::CHECKS,
    durability::CHECKS,
    gangs::CHECKS,
];

impl Check {
    /// Creates the sink for the check's findings.
    pub(super) fn sink<'a>(&self, severity: Severity, findings: &'a mut Vec<Finding>) -> FindingSink<'a> {
        FindingSink::new(self.id, severity, self.severity, self.fix, findings)
    }
}

/// Returns all checks, sorted by ID.
#[must_use]
pub fn checks() -> Vec<&'static Check> {
    let mut checks: Vec<&Check> = TOPICS.into_iter().flatten().collect();
    checks.sort_by_key(|check| check.id);
    checks
}

/// Returns the check with the finding code `code`.
#[must_use]
pub fn find_check(code: &str) -> Option<&'static Check> {
    TOPICS.into_iter().flatten().find(|check| check.id.code() == code)
}
