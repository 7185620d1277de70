//! Marks that the webhook leaves in a pod: the rules that were applied, those that were refused, and the label by which
//! the controller finds the pod.
//!
//! Templates are copied from running pods, so marks that arrive in a new pod are overwritten, never read.

use super::rules::{label_pointer, managed::MANAGED};
use super::{Draft, Reason, RuleId, RuleOutcome, Verdict};
use crate::keys;
use crate::pod::Pod;
use crate::scope::Mode;

/// Maximum length of an annotation that is read, in bytes. The webhook writes each rule once.
const MAX_LENGTH: usize = 4 * 1024;

/// A refused rule, as the annotation [`keys::REFUSED`] records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Rule that was refused.
    pub rule: RuleId,
    /// Reason of the refusal.
    pub reason: Reason,
}

/// Returns the rules that the annotation [`keys::APPLIED`] of `pod` lists.
#[must_use]
pub fn applied_rules(pod: Pod<'_>) -> Vec<RuleId> {
    let text = pod.annotation(keys::APPLIED).filter(|text| text.len() <= MAX_LENGTH).unwrap_or_default();
    let is_entry_of = |entry: &str, rule: RuleId| {
        entry.strip_prefix(rule.name()).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    RuleId::ALL.into_iter().filter(|rule| text.split(',').any(|entry| is_entry_of(entry, *rule))).collect()
}

impl Refusal {
    /// Returns the refusals in the annotation of `pod`. Entries that the webhook cannot have written are left out: users
    /// can set the annotation, too.
    #[must_use]
    pub fn read(pod: Pod<'_>) -> Vec<Self> {
        let text = pod.annotation(keys::REFUSED).filter(|text| text.len() <= MAX_LENGTH).unwrap_or_default();
        let refusal_of = |rule: RuleId| {
            let code = text.split(',').find_map(|entry| entry.strip_prefix(rule.name())?.strip_prefix('='))?;
            let reason = Reason::ALL.iter().copied().find(|reason| reason.code() == code)?;
            Some(Self { rule, reason })
        };
        RuleId::ALL.into_iter().filter_map(refusal_of).collect()
    }
}

/// Adds the marks to the plan. `applied` are the entries for [`keys::APPLIED`].
pub(super) fn plan(pod: Pod<'_>, mode: Mode, applied: &[&str], draft: &mut Draft) {
    let Draft { rules, plan, .. } = draft;
    if rules.iter().any(|rule| rule.outcome == Verdict::Applied) {
        plan.set_annotation(keys::APPLIED, applied.join(","));
    }
    let has_fabric = rules.iter().any(|rule| rule.rule == RuleId::Fabric && rule.outcome == Verdict::Applied);
    let purpose = if has_fabric {
        "lets the controller watch the pod's fabric"
    } else {
        "lets the controller watch the pod's gang"
    };
    let mut label_purpose = plan.label(keys::MANAGED).map(|_| purpose);
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
            label_purpose = Some("lets the controller report the refusal");
        }
    }
    if let Some(purpose) = label_purpose {
        for rule in rules {
            explain_label(rule, purpose);
        }
    }
}

/// Explains the label [`keys::MANAGED`] in a decision of the rule `termination.managed` that did not write it.
fn explain_label(rule: &mut RuleOutcome, purpose: &str) {
    if rule.rule == RuleId::TerminationManaged && rule.outcome == Verdict::Skipped {
        rule.message = format!("{}: the label {} {purpose}", rule.message, keys::MANAGED);
        rule.field.get_or_insert_with(|| label_pointer(keys::MANAGED));
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    const FABRIC: (RuleId, Reason) = (RuleId::Fabric, Reason::FabricGuarded);

    #[rstest]
    #[case::none(None, &[])]
    #[case::empty(Some(""), &[])]
    #[case::one(Some("fabric=FabricGuarded"), &[FABRIC])]
    #[case::several(Some("mesh.hold=ProxyConfigRefused,fabric=FabricGuarded"), &[(RuleId::MeshHold, Reason::ProxyConfigRefused), FABRIC])]
    #[case::repeated(Some("fabric=FabricGuarded,fabric=FabricGuarded"), &[FABRIC])]
    #[case::unknown_rule(Some("rank=FabricGuarded"), &[])]
    #[case::unknown_reason(Some("fabric=\u{1b}[31m"), &[])]
    #[case::no_reason(Some("fabric"), &[])]
    fn only_valid_refusals_are_read(#[case] annotation: Option<&str>, #[case] expected: &[(RuleId, Reason)]) {
        let pod = json!({"metadata": {"annotations": {"trainmesh.dev/refused": annotation}}});
        let read = Refusal::read(Pod::new(&pod));
        assert_eq!(read.iter().map(|refusal| (refusal.rule, refusal.reason)).collect::<Vec<_>>(), expected);
    }

    #[rstest]
    #[case::none(None, &[])]
    #[case::one(Some("mesh.hold"), &[RuleId::MeshHold])]
    #[case::with_a_value(Some("mesh.hold,fabric=ib-shared"), &[RuleId::MeshHold, RuleId::Fabric])]
    #[case::unknown(Some("mesh.holder,x=fabric,fabric:ib"), &[])]
    fn applied_rules_are_read(#[case] annotation: Option<&str>, #[case] expected: &[RuleId]) {
        let pod = json!({"metadata": {"annotations": {"trainmesh.dev/applied": annotation}}});
        assert_eq!(applied_rules(Pod::new(&pod)), expected);
    }

    #[test]
    fn long_annotations_are_not_read() {
        let text = format!("fabric=FabricGuarded,{}", "x".repeat(MAX_LENGTH));
        let pod = json!({"metadata": {"annotations": {"trainmesh.dev/refused": text, "trainmesh.dev/applied": text}}});
        assert!(Refusal::read(Pod::new(&pod)).is_empty() && applied_rules(Pod::new(&pod)).is_empty());
    }
}
