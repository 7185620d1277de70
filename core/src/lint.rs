//! Lint checks: settings of a pod that break RDMA or NCCL, or slow them down (`FP`), and training jobs that hang or lose
//! their work (`TR`).
//!
//! [`checks`] lists every check with its documentation and its function; the functions are grouped by topic in the
//! submodules. The checks are pure and report only what the pod and the known facts of the cluster prove: unknown facts
//! produce no findings.

mod admission;
mod claimed_devices;
mod claims;
mod command;
mod compute_domains;
mod context;
mod decisions;
mod deviation;
mod devices;
mod display_name;
mod fields;
mod inbound;
mod input;
mod interfaces;
mod job;
mod job_calls;
mod job_context;
mod kueue;
mod mesh;
mod mpi;
mod mutual_role;
mod namespace_objects;
mod network;
mod node_labels;
mod own_keys;
mod page;
mod placement;
mod profile_settings;
mod raw;
mod rdma;
mod role_fabrics;
mod role_requests;
mod role_settings;
mod role_traffic;
mod run_order;
mod security;
mod services;
mod setting;
mod sink;
mod startup;
mod table;
mod training;
mod tuning;
mod unused_labels;
mod values;
mod volumes;
mod workload_facts;
mod workload_manifest;

use std::collections::BTreeMap;

pub use admission::{is_of_findings, warning_line, warnings};
pub(crate) use fields::{is_copied, message as unknown_field_message};
pub use input::LintInput;
pub use job_context::{JobContext, KueueQueue};
pub use mutual_role::PatchedRole;
pub use namespace_objects::NamespaceObjects;
pub use own_keys::NAMESPACE_FIELD;
pub(crate) use own_keys::{CoveredPods, KeyScope};
pub use page::reference_page;
pub(crate) use role_fabrics::DecidedRole;
pub(crate) use services::{MAX_LISTENERS, is_exclusion_audited};
pub use sink::severity_letter;
pub use table::{
    CAPTURED_TRAFFIC, Check, Example, MESH, MISPLACED_KEYS, MISSING_QUEUE, MIXED_FABRICS, MIXED_MACHINES, OPTED_OUT,
    OWN_KEYS, PORTLESS_SERVICE, QUOTA, REFUSED_RULES, RUNNING_SIDECARS, UNKNOWN_CLAIMS, UNKNOWN_FIELDS, checks,
    find_check,
};
pub use workload_facts::WorkloadFacts;
pub use workload_manifest::{RolePods, WorkloadManifest};

use claimed_devices::{has_adapter, read_claims};
use context::CheckContext;
use setting::sets_nccl;
use sink::FindingSink;

use crate::config::{CheckId, Fabric, LintSettings, Profile};
use crate::dra::ClaimView;
use crate::finding::{self, Finding, Severity};
use crate::pod::Pod;

/// Function of a check that needs no [`CheckContext`].
type InputCheck = fn(&LintInput<'_>, &mut FindingSink<'_>);

/// Returns true if a profile is selected for `pod`, or one of its containers requests or claims an RDMA device or sets an
/// NCCL variable.
#[must_use]
pub fn uses_fabric<'a>(pod: Pod<'a>, profile: Option<&Profile>, view: ClaimView<'a>) -> bool {
    if profile.is_some() {
        return true;
    }
    let claims = read_claims(pod, None, view);
    pod.containers().any(|container| has_adapter(container, &claims, view) || sets_nccl(container))
}

/// Runs the checks that `selected` returns true for, and returns the findings, most severe first. The profile's `lint`
/// section takes precedence over `settings`, except that a check disabled by either stays disabled.
#[must_use]
pub fn lint_selected(
    input: &LintInput<'_>,
    settings: &LintSettings,
    selected: impl Fn(CheckId) -> bool,
) -> Vec<Finding> {
    let context = &CheckContext::new(input);
    let mut findings = Vec::new();
    for check in table::TOPICS.into_iter().flatten().filter(|check| selected(check.id)) {
        if let Some(severity) = severity_of(check, settings, input.profile) {
            (check.run)(context, &mut check.sink(severity, &mut findings));
        }
    }
    if let Some(profile) = input.profile {
        profile_settings::attribute(input, profile, &mut findings);
    }
    finding::sort(&mut findings);
    findings
}

/// Runs FP021 alone, for the rule `mesh.traffic`.
pub(crate) fn captured_traffic(input: &LintInput<'_>, settings: &LintSettings) -> Option<Finding> {
    let mut findings = run_alone(CAPTURED_TRAFFIC, settings, |findings| mesh::check_input(input, findings));
    findings.pop()
}

/// Runs FP045 alone, for pods without a fabric. `labels` are those of the pod's namespace.
pub(crate) fn keys_without_effect(
    pod: Pod<'_>,
    labels: &BTreeMap<String, String>,
    scope: KeyScope<'_>,
    settings: &LintSettings,
) -> Vec<Finding> {
    run_alone(OWN_KEYS, settings, |findings| own_keys::check(pod, labels, scope, findings))
}

/// Runs FP045 for the labels and annotations of a namespace, without a pod. No label has an effect if the namespace `is_excluded`.
#[must_use]
pub(crate) fn namespace_keys_without_effect(
    labels: &BTreeMap<String, String>,
    annotations: &BTreeMap<String, String>,
    fabric: &Fabric,
    is_excluded: bool,
) -> Vec<Finding> {
    run_alone(OWN_KEYS, &fabric.lint, |findings| {
        own_keys::check_namespace(labels, &fabric.profiles, is_excluded, findings);
        own_keys::check_namespace_annotations(annotations, findings);
    })
}

/// Runs FP049 alone, for a pod as its owner creates it: the apiserver has dropped unknown fields before a review.
pub(crate) fn unknown_fields(pod: Pod<'_>, settings: &LintSettings) -> Vec<Finding> {
    run_alone(UNKNOWN_FIELDS, settings, |findings| fields::check(pod, findings))
}

/// Runs FP049 alone, for fields of a pod with an invalid value: pointers, severities and problems.
pub(crate) fn invalid_fields(fields: &[(String, Severity, String)], settings: &LintSettings) -> Vec<Finding> {
    run_alone(UNKNOWN_FIELDS, settings, |findings| fields::report_invalid(fields, findings))
}

/// Runs FP051 alone, for a pod as its owner creates it.
pub(crate) fn unknown_claims(input: &LintInput<'_>, settings: &LintSettings) -> Vec<Finding> {
    run_alone(UNKNOWN_CLAIMS, settings, |findings| claims::check_unknown(input, findings))
}

/// Runs the parts of FP031, FP033 and FP045 that depend on all roles of a manifest.
pub(crate) fn of_all_roles(input: &LintInput<'_>, settings: &LintSettings) -> Vec<Finding> {
    let checks: [(CheckId, InputCheck); 3] = [
        (MIXED_FABRICS, job::compare_roles),
        (MIXED_MACHINES, placement::compare_roles),
        (OWN_KEYS, unused_labels::check),
    ];
    run_for_input(checks, input, settings)
}

/// Runs the checks about the mesh alone, for pods without a fabric.
///
/// Unlike [`lint_selected`], it reads only what these checks need, because the preview runs it for every pod.
pub(crate) fn mesh_findings(input: &LintInput<'_>, settings: &LintSettings) -> Vec<Finding> {
    run_for_input(MESH.into_iter().zip(table::MESH_CHECKS), input, settings)
}

/// Runs the functions of checks.
fn run_for_input(
    checks: impl IntoIterator<Item = (CheckId, InputCheck)>,
    input: &LintInput<'_>,
    settings: &LintSettings,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (id, check) in checks {
        let listed = find_check(id.code());
        let listed = listed.and_then(|listed| Some((listed, severity_of(listed, settings, input.profile)?)));
        if let Some((listed, severity)) = listed {
            check(input, &mut listed.sink(severity, &mut findings));
        }
    }
    findings
}

/// Returns the severity of the findings of `check`; `None` if the configuration or the profile disables it.
fn severity_of(check: &Check, settings: &LintSettings, profile: Option<&Profile>) -> Option<Severity> {
    let severity = settings.severity_of(check.id, check.severity)?;
    profile.map_or(Some(severity), |profile| profile.lint.severity_of(check.id, severity))
}

/// Runs `check`, the function of the check `id`. Returns no findings if the check is disabled.
fn run_alone(id: CheckId, settings: &LintSettings, check: impl FnOnce(&mut FindingSink<'_>)) -> Vec<Finding> {
    let mut findings = Vec::new();
    let listed = find_check(id.code()).and_then(|check| Some((check, settings.severity_of(id, check.severity)?)));
    if let Some((listed, severity)) = listed {
        check(&mut listed.sink(severity, &mut findings));
    }
    findings
}
