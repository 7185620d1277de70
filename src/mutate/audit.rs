//! Audit annotations: one line of trace for each review in the apiserver's audit log, at no call of our own.

use std::collections::BTreeMap;

use super::{RuleOutcome, Snapshot, Verdict};

/// The audit annotations of a review. The apiserver prefixes each key with the name of the webhook.
pub(super) fn annotations(rules: &[RuleOutcome], snapshot: &Snapshot<'_>) -> BTreeMap<&'static str, String> {
    let decided: Vec<String> = rules
        .iter()
        .map(|rule| format!("{}={}:{}", rule.rule.name(), rule.outcome.name(), rule.reason.code()))
        .collect();
    let changes = rules.iter().any(|rule| rule.outcome == Verdict::Applied);
    BTreeMap::from([
        ("mode", snapshot.mode.name().to_owned()),
        ("config", snapshot.config_hash.to_owned()),
        ("rules", decided.join(",")),
        ("changes", changes.to_string()),
    ])
}
