//! Part of FP028: node labels that the node selector and the required node affinity of a pod require, but that exclude each other.

use json_patch::jsonptr::PointerBuf;
use serde_json::{Map, Value};

use super::context::CheckContext;
use super::sink::FindingSink;
use crate::finding::Severity;

/// How to fix a label.
const FIX: &str = "select the same nodes in nodeSelector and affinity, or remove one of them";

/// Reports the first label of the node selector whose value the required node affinity excludes, if each of its terms excludes the
/// value of one: the scheduler requires the whole selector and one of the terms.
pub(super) fn check(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some(selector) = context.spec("nodeSelector").and_then(Value::as_object) else { return };
    let terms = context.spec("affinity").and_then(|affinity| {
        let required = affinity.get("nodeAffinity")?.get("requiredDuringSchedulingIgnoredDuringExecution")?;
        required.get("nodeSelectorTerms")?.as_array()
    });
    let Some((first, others)) = terms.and_then(|terms| terms.split_first()) else { return };
    let Some(label) = excluded_label(first, selector) else { return };
    if others.iter().all(|term| excluded_label(term, selector).is_some()) {
        let field = PointerBuf::from_tokens(["spec", "nodeSelector", label]).to_string();
        let message = format!("no node matches: nodeSelector and required node affinity disagree on {label}");
        findings.push_with_fix(Severity::Error, field, message, FIX);
    }
}

/// Returns the label of `selector` whose value an expression of `term` excludes.
fn excluded_label<'a>(term: &'a Value, selector: &Map<String, Value>) -> Option<&'a str> {
    let expressions = term.get("matchExpressions")?.as_array()?;
    expressions.iter().find_map(|expression| {
        let key = expression.get("key")?.as_str()?;
        let value = selector.get(key)?;
        let is_listed = || Some(expression.get("values")?.as_array()?.contains(value));
        let is_excluded = match expression.get("operator")?.as_str()? {
            "In" => !is_listed()?,
            "NotIn" => is_listed()?,
            "DoesNotExist" => true,
            _ => false,
        };
        is_excluded.then_some(key)
    })
}
