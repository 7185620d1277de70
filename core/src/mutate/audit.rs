//! Audit annotations: one line of trace for each review in the apiserver's audit log, at no call of our own.

use std::collections::BTreeMap;

use super::{RuleOutcome, Snapshot};
use crate::keys;
use crate::pod::Pod;

/// The audit annotations of a review. The apiserver prefixes each key with the name of the webhook.
///
/// The apiserver takes a key once for each request and complains of another value. A pod that carries our mark is in its
/// second round, which therefore writes under a key of its own.
pub(super) fn annotations(
    pod: Pod<'_>,
    rules: &[RuleOutcome],
    snapshot: &Snapshot<'_>,
) -> BTreeMap<&'static str, String> {
    let decided: Vec<String> = rules
        .iter()
        .map(|rule| format!("{}={}:{}", rule.rule.name(), rule.outcome.name(), rule.reason.code()))
        .collect();
    let key = if pod.annotation(keys::APPLIED).is_some() { "rules-again" } else { "rules" };
    BTreeMap::from([
        ("mode", snapshot.mode.name().to_owned()),
        ("config", snapshot.config_hash.to_owned()),
        (key, decided.join(",")),
    ])
}
