//! Variables that a container sets more than once, with different values: the last one takes effect. The apiserver warns about it, and
//! `kubectl apply` may drop one of them.

use serde_json::{Map, Value};

use super::misplaced::object_name;
use super::walk::{Next, joined, visit_objects};
use super::{MAX_WARNINGS, name_of};
use crate::manifest::{Document, DocumentWarning};
use crate::own_keys::excerpt;
use crate::step::Step;

/// Lists of containers.
const LISTS: [&str; 2] = ["containers", "initContainers"];
/// Maximum number of variables of a container that are compared.
const MAX_VARIABLES: usize = 1_000;

/// A variable that replaces another one.
#[derive(Debug, PartialEq, Eq)]
struct Duplicate<'a> {
    name: &'a str,
    replaced: String,
    path: String,
}

/// Returns a warning for each such variable in `document`, an object in `namespace`.
pub(super) fn warnings(document: &Document, namespace: &str) -> Vec<DocumentWarning> {
    let kind = document.value.get("kind").and_then(Value::as_str).unwrap_or_default();
    let object = object_name(kind, Some(namespace), name_of(document));
    let warning = |Duplicate { name, replaced, path }: Duplicate<'_>| {
        let (source, line) = document.path_position(&replaced);
        let position = document.path_position(&path);
        let file = if source == position.0 { String::new() } else { format!(" of {source}") };
        let message = format!(
            "{object}: variable {} is already set on line {line}{file}: only the last value takes effect; remove the others",
            excerpt(name)
        );
        DocumentWarning::at(document, position, None, message)
    };
    find(&document.value).into_iter().map(warning).collect()
}

fn find(object: &Value) -> Vec<Duplicate<'_>> {
    let mut found = Vec::new();
    visit_objects(object, &mut Vec::new(), &mut |path, fields| {
        if let [.., Step::Key(list), Step::Index(_)] = path
            && LISTS.contains(list)
        {
            find_in_container(path, fields, &mut found);
        }
        if found.len() < MAX_WARNINGS { Next::Inside } else { Next::Stop }
    });
    found.truncate(MAX_WARNINGS);
    found
}

fn find_in_container<'a>(path: &[Step<'_>], fields: &'a Map<String, Value>, found: &mut Vec<Duplicate<'a>>) {
    let variables = fields.get("env").and_then(Value::as_array).into_iter().flatten();
    let variables: Vec<(&str, &Value)> = variables
        .take(MAX_VARIABLES)
        .map(|variable| (variable.get("name").and_then(Value::as_str).unwrap_or_default(), variable))
        .collect();
    for (index, (name, variable)) in variables.iter().enumerate().filter(|(_, (name, _))| !name.is_empty()) {
        let Some(before) = variables[..index].iter().rposition(|(other, _)| other == name) else { continue };
        // A variable may extend the one before, and others may contain its first value.
        let reference = format!("$({name})");
        let refers = |(_, other): &(&str, &Value)| {
            other.get("value").and_then(Value::as_str).is_some_and(|value| value.contains(&reference))
        };
        if variables[before].1 == *variable || variables[before + 1..=index].iter().any(refers) {
            continue;
        }
        let of = |index| joined(&[path, &[Step::Key("env"), Step::Index(index)]].concat());
        found.push(Duplicate { name, replaced: of(before), path: of(index) });
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn check(env: &Value, expected: &[(&str, &str, &str)]) {
        for list in LISTS {
            let job = json!({"spec": {"template": {"spec": {list: [{"name": "a"}, {"name": "b", "env": env}]}}}});
            let start = format!(".spec.template.spec.{list}[1].env");
            let found = find(&job);
            let found: Vec<_> = found
                .iter()
                .map(|found| (found.name, &found.replaced[start.len()..], &found.path[start.len()..]))
                .collect();
            assert_eq!(found, expected);
        }
    }

    #[rstest]
    #[case::twice(json!([{"name": "A", "value": "1"}, {"name": "B", "value": "1"}, {"name": "A", "value": "2"}]), &[("A", "[0]", "[2]")])]
    #[case::three_times(
        json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}, {"name": "A", "value": "3"}]),
        &[("A", "[0]", "[1]"), ("A", "[1]", "[2]")]
    )]
    #[case::of_another_kind(
        json!([{"name": "A", "value": "1"}, {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]),
        &[("A", "[0]", "[1]")]
    )]
    #[case::the_same_value(json!([{"name": "A", "value": "1"}, {"name": "A", "value": "1"}]), &[])]
    #[case::extended(json!([{"name": "PATH", "value": "/a"}, {"name": "PATH", "value": "$(PATH):/b"}]), &[])]
    #[case::first_value_in_another_one(
        json!([{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}, {"name": "A", "value": "2"}]), &[]
    )]
    #[case::case_of_letters(json!([{"name": "A", "value": "1"}, {"name": "a", "value": "2"}]), &[])]
    #[case::no_names(json!([{"value": "1"}, {"value": "2"}, 5, null]), &[])]
    #[case::no_list(json!({"name": "A"}), &[])]
    fn variables_that_replace_others_are_found(#[case] env: Value, #[case] expected: &[(&str, &str, &str)]) {
        check(&env, expected);
    }

    #[test]
    fn other_lists_and_status_are_not_searched() {
        let env = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]);
        let pod = json!({"spec": {"containers": [{"env": env}]}});
        let object = json!({"status": pod, "spec": {"env": env, "steps": [{"env": env}]}});
        assert_eq!(find(&object), []);
    }

    #[test]
    fn their_number_is_limited() {
        let env: Vec<Value> = (0..1_000).map(|value| json!({"name": "A", "value": value.to_string()})).collect();
        assert_eq!(find(&json!({"containers": [{"env": env}]})).len(), MAX_WARNINGS);
    }
}
