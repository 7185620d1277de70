//! The forms of a dump: objects one by one, and lists as kubectl writes them. Several threads read them.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_testing::cli::{Run, assert_exit, trainmesh};

use crate::diagnose::DUMP;

/// Number of copies of the dump: more than the threads read at once.
const COPIES: usize = 30;

/// Returns the pods of many namespaces, and another version of a pod whose image cannot be pulled in the first one: it runs.
fn objects() -> Vec<Value> {
    let documents = DUMP.split("\n---\n").map(|text| trainmesh_core::yaml::parse(text).unwrap());
    let pods: Vec<Value> = documents
        .flat_map(|document| match document["items"].as_array() {
            Some(items) => items.clone(),
            None => vec![document],
        })
        .collect();
    let copies = (0..COPIES).flat_map(|copy| {
        pods.iter().cloned().map(move |mut pod| {
            pod["metadata"]["namespace"] = format!("team-{copy}").into();
            pod
        })
    });
    let mut objects: Vec<Value> = copies.collect();
    let mut newer = objects[1].clone();
    newer["status"] = objects[0]["status"].clone();
    objects.push(newer);
    objects
}

fn one_by_one(objects: &[Value]) -> String {
    objects.iter().map(trainmesh_core::yaml::to_string).collect::<Vec<_>>().join("---\n")
}

/// Writes a list as `kubectl get -o yaml` does.
fn yaml_list(objects: &[Value]) -> String {
    let item = |object: &Value| {
        let text = trainmesh_core::yaml::to_string(object);
        let lines = text.lines().enumerate();
        lines.flat_map(|(line, text)| [if line == 0 { "- " } else { "  " }, text, "\n"]).collect::<String>()
    };
    let items: String = objects.iter().map(item).collect();
    format!("apiVersion: v1\nitems:\n{items}kind: List\nmetadata:\n  resourceVersion: \"\"\n")
}

fn json_list(objects: &[Value]) -> String {
    format!("{:#}", json!({"apiVersion": "v1", "items": objects, "kind": "List"}))
}

fn diagnose(dump: &str) -> Run {
    trainmesh(&["diagnose", "-o", "json", "-f", "-"], dump)
}

#[rstest]
#[case::yaml(yaml_list)]
#[case::json(json_list)]
fn a_list_has_the_result_of_its_objects(#[case] write: fn(&[Value]) -> String) {
    let objects = objects();
    let expected = diagnose(&one_by_one(&objects));
    assert_eq!(expected.code, Some(1), "{}", expected.stderr);
    assert!(expected.stderr.contains("1 object is in the input more than once"), "{}", expected.stderr);
    assert_eq!(expected.stdout.matches("\"id\"").count(), 2 * COPIES - 1, "the last version of a pod counts");
    let list = diagnose(&write(&objects));
    assert_eq!((list.code, list.stdout, list.stderr), (expected.code, expected.stdout, expected.stderr));
}

/// The line is that of the field, or of a JSON item.
#[rstest]
#[case::yaml(yaml_list, "  kind: Pod\n", "  kind: @\n")]
#[case::json(json_list, "\"kind\": \"Pod\"", "\"kind\": [}")]
fn an_invalid_item_is_named(#[case] write: fn(&[Value]) -> String, #[case] valid: &str, #[case] invalid: &str) {
    let text = write(&objects());
    let at = text.rfind(valid).unwrap();
    let dump = format!("{}{invalid}{}", &text[..at], &text[at + valid.len()..]);
    let line = 1 + text[..at].matches('\n').count();
    let run = diagnose(&dump);
    assert_exit(&run, 2, &["ImagePullFails"], &format!("error: stdin: document 1, line {line}: "));
}

/// The lost part may contain the node of the pods.
#[rstest]
#[case::yaml(yaml_list)]
#[case::json(json_list)]
fn a_truncated_list_proves_no_absence(#[case] write: fn(&[Value]) -> String) {
    let node = |name: &str| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}});
    let objects = [&objects()[..2], &[node("gpu-b"), node("gpu-c")]].concat();
    let dump = write(&objects);
    assert_exit(&diagnose(&dump), 1, &["ImagePullFails", "NodeNotReporting", "gpu-a, which does not exist"], "");
    let run = diagnose(&dump[..dump.rfind("gpu-c").unwrap()]);
    assert_exit(&run, 2, &["ImagePullFails"], "the list is incomplete: the file is truncated");
    assert!(!run.stdout.contains("NodeNotReporting"), "{run:#?}");
}
