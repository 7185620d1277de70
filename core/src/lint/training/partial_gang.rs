//! TR014: gangs that a part of the roles joins.

use std::collections::BTreeSet;

use json_patch::jsonptr::PointerBuf;

use super::{RolePods, WorkloadManifest};
use crate::finding::Severity;
use crate::gang::GangMode;
use crate::hint::nearest;
use crate::keys;
use crate::lint::context::CheckContext;
use crate::lint::sink::FindingSink;
use crate::rule::{Reason, RuleId, RuleOutcome};

/// Reason why a role does not join the gang.
struct Cause {
    /// Field of the pod that is the reason.
    field: String,
    /// The reason, as a relative clause after the name of the role; empty if it has no label for the gang.
    clause: String,
    /// Question that ends the message.
    question: String,
    /// How to fix it.
    fix: &'static str,
}

const FIX_FOR_LABELS: &str = "give all pod templates of the job the same trainmesh.dev/gang, or label the namespace";
const FIX_FOR_SCHEDULERS: &str = "remove schedulerName from the role, or correct it: the mode sets that of the gang";
const FIX_FOR_OPT_OUT: &str = "remove trainmesh.dev/inject from the role, or set it in all pod templates of the job";
const FIX_FOR_KEYS: &str = "remove the key of the gang from the role, or set it in all pod templates of the job";
const FIX_FOR_GATES: &str = "remove the scheduling gates from the role, or set them in all pod templates of the job";

/// TR014: the rule `gang` applies to a part of the roles of a gang.
pub(crate) fn partial_gang(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some((workload, role)) = context.workload() else { return };
    let Some((shape, own)) = workload.gang.and_then(|shape| Some((shape, shape.gang_of(role.original).ok()?))) else {
        return;
    };
    // The apiserver rejects its pods, which another finding reports.
    if role.rules.iter().any(|rule| rule.reason == Reason::NotAPod) {
        return;
    }
    let is_member = |other: &&RolePods<'_>| {
        let position = shape.gang_of(other.original).map(|gang| gang.position);
        other.replicas != Some(0) && position.as_ref() == Ok(&own.position)
    };
    let joined = |other: &RolePods<'_>| {
        GangMode::named_by_pods().find(|mode| mode.gang_named_by(other.patched) == Some(own.name.as_str()))
    };
    let members: Vec<(&RolePods<'_>, Option<GangMode>)> =
        workload.roles.iter().filter(is_member).map(|other| (other, joined(other))).collect();
    // Roles with different modes are in different gangs, each of which lacks the others.
    let modes: BTreeSet<GangMode> = members.iter().filter_map(|(_, mode)| *mode).collect();
    for mode in modes {
        let (inside, outside): (Vec<_>, Vec<_>) = members.iter().partition(|(_, other)| *other == Some(mode));
        let pods = WorkloadManifest::pods(inside.iter().map(|(other, _)| *other));
        // The roles of a workload with several groups have pods in each.
        let is_short = pods.is_some_and(|pods| pods / shape.shape.groups.max(1) < own.min_members);
        let is_outside = outside.iter().any(|(other, _)| other.name == role.name);
        if let Some((first, _)) = inside.first().filter(|_| is_short && is_outside) {
            let Cause { field, clause, question, fix } = Cause::of(role, mode);
            let (first, role) = (&first.name, &role.name);
            // The keys of the pods leave such roles out.
            let message = if mode.has_fixed_minimum() {
                format!("{first} joins the gang ({mode}), but not {role}{clause}: it starts without them{question}")
            } else {
                format!(
                    "{first} joins the gang ({mode}), which needs {} pods, but not {role}{clause}: it waits for them in vain{question}",
                    own.min_members
                )
            };
            findings.push_with_fix(Severity::Warning, field, message, fix);
        }
    }
}

impl Cause {
    /// Returns the reason why `role` does not join a gang of `mode`.
    fn of(role: &RolePods<'_>, mode: GangMode) -> Self {
        let decision = role.rules.iter().find(|rule| rule.rule == RuleId::Gang);
        let detail = decision.and_then(RuleOutcome::detail).unwrap_or_default();
        let field = decision.and_then(|rule| rule.field.clone());
        let cause = |field: Option<String>, clause: String, fix| Self {
            field: field.unwrap_or_else(|| "/metadata/labels".to_owned()),
            clause,
            question: String::new(),
            fix,
        };
        match decision.map(|rule| rule.reason) {
            Some(Reason::OtherScheduler) => {
                let near = mode.scheduler_name().and_then(|name| nearest(detail, &[name]));
                let question = near.map(|near| format!(": did you mean {near}?")).unwrap_or_default();
                Self { question, ..cause(field, format!(", whose scheduler is {detail}"), FIX_FOR_SCHEDULERS) }
            }
            Some(Reason::PodOptedOut) => cause(
                label(role, keys::INJECT),
                format!(", whose pods have opted out ({})", keys::INJECT),
                FIX_FOR_OPT_OUT,
            ),
            Some(Reason::GangKeyPresent) => cause(field, format!(", which already has the {detail}"), FIX_FOR_KEYS),
            Some(Reason::SchedulingGated) => cause(field, ", which has scheduling gates".to_owned(), FIX_FOR_GATES),
            _ => cause(label(role, keys::GANG), String::new(), FIX_FOR_LABELS),
        }
    }
}

/// Returns the field of the label `key` if the pods of `role` have it.
fn label(role: &RolePods<'_>, key: &str) -> Option<String> {
    role.original.label(key)?;
    Some(PointerBuf::from_tokens(["metadata", "labels", key]).to_string())
}
