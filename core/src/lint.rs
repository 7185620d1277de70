//! What looks wrong in a pod that uses a fabric.
//!
//! One entry a check in [`checks`], with its words and its function; the functions stand by theme in the modules beside
//! it. Pure, and evidence alone counts: what is not known of the pod or the cluster makes no check fire.

mod admission;
mod devices;
mod facts;
mod finding;
mod interfaces;
mod job;
mod mesh;
mod network;
mod page;
mod placement;
mod raw;
mod rdma;
mod security;
mod setting;
mod subject;
mod table;
mod tuning;
mod values;
mod volumes;

pub use admission::{line, warnings};
pub use finding::letter;
pub use page::page;
pub use subject::Subject;
pub use table::{CAPTURED, Check, Example, checks, find};

use facts::{Facts, asks_for_adapter};
use setting::sets_nccl;

use crate::config::{CheckId, LintSettings, Profile};
use crate::finding::{Finding, Severity};
use crate::pod::Pod;

/// Whether `pod` has to do with a fabric: a profile was selected, or it asks for an RDMA device or sets a variable of NCCL.
#[must_use]
pub fn concerns(pod: Pod<'_>, profile: Option<&Profile>) -> bool {
    profile.is_some() || pod.containers().any(|container| asks_for_adapter(container) || sets_nccl(container))
}

/// What looks wrong in the subject's pod, the heaviest first. What the profile says of a check beats `settings`.
#[must_use]
pub fn lint(subject: &Subject<'_>, settings: &LintSettings) -> Vec<Finding> {
    lint_some(subject, settings, |_| true)
}

/// The same, by the checks alone that are `wanted`.
#[must_use]
pub fn lint_some(subject: &Subject<'_>, settings: &LintSettings, wanted: impl Fn(CheckId) -> bool) -> Vec<Finding> {
    let facts = &Facts::new(subject);
    let own = subject.profile.map(|profile| &profile.lint);
    let mut findings = Vec::new();
    for check in table::THEMES.into_iter().flatten().filter(|check| wanted(check.id)) {
        let weighed = settings.weigh(check.id, check.severity);
        let weighed = weighed.and_then(|severity| own.map_or(Some(severity), |own| own.weigh(check.id, severity)));
        if let Some(severity) = weighed {
            (check.find)(facts, &mut check.found(severity, &mut findings));
        }
    }
    findings.sort_by(|a, b| (a.severity, a.code).cmp(&(b.severity, b.code)));
    findings
}

/// FP021 alone, for a pod whose traffic is left to Istio.
pub(crate) fn captured(subject: &Subject<'_>, settings: &LintSettings) -> Option<Finding> {
    let check = find(CAPTURED.code())?;
    let severity = settings.weigh(check.id, check.severity).filter(|severity| *severity != Severity::Info)?;
    let mut findings = Vec::new();
    mesh::captured(subject, &mut check.found(severity, &mut findings));
    findings.pop()
}
