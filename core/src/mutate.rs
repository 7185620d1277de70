//! The mutation engine: from a pod and a snapshot to the decision of every rule and a patch.
//!
//! The engine is pure: it performs no I/O and has no clock or client. The webhook and the preview call the same
//! [`mutate`], so that the preview shows exactly what a pod gets. Rules do not modify the pod: they add writes to a
//! [`Plan`], from which the patch operations are built and verified.

mod audit;
mod exemption;
mod lint_patched;
mod marks;
mod missed;
mod outcome;
mod patch;
mod patched_pod;
mod plan;
pub mod proxy_config;
mod rules;
mod snapshot;
mod verify;

use std::collections::BTreeMap;

use serde_json::Value;

pub use lint_patched::lint_input;
pub use missed::{before_injection, missed_rules};
pub use outcome::{Outcome, is_note};
pub use patch::Patch;
pub use plan::Plan;
pub use snapshot::{GangChoice, ProfileChoice, Snapshot, workload_to_read};
pub use verify::{VerifyError, verify, verify_affected};

pub use crate::rule::{Reason, Refusal, RuleId, RuleOutcome, Verdict, applied_rules};

use crate::config::Fabric;
use crate::error::chain;
use crate::finding::{self, Finding};
use crate::lint::{self, CoveredPods, KeyScope};
use crate::pod::{Injection, Pod};
use crate::scope::{Exclusion, Mode};
use exemption::exemption;
use lint_patched::{lint_keys, lint_patched_pod};
use patched_pod::PatchedPod;
use rules::{RULES, RuleContext, RuleDecision};

/// Decisions and planned writes for a pod, before the patch is built and verified.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Decision of every rule.
    pub rules: Vec<RuleOutcome>,
    /// Warnings for the user, with the rules that give them.
    pub warnings: Vec<(RuleId, String)>,
    /// Findings of the lint among these warnings.
    findings: Vec<Finding>,
    /// Fields to write.
    pub plan: Plan,
    /// Purpose of the label [`keys::MANAGED`](crate::keys::MANAGED) that another rule than `termination.managed` plans.
    label_purpose: Option<&'static str>,
}

/// How much of a pod is decoded and compared to verify its patch. The result is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verification {
    /// The complete patched pod.
    Complete,
    /// The part of the patched pod that the plan affects, unless that includes the `spec`.
    Affected,
}

/// Runs every rule on `pod` and returns the outcome. The outcome's patch is verified. In audit mode, and if
/// verification fails, the patch is empty.
#[must_use]
pub fn mutate(pod: &Value, snapshot: &Snapshot<'_>) -> Outcome {
    mutate_with(pod, snapshot, Verification::Complete)
}

/// Like [`mutate`], with a verification that the caller selects.
#[must_use]
pub fn mutate_with(pod: &Value, snapshot: &Snapshot<'_>, verification: Verification) -> Outcome {
    decide(pod, snapshot, verification, None).0
}

/// Like [`mutate`], and also returns `pod` with the patch of the outcome. The patch is withheld for a pod that the apiserver rejects
/// for another reason than those that the verification finds.
#[must_use]
pub fn mutate_and_apply(pod: &Value, snapshot: &Snapshot<'_>, rejection: Option<String>) -> (Outcome, Value) {
    let (outcome, patched) = decide(pod, snapshot, Verification::Complete, rejection);
    // In audit mode, the outcome has no patch.
    let patched = patched.filter(|_| !outcome.patch.is_empty()).unwrap_or_else(|| pod.clone());
    (outcome, patched)
}

/// Returns the outcome, and the pod with the planned patch if the verification was complete.
fn decide(
    pod: &Value,
    snapshot: &Snapshot<'_>,
    verification: Verification,
    rejection: Option<String>,
) -> (Outcome, Option<Value>) {
    let Draft { mut rules, mut warnings, findings: reported, plan, label_purpose } = draft(pod, snapshot);
    let patch = patch::build(pod, &plan);
    let verified = match (verification, rejection) {
        _ if patch.is_empty() => Ok(None),
        (_, Some(problem)) => Err(VerifyError::Rejected(problem)),
        // The lint needs the complete patched pod if containers change.
        (Verification::Affected, None) if !patch.changes_spec() => verify_affected(pod, &patch, &plan).map(|()| None),
        (Verification::Affected | Verification::Complete, None) => verify(pod, &patch, &plan).map(Some),
    };
    let (mut findings, failure, patched) = match verified {
        Ok(patched) => {
            marks::explain_label(&mut rules, label_purpose);
            let patched = PatchedPod::new(pod, &patch, patched);
            (lint_patched_pod(&patched, &rules, snapshot), None, patched.into_known())
        }
        Err(failure) => (lint_keys(Pod::new(pod), &rules, snapshot), Some(failure), None),
    };
    if failure.is_some() {
        // What they describe does not happen.
        let is_applied = |rule: RuleId| rules.iter().any(|it| it.rule == rule && it.outcome == Verdict::Applied);
        warnings.retain(|(rule, _)| !is_applied(*rule));
    }
    let mut warnings: Vec<String> = warnings.into_iter().map(|(_, warning)| warning).collect();
    let patch = match &failure {
        None => patch,
        Some(failure) => {
            outcome::refuse_applied(&mut rules, failure);
            warnings.push(format!("{WITHHELD}{}", chain(failure)));
            Patch::default()
        }
    };
    let audited = snapshot.mode == Mode::Audit && !patch.is_empty();
    if audited {
        outcome::reword_for_audit(&mut warnings);
        warnings.extend(outcome::mark_as_audit(&mut rules));
    }
    warnings.extend(lint::warnings(&findings));
    // The warnings of the rules include these.
    findings.extend(reported);
    finding::sort(&mut findings);
    let outcome = Outcome {
        audit: audit::annotations(Pod::new(pod), &rules, snapshot),
        rules,
        warnings,
        findings,
        patch: if audited { Patch::default() } else { patch },
        failure,
    };
    (outcome, patched)
}

/// Start of the warning about a patch that is not sent.
pub(crate) const WITHHELD: &str = "patch withheld: ";

/// Runs every rule on `pod` without building or verifying a patch.
#[must_use]
pub fn draft(pod: &Value, snapshot: &Snapshot<'_>) -> Draft {
    let view = Pod::new(pod);
    if let Some(reason) = exemption(view) {
        return skip_all(view, reason);
    }
    let context = RuleContext::new(view, snapshot);
    let rules = Vec::with_capacity(RULES.len());
    let mut draft =
        Draft { rules, warnings: Vec::new(), findings: Vec::new(), plan: Plan::default(), label_purpose: None };
    let mut markers = Vec::with_capacity(RULES.len());
    for rule in RULES.iter().filter(|rule| (rule.is_selected)(view)) {
        let decision = (rule.decide)(&context, &mut draft.plan);
        if let Some(marker) = decision.applied_marker(rule.id) {
            markers.push((rule.id, marker));
        }
        let decision = decision.with_responsible_field(rule.id, &context);
        let RuleDecision { verdict, reason, detail, field, warnings, finding, notes, is_rejected_by_istio, marker: _ } =
            decision;
        let outcome = RuleOutcome::new(rule.id, verdict, reason, detail, field).with_notes(notes);
        draft.rules.push(RuleOutcome { is_rejected_by_istio, ..outcome });
        draft.findings.extend(finding);
        draft.warnings.extend(warnings.into_iter().map(|warning| (rule.id, warning)));
    }
    // Rules run in the order of their dependencies but are reported in the documented order.
    draft.rules.sort_by_key(|rule| rule.rule);
    markers.sort_by_key(|(rule, _)| *rule);
    let markers: Vec<&str> = markers.iter().map(|(_, marker)| marker.as_ref()).collect();
    marks::plan(view, snapshot.mode, &markers, &mut draft);
    draft
}

/// Returns the outcome for a pod that the apiserver does not send to the webhook because of `exclusion`. `labels` are
/// the labels of the pod's namespace: often one of them is misspelled.
#[must_use]
pub fn excluded(pod: Pod<'_>, exclusion: Exclusion, labels: &BTreeMap<String, String>, fabric: &Fabric) -> Outcome {
    let rules = skip_all(pod, exclusion.into()).rules;
    // Injection does not matter if the rules do not run.
    let scope = KeyScope {
        covered: if exclusion == Exclusion::ExcludedNamespace { CoveredPods::None } else { CoveredPods::Others },
        profiles: Some(&fabric.profiles),
        rules: &rules,
        injection: Injection::Expected,
        labels_assumed: false,
    };
    let findings = lint::keys_without_effect(pod, labels, scope, &fabric.lint);
    Outcome { rules, warnings: Vec::new(), findings, audit: BTreeMap::new(), patch: Patch::default(), failure: None }
}

fn skip_all(pod: Pod<'_>, reason: Reason) -> Draft {
    let selected = RULES.iter().filter(|rule| (rule.is_selected)(pod));
    let mut rules: Vec<RuleOutcome> =
        selected.map(|rule| RuleOutcome::new(rule.id, Verdict::Skipped, reason, None, None)).collect();
    rules.sort_by_key(|rule| rule.rule);
    Draft { rules, warnings: Vec::new(), findings: Vec::new(), plan: Plan::default(), label_purpose: None }
}
