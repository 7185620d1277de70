//! A difference between the roles of a job.

use crate::finding::Severity;

/// Maximum number of roles that are compared with all others. Other roles rarely differ only among themselves.
pub(super) const MAX_COMPARED: usize = 8;

/// The first role that differs from another role of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Deviation {
    /// Name of the role.
    pub(super) role: String,
    /// Description of the difference.
    pub(super) message: String,
    /// Severity of the finding.
    pub(super) severity: Severity,
    /// How to fix it; `None`: as for the check.
    pub(super) fix: Option<&'static str>,
}
