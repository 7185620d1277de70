//! The annotations of a pod that record the decisions of the webhook.

use super::{Reason, RuleId};
use crate::keys;
use crate::pod::Pod;

/// Maximum length of an annotation that is read, in bytes. The webhook writes each rule once.
pub const MAX_APPLIED: usize = 4 * 1024;

/// A refused rule, as the annotation [`keys::REFUSED`] records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Rule that was refused.
    pub rule: RuleId,
    /// Reason of the refusal.
    pub reason: Reason,
}

/// Returns the annotation [`keys::APPLIED`] of `pod`; `None` if it is too long to be of the webhook.
pub(crate) fn applied_text(pod: Pod<'_>) -> Option<&str> {
    bounded(pod, keys::APPLIED)
}

fn bounded<'a>(pod: Pod<'a>, key: &str) -> Option<&'a str> {
    pod.annotation(key).filter(|text| text.len() <= MAX_APPLIED)
}

/// Returns the rules that the annotation [`keys::APPLIED`] of `pod` lists.
#[must_use]
pub fn applied_rules(pod: Pod<'_>) -> Vec<RuleId> {
    let text = applied_text(pod).unwrap_or_default();
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
        let text = bounded(pod, keys::REFUSED).unwrap_or_default();
        let refusal_of = |rule: RuleId| {
            let code = text.split(',').find_map(|entry| entry.strip_prefix(rule.name())?.strip_prefix('='))?;
            let reason = Reason::ALL.iter().copied().find(|reason| reason.code() == code)?;
            Some(Self { rule, reason })
        };
        RuleId::ALL.into_iter().filter_map(refusal_of).collect()
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
        let text = format!("fabric=FabricGuarded,{}", "x".repeat(MAX_APPLIED));
        let pod = json!({"metadata": {"annotations": {"trainmesh.dev/refused": text, "trainmesh.dev/applied": text}}});
        assert!(Refusal::read(Pod::new(&pod)).is_empty() && applied_rules(Pod::new(&pod)).is_empty());
    }
}
