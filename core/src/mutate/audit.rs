//! Audit annotations, which record the decisions for each review in the apiserver's audit log.

use std::collections::BTreeMap;

use super::{RuleOutcome, Snapshot};
use crate::keys;
use crate::pod::Pod;

/// Returns the audit annotations of a review. The apiserver prefixes each key with the name of the webhook.
///
/// The apiserver accepts each key once per request and logs a warning about a different value. The decisions therefore
/// use a separate key if the pod already has an annotation of this webhook, because the webhook is reinvoked
/// or the pod template was copied.
pub(super) fn annotations(
    pod: Pod<'_>,
    rules: &[RuleOutcome],
    snapshot: &Snapshot<'_>,
) -> BTreeMap<&'static str, String> {
    let decisions: Vec<String> = rules
        .iter()
        .map(|rule| format!("{}={}:{}", rule.rule.name(), rule.outcome.name(), rule.reason.code()))
        .collect();
    let is_marked = [keys::APPLIED, keys::REFUSED].iter().any(|key| pod.annotation(key).is_some());
    let key = if is_marked { "rules-again" } else { "rules" };
    BTreeMap::from([
        ("mode", snapshot.mode.name().to_owned()),
        ("config", snapshot.config_hash.to_owned()),
        (key, decisions.join(",")),
    ])
}
