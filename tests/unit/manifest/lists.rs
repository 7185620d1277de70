//! Lists that kubectl and the apiserver write, which a dump reads by item.

use std::convert::Infallible;
use std::path::PathBuf;

use rstest::rstest;
use trainmesh::manifest::Inputs;
use trainmesh_core::manifest::{Document, DocumentError, MAX_DOCUMENT};

use super::{JSON_POD, POD, summary};

const YAML: &str = "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  text: |\n    a\n\n    - b\n- apiVersion: v1\n  kind: Node\nkind: List\nmetadata:\n  resourceVersion: \"\"\n";
const JSON: &str = r#"{
    "apiVersion": "v1",
    "items": [
        {"apiVersion": "v1", "kind": "Pod", "text": "}]"},
        {
            "apiVersion": "v1",
            "kind": "Node"
        }
    ],
    "kind": "List", "metadata": {"resourceVersion": ""}
}
"#;
const API: &str = r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{}},{"metadata":{}}]}"#;

fn open(text: &[u8]) -> Inputs {
    Inputs::open(&[PathBuf::from("-")], false, text).unwrap()
}

/// Returns the objects of a dump.
fn dumped(inputs: &Inputs) -> Vec<Result<Document, DocumentError>> {
    let mut found = Vec::new();
    let consume = |result: Result<(Document, _), _>| {
        found.push(result.map(|(document, _)| document));
        Ok::<(), Infallible>(())
    };
    inputs.map_dumped_objects(|document| document, consume).unwrap();
    found
}

/// Checks the objects of a dump; each expected line is a prefix of the actual one.
fn check(text: &str, expected: &[&str]) {
    let found = summary(dumped(&open(text.as_bytes())).into_iter());
    let matches =
        found.len() == expected.len() && found.iter().zip(expected).all(|(line, start)| line.starts_with(start));
    assert!(matches, "found {found:#?}, expected {expected:#?}");
}

#[rstest]
#[case::yaml(YAML, &["0.0@3 Pod", "0.1@9 Node"])]
#[case::json(JSON, &["0.0@4 Pod", "0.1@5 Node"])]
#[case::response(API, &["0.0@1 Pod", "0.1@1 Pod"])]
#[case::empty_json(r#"{"apiVersion": "v1", "items": [], "kind": "List"}"#, &[])]
#[case::between_documents(&format!("{POD}---\n{YAML}---\n{POD}"), &["0@1 Pod", "1.0@7 Pod", "1.1@13 Node", "2@19 Pod"])]
#[case::after_each_other(&format!("{JSON}{JSON_POD}\n{JSON}"), &["0.0@4", "0.1@5", "1@12 Pod", "2.0@16", "2.1@17"])]
#[case::several_yaml(&format!("{YAML}---\n{YAML}"), &["0.0@3", "0.1@9", "1.0@17", "1.1@23"])]
#[case::kind_after_the_items_in_json(r#"{"apiVersion": "v1", "items": [{"metadata": {"name": "a"}}], "kind": "PodList"}"#, &["0.0@1 Pod"])]
#[case::kind_after_the_items_in_yaml("apiVersion: v1\nitems:\n- metadata: {name: a}\nkind: PodList\n", &["0.0@3 Pod"])]
#[case::appended_lists(&format!("{YAML}{YAML}{POD}"), &["0.0@3", "0.1@9", "1.0@16", "1.1@22", "2@27 Pod"])]
#[case::appended_objects(&format!("{POD}{POD}{YAML}{POD}{POD}---\n{POD}"), &["0@1 Pod", "1@4 Pod", "2.0@9", "2.1@15", "3@20 Pod", "4@23 Pod", "5@27 Pod"])]
#[case::error_between_lists(&format!("{YAML}error: no such type\n{YAML}"), &["0.0@3", "0.1@9", "stdin: document 1, line 14: unexpected text", "1.0@17", "1.1@23"])]
#[case::prompt_after_a_list(&format!("{YAML}$ exit\n"), &["0.0@3", "0.1@9", "stdin: document 1, line 14: unexpected text"])]
#[case::error_before_a_separator(&format!("{YAML}error: x\n---\n{POD}"), &["0.0@3", "0.1@9", "stdin: document 1, line 14: unexpected text", "1@16 Pod"])]
#[case::error_before_a_list(&format!("error: the server doesn't have a resource type \"a\"\n{YAML}"), &["stdin: document 1, line 1: the line is no part", "0.0@4", "0.1@10"])]
#[case::forbidden_before_a_list(&format!("Error from server (Forbidden): nodes is forbidden: User \"a\"\n{YAML}"), &["stdin: document 1, line 1: the line is no part", "0.0@4", "0.1@10"])]
#[case::log_before_a_list_in_json(&format!("E1128 23:50:01.1 1 memcache.go:287] x\nE1128 23:50:02.1 1 memcache.go:287] x\n\n{JSON}"), &["stdin: document 1, line 1: the line is no part", "0.0@7", "0.1@8"])]
#[case::prompt_before_an_object(&format!("$ kubectl get pod a -o yaml\n{POD}"), &["stdin: document 1, line 1: the line is no part", "0@2 Pod"])]
#[case::code_fence(&format!("```yaml\n{YAML}```\n"), &["stdin: document 1, line 1: the line is no part", "0.0@4", "0.1@10", "stdin: document 1, line 15: unexpected text"])]
#[case::warning_after_a_list_in_json(&format!("{JSON}Warning: x\n"), &["0.0@4", "0.1@5", "stdin: document 2, line 12: the line is no part"])]
#[case::error_instead_of_a_list(&format!("{POD}---\nerror: no such type\n---\n{POD}"), &["0@1 Pod", "stdin: document 2, line 5: the line is no part", "2@7 Pod"])]
#[case::fields_like_output("errors: []\nE1128: 1\napiVersion: v1\nkind: Pod\nerror: a\n", &["0@1 Pod"])]
#[case::tab(&YAML.replace("  text: |\n", "\ttext: |\n"), &["stdin: document 1, line 5: unexpected text", "0.0@9 Node"])]
#[case::merge_conflict(&YAML.replace("  kind: Pod\n", "<<<<<<< HEAD\n  kind: Pod\n=======\n  kind: Pods\n>>>>>>> b\n"), &["stdin: document 1, line 4: unexpected text", "0.0@13 Node"])]
#[case::comments(&YAML.replace("  kind: Pod\n", "# a\n  kind: Pod\n").replace("kind: List\n", "kind: List\n# b\n"), &["0.0@3 Pod", "0.1@10 Node"])]
#[case::truncated_before_another_list(&format!("apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n{YAML}"), &["stdin: document 1, line 5: the list is incomplete: the file is truncated", "1.0@7", "1.1@13"])]
#[case::indented_items("apiVersion: v1\nitems:\n  - {apiVersion: v1, kind: Pod}\nkind: List\n", &["0.0@3 Pod"])]
#[case::shared_anchors("apiVersion: v1\nkind: List\nitems:\n- &a {apiVersion: v1, kind: Pod}\n- *a\n", &["0.0@4", "0.1@5"])]
#[case::items_of_another_field(r#"{"apiVersion": "v1", "kind": "ConfigMap", "data": {"items": [1]}}"#, &["0@1 ConfigMap"])]
#[case::another_kind(r#"{"apiVersion": "v1", "kind": "ConfigMap", "items": [{}]}"#, &["0@1 ConfigMap"])]
#[case::invalid_item("apiVersion: v1\nitems:\n- 1\n- apiVersion: v1\n  kind: Pod\nkind: List\n", &["stdin: document 1, line 3: items[0]: expected", "0.1@4 Pod"])]
#[case::invalid_syntax("apiVersion: v1\nitems:\n- kind: [\n- apiVersion: v1\n  kind: Pod\nkind: List\n", &["stdin: document 1, line 3: ", "0.1@4 Pod"])]
#[case::not_an_object(&format!("{}\n", r#"{"apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "Pod"}, "a"]}"#), &["0.0@1 Pod", "stdin: document 1, line 1: an item of the list is not an object: the items after it are not read"])]
#[case::null(&format!("{}\n", r#"{"apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "Pod"}, null, {"apiVersion": "v1", "kind": "Pod"}]}"#), &["0.0@1 Pod", "stdin: document 1, line 1: items[1]: expected a Kubernetes object, found nothing", "0.2@1 Pod"])]
#[case::number(&format!("{}\n", r#"{"apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "Pod"}, -1]}"#), &["0.0@1 Pod", "stdin: document 1, line 1: items[1]: expected a Kubernetes object, found a number"])]
#[case::truncated(r#"{"apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "Pod"}, {"a": "#, &["0.0@1 Pod", "stdin: document 1, line 1: the list is incomplete: the file is truncated"])]
#[case::truncated_after_an_item(r#"{"apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "Pod"},"#, &["0.0@1 Pod", "stdin: document 1, line 1: the list is incomplete: the file is truncated"])]
fn lists_are_read_by_item(#[case] text: &str, #[case] expected: &[&str]) {
    check(text, expected);
}

#[rstest]
#[case::yaml(YAML)]
#[case::json(JSON)]
#[case::response(API)]
fn the_objects_are_those_of_the_document(#[case] text: &str) {
    let inputs = open(text.as_bytes());
    let values = |found: Result<Document, _>| found.map(|found| (found.item, found.value)).ok();
    let by_item: Vec<_> = dumped(&inputs).into_iter().map(values).collect();
    assert_eq!(by_item, inputs.documents().map(values).collect::<Vec<_>>());
}

/// `kubectl get` writes the kind of a list in YAML after the items, so that a list which ends before it is truncated.
#[rstest]
#[case::within_an_item("  kind: No", 9)]
#[case::after_the_dash(" apiVersion: v1\n  kind: Node", 9)]
#[case::after_an_item("kind: List", 9)]
#[case::within_the_next_field("nd: List", 9)]
fn a_yaml_list_without_a_kind_is_truncated(#[case] rest: &str, #[case] line: u64) {
    let at = YAML.find(rest).unwrap();
    let error = format!("stdin: document 1, line {line}: the list is incomplete: the file is truncated");
    let found = summary(dumped(&open(&YAML.as_bytes()[..at])).into_iter());
    assert_eq!(found.last(), Some(&error), "{found:#?}");
    let found = summary(dumped(&open(format!("{}\n---\n{POD}", &YAML[..at]).as_bytes())).into_iter());
    assert!(found.contains(&error), "{found:#?}");
    assert!(found.last().is_some_and(|last| last.contains(" Pod")), "{found:#?}");
}

/// Returns the text of a list that is larger than a document.
fn large(is_json: bool) -> String {
    let padding = "x".repeat(1 << 20);
    let count = 2 * MAX_DOCUMENT / padding.len();
    if is_json {
        let item = format!(r#"{{"apiVersion": "v1", "kind": "Pod", "padding": "{padding}"}}"#);
        format!(r#"{{"apiVersion": "v1", "items": [{}], "kind": "List"}}"#, vec![item; count].join(","))
    } else {
        let item = format!("- apiVersion: v1\n  kind: Pod\n  padding: {padding}\n");
        format!("apiVersion: v1\nitems:\n{}kind: List\n", item.repeat(count))
    }
}

#[rstest]
#[case::yaml(false)]
#[case::json(true)]
fn a_list_may_be_larger_than_a_document(#[case] is_json: bool) {
    let text = large(is_json);
    assert!(text.len() > MAX_DOCUMENT);
    let inputs = open(text.as_bytes());
    assert_eq!(dumped(&inputs).into_iter().flatten().count(), 32);
    assert!(inputs.documents().any(|found| found.is_err()));
}

#[rstest]
#[case::yaml("apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  padding: ", "\nkind: List\n---\n")]
#[case::json(r#"{"apiVersion": "v1", "items": [{"a": ""#, "\n---\n")]
fn an_item_is_limited(#[case] start: &str, #[case] end: &str) {
    let text = format!("{start}{}{end}{POD}", "x".repeat(MAX_DOCUMENT + 1));
    check(&text, &["stdin: document 1, line ", "1@"]);
}
