//! SARIF 2.1.0 output: the fields that its JSON schema requires, and those that code review tools need to place a
//! finding.

use serde_json::{Value, json};

use trainmesh_core::lint::checks;
use trainmesh_testing::cli::trainmesh;

const POD: &str = "# a comment\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: train\n    \
                   image: i\n    env: [{name: NCCL_IB_RETRY_CNT, value: \"100\"}, {name: NCCL_IB_GID_INDEX, value: \"3\"}]\n";

fn run(path: &str) -> Value {
    let run = trainmesh(&["lint", "-f", path, "-o", "sarif"], POD);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:#?}"))
}

/// Checks that the objects of the log have the fields required by the schema, and values from its enums.
fn check(value: &Value) {
    require(value, &["version", "runs"]);
    assert_eq!(value["version"], "2.1.0");
    for run in value["runs"].as_array().unwrap() {
        require(run, &["tool"]);
        let driver = &run["tool"]["driver"];
        require(driver, &["name"]);
        let rules = driver["rules"].as_array().unwrap();
        for rule in rules {
            require(rule, &["id"]);
            for text in ["shortDescription", "fullDescription", "help"] {
                require(&rule[text], &["text"]);
            }
            level(&rule["defaultConfiguration"]);
        }
        for invocation in run["invocations"].as_array().unwrap() {
            require(invocation, &["executionSuccessful"]);
            for notification in invocation["toolExecutionNotifications"].as_array().unwrap() {
                require(notification, &["message"]);
                level(notification);
                notification["locations"].as_array().unwrap().iter().for_each(check_location);
            }
        }
        for result in run["results"].as_array().unwrap() {
            require(result, &["message"]);
            require(&result["message"], &["text"]);
            level(result);
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[index]["id"], result["ruleId"]);
            result["locations"].as_array().unwrap().iter().for_each(check_location);
        }
    }
}

fn require(value: &Value, fields: &[&str]) {
    for field in fields {
        assert!(value.get(field).is_some_and(|value| !value.is_null()), "{field} is missing in {value}");
    }
}

fn level(value: &Value) {
    assert!([json!("none"), json!("note"), json!("warning"), json!("error")].contains(&value["level"]), "{value}");
}

fn check_location(location: &Value) {
    let physical = &location["physicalLocation"];
    let uri = physical["artifactLocation"]["uri"].as_str().unwrap();
    assert!(!uri.is_empty() && !uri.contains([' ', '#', '?', '\\']), "{uri}");
    assert!(physical["region"]["startLine"].as_u64().is_none_or(|line| line >= 1), "{physical}");
}

#[test]
fn findings_have_rule_level_and_location() {
    let log = run("-");
    check(&log);
    let results = log["runs"][0]["results"].as_array().unwrap();
    let found: Vec<_> = results.iter().map(|result| (result["ruleId"].as_str(), result["level"].as_str())).collect();
    assert_eq!(found, [(Some("FP005"), Some("error")), (Some("FP010"), Some("note"))]);
    // The last rule is that of warnings about the text of a manifest.
    assert_eq!(log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap().len(), checks().len() + 1);
    assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], true);
}

#[test]
fn locations_have_the_file_uri_and_the_line_of_the_field() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my job #1.yaml");
    std::fs::write(&path, format!("---\nkind: [\n---\n{POD}")).unwrap();
    let log = run(path.to_str().unwrap());
    check(&log);
    let run = &log["runs"][0];
    let invalid = run["results"].as_array().unwrap().last().unwrap();
    assert_eq!((&invalid["ruleId"], &invalid["level"]), (&json!("manifest"), &json!("error")), "{invalid}");
    assert!(invalid["message"]["text"].as_str().is_some_and(|text| !text.is_empty()), "{invalid}");
    let physical = &run["results"][0]["locations"][0]["physicalLocation"];
    assert!(physical["artifactLocation"]["uri"].as_str().unwrap().ends_with("/my%20job%20%231.yaml"), "{physical}");
    assert_eq!(physical["region"]["startLine"], 12, "{physical}");
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    assert_eq!(invocation["toolExecutionNotifications"].as_array().unwrap().len(), 1);
}

/// The pods of an object that is not supported are not checked: the machine-readable formats name it.
#[test]
fn unsupported_objects_are_notes() {
    let workflow = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: a}\nspec: {templates: [{name: a, container: \
                    {image: i, resources: {limits: {nvidia.com/gpu: 8}}}}]}\n";
    for (format, pointer) in
        [("sarif", "/runs/0/invocations/0/toolExecutionNotifications/0/message/text"), ("json", "/notes/0/message")]
    {
        let run = trainmesh(&["lint", "-f", "-", "-o", format], workflow);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        let text = report.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        assert!(text.starts_with("argoproj.io/v1alpha1 Workflow is not supported: "), "{run:#?}");
        if format == "sarif" {
            check(&report);
        }
    }
}

#[test]
fn locations_outside_the_working_directory_are_absolute() {
    let artifact =
        |path: &str| run(path)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"].clone();
    let parent = std::env::current_dir().unwrap().parent().unwrap().to_owned();
    let folder = tempfile::tempdir_in(&parent).unwrap();
    let path = folder.path().join("a.yaml");
    std::fs::write(&path, POD).unwrap();
    let relative = path.strip_prefix(&parent).unwrap().display();
    let found = artifact(&format!("../{relative}"));
    assert_eq!(found, json!({"uri": format!("file://{}", path.display())}));
    assert_eq!(artifact("-"), json!({"uri": "stdin", "description": {"text": "standard input"}}));
}

/// A file that cannot be read is a result, as an invalid document is.
#[test]
fn missing_files_are_results_beside_the_others() {
    let run = trainmesh(&["lint", "-f", "nope.yaml", "-f", "-", "-o", "sarif"], POD);
    let log: Value = serde_json::from_str(&run.stdout).unwrap();
    check(&log);
    let results = log["runs"][0]["results"].as_array().unwrap();
    let rules: Vec<&str> = results.iter().map(|result| result["ruleId"].as_str().unwrap()).collect();
    assert_eq!((run.code, rules), (Some(2), vec!["FP005", "FP010", "manifest"]));
    let location = &results[2]["locations"][0]["physicalLocation"];
    assert_eq!(
        (&location["artifactLocation"]["uri"], &location["region"]["startLine"]),
        (&json!("nope.yaml"), &json!(1))
    );
    assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], false);
}
