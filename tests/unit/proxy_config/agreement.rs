//! Compares [`hold`] with the parser that Istio uses.

use serde_json::{Value, json};
use trainmesh_core::mutate::proxy_config::{Hold, hold};

use trainmesh_testing::oracle::Oracle;
use trainmesh_testing::properties::proxy_config::is_single_insertion;

const FIELD: &str = "holdApplicationUntilProxyStarts";
const FIELD_SNAKE: &str = "hold_application_until_proxy_starts";

type Verdict = Result<Value, String>;

/// Checks [`hold`] of every text against the oracle, and returns the number of texts that were merged.
pub(crate) fn check_all(oracle: &Oracle, texts: &[&str]) -> usize {
    let holds: Vec<Hold> = texts.iter().map(|text| hold(Some(text))).collect();
    let merged: Vec<&str> = holds.iter().zip(texts).map(|(hold, text)| result(hold, text)).collect();
    let before = oracle.read_all(texts, false);
    let after = oracle.read_all(&merged, false);
    let mut wrong = Vec::new();
    for (index, (hold, text)) in holds.iter().zip(texts).enumerate() {
        if let Err(reason) = compare(hold, text, &before[index], &after[index]) {
            let (before, after) = (&before[index], &after[index]);
            wrong.push(format!(
                "{reason}\n  text   {text:?}\n  hold   {hold:?}\n  before {before:?}\n  after  {after:?}"
            ));
        }
    }
    let shown = wrong.len().min(20);
    assert!(wrong.is_empty(), "{} of {} disagree:\n{}", wrong.len(), texts.len(), wrong[..shown].join("\n"));
    holds.iter().filter(|hold| matches!(hold, Hold::Missing { .. })).count()
}

/// Returns the text that the pod will carry.
fn result<'t>(hold: &'t Hold, text: &'t str) -> &'t str {
    if let Hold::Missing { merged } = hold { merged } else { text }
}

fn compare(parsed: &Hold, text: &str, before: &Verdict, after: &Verdict) -> Result<(), &'static str> {
    if matches!(parsed, Hold::Refused(_)) {
        return Ok(());
    }
    let Ok(before) = before else { return Err("accepted what Istio's parser rejects") };
    let mut values = [FIELD, FIELD_SNAKE].iter().filter_map(|name| before.get(name));
    match parsed {
        Hold::Missing { merged } => {
            if values.next().is_some() {
                return Err("the text already has the hold");
            }
            let mut expected = if before.is_null() { json!({}) } else { before.clone() };
            expected[FIELD] = Value::Bool(true);
            if after.as_ref() != Ok(&expected) {
                return Err("the merged text is not the original with the hold added");
            }
            if !is_single_insertion(text, merged) {
                return Err("the merge changed the user's text");
            }
            if hold(Some(merged)) != Hold::True {
                return Err("the merged text is not recognized as held");
            }
        }
        _ if values.clone().count() == 0 => return Err("the text has no hold"),
        _ if values.any(|value| *value != Value::Bool(*parsed == Hold::True)) => {
            return Err("Istio's parser reads another value of the hold");
        }
        _ => {}
    }
    Ok(())
}
