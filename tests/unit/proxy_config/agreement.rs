//! Whether what we say of a text is what Istio's parser makes of it.

use serde_json::{Value, json};
use trainmesh_core::mutate::proxy_config::{Hold, hold};

use trainmesh_testing::judge::Judge;
use trainmesh_testing::properties::proxy_config::is_kept;

const FIELD: &str = "holdApplicationUntilProxyStarts";
const FIELD_SNAKE: &str = "hold_application_until_proxy_starts";

type Verdict = Result<Value, String>;

/// Holds `hold` against the judge; the number of texts that were merged.
pub(crate) fn check_all(judge: &Judge, texts: &[&str]) -> usize {
    let holds: Vec<Hold> = texts.iter().map(|text| hold(Some(text))).collect();
    let merged: Vec<&str> = holds.iter().zip(texts).map(|(hold, text)| result(hold, text)).collect();
    let before = judge.read_all(texts, false);
    let after = judge.read_all(&merged, false);
    let mut wrong = Vec::new();
    for (index, (hold, text)) in holds.iter().zip(texts).enumerate() {
        if let Err(why) = agrees(hold, text, &before[index], &after[index]) {
            let (before, after) = (&before[index], &after[index]);
            wrong.push(format!("{why}\n  text   {text:?}\n  hold   {hold:?}\n  before {before:?}\n  after  {after:?}"));
        }
    }
    let shown = wrong.len().min(20);
    assert!(wrong.is_empty(), "{} of {} disagree:\n{}", wrong.len(), texts.len(), wrong[..shown].join("\n"));
    holds.iter().filter(|hold| matches!(hold, Hold::Missing { .. })).count()
}

/// The text as the pod will carry it.
fn result<'t>(hold: &'t Hold, text: &'t str) -> &'t str {
    if let Hold::Missing { merged } = hold { merged } else { text }
}

fn agrees(ours: &Hold, text: &str, before: &Verdict, after: &Verdict) -> Result<(), &'static str> {
    if matches!(ours, Hold::Refused(_)) {
        return Ok(());
    }
    let Ok(before) = before else { return Err("accepted what Istio's parser rejects") };
    let mut values = [FIELD, FIELD_SNAKE].iter().filter_map(|name| before.get(name));
    match ours {
        Hold::Missing { merged } => {
            if values.next().is_some() {
                return Err("the hold is there");
            }
            let mut expected = if before.is_null() { json!({}) } else { before.clone() };
            expected[FIELD] = Value::Bool(true);
            if after.as_ref() != Ok(&expected) {
                return Err("the merged text is not the old one with the hold");
            }
            if !is_kept(text, merged) {
                return Err("the user's text was changed");
            }
            if hold(Some(merged)) != Hold::True {
                return Err("the merged text is not seen as done");
            }
        }
        _ if values.clone().count() == 0 => return Err("the hold is not there"),
        _ if values.any(|value| *value != Value::Bool(*ours == Hold::True)) => {
            return Err("the hold is read otherwise");
        }
        _ => {}
    }
    Ok(())
}
