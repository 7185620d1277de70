//! Amounts of storage in `PersistentVolumeClaims` and the claim templates of `StatefulSets` that the apiserver rejects: the types of
//! the API contain them as text.

use serde_json::Value;

use super::invalid_quantity::expected_quantity;
use super::{InvalidField, placeholders};
use crate::hint::nearest;
use crate::json;
use crate::step::Step;

/// Name of the amount that a claim requires.
const STORAGE: &str = "storage";
/// Maximum number of messages. More only repeat the same mistake.
const MAX_MESSAGES: usize = 10;

/// Returns the path of each such amount in `object`, a manifest of a kind of Kubernetes, and a message that starts with it.
pub(super) fn messages(kind: &str, object: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let Some(spec) = object.get("spec") else { return found };
    match kind {
        "PersistentVolumeClaim" => check(spec, &[Step::Key("spec")], &mut found),
        "StatefulSet" => {
            for (index, claim) in json::items(spec, "volumeClaimTemplates").enumerate() {
                let list = [Step::Key("spec"), Step::Key("volumeClaimTemplates")];
                if let Some(claim) = claim.get("spec") {
                    check(claim, &[&list[..], &[Step::Index(index), Step::Key("spec")]].concat(), &mut found);
                }
            }
        }
        _ => {}
    }
    found.truncate(MAX_MESSAGES);
    found
}

/// Checks the amounts of a claim with this `spec`, which is at `path`.
fn check<'a>(spec: &'a Value, path: &[Step<'a>], found: &mut Vec<(String, String)>) {
    for list in ["limits", "requests"] {
        let amounts = spec.get("resources").and_then(|resources| resources.get(list)?.as_object());
        let has_storage = amounts.is_some_and(|amounts| amounts.contains_key(STORAGE));
        for (name, amount) in amounts.into_iter().flatten() {
            let path = [path, &[Step::Key("resources"), Step::Key(list), Step::Key(name)]].concat();
            // The preview of the manifest reports a placeholder, with its fix.
            let is_rendered = || placeholders::reject([(String::new(), amount)]).is_ok();
            if let Some(expected) = expected_quantity(amount).filter(|_| is_rendered()) {
                let InvalidField { path, found: value, .. } = InvalidField::new(&path, amount, expected);
                let field = path.trim_start_matches('.');
                let message = format!("{field}: the apiserver rejects {value}: expected {expected}");
                found.push((path, message));
            } else if !has_storage && nearest(name, &[STORAGE]).is_some() {
                let path: String = path.iter().map(Step::to_string).collect();
                let field = path.trim_start_matches('.');
                found.push((path.clone(), format!("{field}: a claim has no {name}: did you mean {STORAGE}?")));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::valid("1Ti", &[])]
    #[case::bytes("1TB", &["spec.resources.requests.storage: the apiserver rejects \"1TB\": expected a quantity such as 8 or 4Gi"])]
    #[case::placeholder("${SIZE}", &[])]
    #[case::expression_of_helm("{{ .Values.size }}", &[])]
    #[case::negative("-1Gi", &["spec.resources.requests.storage: the apiserver rejects \"-1Gi\": expected a quantity of 0 or more"])]
    fn amounts_that_the_apiserver_rejects_are_named(#[case] storage: &str, #[case] expected: &[&str]) {
        let claim = json!({"resources": {"requests": {"storage": storage}}});
        let found = |kind: &str, spec: &Value| {
            messages(kind, &json!({"spec": spec})).into_iter().map(|(_, message)| message).collect::<Vec<String>>()
        };
        assert_eq!(found("PersistentVolumeClaim", &claim), expected);
        let set = json!({"volumeClaimTemplates": [{"spec": {}}, {"spec": claim}]});
        let in_set: Vec<String> = expected.iter().map(|text| format!("spec.volumeClaimTemplates[1].{text}")).collect();
        assert_eq!(found("StatefulSet", &set), in_set);
    }

    #[rstest]
    #[case::misspelled(json!({"stoage": "100Gi"}), &["spec.resources.requests.stoage: a claim has no stoage: did you mean storage?"])]
    #[case::another_name(json!({"storage": "1Gi", "example.com/iops": 100}), &[])]
    #[case::beside_the_required_one(json!({"storage": "1Gi", "storages": 1}), &[])]
    #[case::other_types(json!({"storage": null, "a": []}), &[])]
    fn names_that_resemble_the_required_one_are_reported(#[case] requests: Value, #[case] expected: &[&str]) {
        let claim = json!({"spec": {"resources": {"requests": requests}}});
        let found: Vec<String> =
            messages("PersistentVolumeClaim", &claim).into_iter().map(|(_, message)| message).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn their_number_is_limited() {
        let claim = json!({"spec": {"resources": {"requests": {"storage": "x"}}}});
        let claims = vec![claim; 100];
        assert_eq!(messages("StatefulSet", &json!({"spec": {"volumeClaimTemplates": claims}})).len(), MAX_MESSAGES);
    }
}
