//! Marks that the webhook leaves in a pod: the rules that were applied, those that were refused, and the label by which
//! the controller finds the pod.
//!
//! Templates are copied from running pods, so marks that arrive in a new pod are overwritten. Rules read those of an
//! earlier call only where the pod contains what they describe.

use super::rules::{label_pointer, managed::MANAGED};
use super::{Draft, Reason, RuleId, RuleOutcome, Verdict};
use crate::keys;
use crate::pod::Pod;
use crate::scope::Mode;

/// Adds the marks to the plan. `applied` are the entries for [`keys::APPLIED`].
pub(super) fn plan(pod: Pod<'_>, mode: Mode, applied: &[&str], draft: &mut Draft) {
    let Draft { rules, plan, label_purpose, .. } = draft;
    if rules.iter().any(|rule| rule.outcome == Verdict::Applied) {
        plan.set_annotation(keys::APPLIED, applied.join(","));
    }
    let has_fabric = rules.iter().any(|rule| rule.rule == RuleId::Fabric && rule.outcome == Verdict::Applied);
    let purpose = if has_fabric {
        "lets the controller watch the pod's fabric"
    } else {
        "lets the controller watch the pod's gang"
    };
    *label_purpose = plan.label(keys::MANAGED).map(|_| purpose);
    // Namespaces labeled for istio-aux get nothing beyond what istio-aux does.
    if mode == Mode::Enabled {
        // HoldNotRendered describes what Istio did after the first call. A reinvocation that recorded it would change
        // the pod again, so the patch would not be idempotent.
        let is_recorded =
            |rule: &&RuleOutcome| rule.outcome == Verdict::Refused && rule.reason != Reason::HoldNotRendered;
        let refused = rules.iter().filter(is_recorded);
        let refused: Vec<String> = refused.map(|rule| format!("{}={}", rule.rule.name(), rule.reason.code())).collect();
        let refused = refused.join(",");
        // A patch never removes a field, so a copied annotation is emptied.
        if pod.annotation(keys::REFUSED).unwrap_or_default() != refused {
            plan.set_annotation(keys::REFUSED, &*refused);
        }
        if !refused.is_empty() && plan.label(keys::MANAGED).is_none() {
            if pod.label(keys::MANAGED) != Some(MANAGED) {
                plan.set_label(keys::MANAGED, MANAGED);
            }
            *label_purpose = Some("lets the controller report the refusal");
        }
    }
}

/// Explains the label [`keys::MANAGED`] in the decision of the rule `termination.managed` if the rule did not write it. `purpose` is that
/// of the label, if it is planned.
pub(super) fn explain_label(rules: &mut [RuleOutcome], purpose: Option<&str>) {
    let Some(purpose) = purpose else { return };
    let is_other =
        |rule: &&mut RuleOutcome| rule.rule == RuleId::TerminationManaged && rule.outcome == Verdict::Skipped;
    for rule in rules.iter_mut().filter(is_other) {
        rule.message = format!("{}: the label {} {purpose}", rule.message, keys::MANAGED);
        rule.field.get_or_insert_with(|| label_pointer(keys::MANAGED));
    }
}
