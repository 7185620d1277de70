//! The engine: a pod and a snapshot go in, what every rule decided and the patch come out.
//!
//! Pure: no I/O, no clock, no client. The webhook and the preview call the same [`mutate`], so that what a person is
//! shown is what a pod gets. Rules never write: they add to a [`Plan`], from which the operations are built and checked
//! before anyone sees them.

mod audit;
mod exemption;
mod lint_patched;
mod outcome;
mod patch;
mod plan;
pub mod proxy_config;
mod reason;
mod rule_id;
mod rules;
mod snapshot;
mod verify;

use std::collections::BTreeMap;

use serde_json::Value;

pub use lint_patched::subject;
pub use outcome::{Outcome, RuleOutcome, Verdict};
pub use patch::Patch;
pub use plan::Plan;
pub use reason::Reason;
pub use rule_id::RuleId;
pub use snapshot::{ProfileChoice, Snapshot};
pub use verify::{VerifyError, verify};

use crate::error::chain;
use crate::keys;
use crate::lint;
use crate::pod::Pod;
use crate::scope::{Exclusion, Mode};
use exemption::exemption;
use lint_patched::lint_patched_pod;
use rules::{Facts, RULES, Ruling};

/// What a pod would get, before it is checked.
#[derive(Clone, Debug)]
pub struct Draft {
    /// What every rule decided.
    pub rules: Vec<RuleOutcome>,
    /// What the user must be told.
    pub warnings: Vec<String>,
    /// What is to be written.
    pub plan: Plan,
}

/// Runs every rule over `pod` and returns what is to be answered: the checked patch, or none where the snapshot is a
/// rehearsal or the check failed.
#[must_use]
pub fn mutate(pod: &Value, snapshot: &Snapshot<'_>) -> Outcome {
    let Draft { mut rules, mut warnings, plan } = draft(pod, snapshot);
    let patch = patch::build(pod, &plan);
    let checked = if patch.is_empty() { Ok(None) } else { verify(pod, &patch, &plan).map(Some) };
    let findings =
        checked.as_ref().map_or_else(|_| Vec::new(), |after| lint_patched_pod(pod, after.as_ref(), snapshot));
    let (patch, failure) = match checked {
        Ok(_) => (patch, None),
        Err(failure) => {
            outcome::withdraw(&mut rules, &failure);
            warnings.push(format!("no patch was made: {}", chain(&failure)));
            (Patch::default(), Some(failure))
        }
    };
    let rehearsed = snapshot.mode == Mode::Audit && !patch.is_empty();
    if rehearsed {
        warnings.extend(outcome::rehearsal(&mut rules));
    }
    warnings.extend(lint::warnings(&findings));
    Outcome {
        audit: audit::annotations(Pod::new(pod), &rules, snapshot),
        rules,
        warnings,
        findings,
        patch: if rehearsed { Patch::default() } else { patch },
        failure,
    }
}

/// Decides without building or checking a patch.
#[must_use]
pub fn draft(pod: &Value, snapshot: &Snapshot<'_>) -> Draft {
    let view = Pod::new(pod);
    if let Some(reason) = exemption(view) {
        return passed_over(reason);
    }
    let facts = Facts::new(view, snapshot);
    let mut draft = Draft { rules: Vec::with_capacity(RULES.len()), warnings: Vec::new(), plan: Plan::default() };
    let mut in_force = Vec::with_capacity(RULES.len());
    for rule in RULES {
        let ruling = (rule.decide)(&facts, &mut draft.plan);
        if let Some(word) = ruling.word(rule.id) {
            in_force.push((rule.id, word));
        }
        let Ruling { verdict, reason, detail, field, warnings, parts, .. } = ruling;
        draft.rules.push(RuleOutcome::new(rule.id, verdict, reason, detail, field).with_parts(parts));
        draft.warnings.extend(warnings);
    }
    // Told in the order of the reference, whatever order the decisions need.
    draft.rules.sort_by_key(|rule| rule.rule);
    in_force.sort_by_key(|(rule, _)| *rule);
    if draft.rules.iter().any(|rule| rule.outcome == Verdict::Applied) {
        let words: Vec<&str> = in_force.iter().map(|(_, word)| word.as_ref()).collect();
        draft.plan.set_annotation(keys::APPLIED, words.join(","));
    }
    draft
}

/// The outcome for a pod that the apiserver does not send to the webhook at all.
#[must_use]
pub fn excluded(why: Exclusion) -> Outcome {
    let Draft { rules, warnings, .. } = passed_over(why.into());
    Outcome { rules, warnings, findings: Vec::new(), audit: BTreeMap::new(), patch: Patch::default(), failure: None }
}

fn passed_over(reason: Reason) -> Draft {
    let rules =
        RuleId::ALL.into_iter().map(|rule| RuleOutcome::new(rule, Verdict::Skipped, reason, None, None)).collect();
    Draft { rules, warnings: Vec::new(), plan: Plan::default() }
}
