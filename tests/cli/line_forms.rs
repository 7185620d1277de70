//! The line of a finding is that of the same field in every form of the input: documents, items of a list, and JSON.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use trainmesh_core::lint::checks;
use trainmesh_core::yaml;
use trainmesh_testing::cli::trainmesh;

/// Namespace, code and text of the line of a finding.
type Located = (String, String, String);

/// Minimum number of checks with a finding. The other examples need facts about the cluster, or a role that only rules know.
const MIN_CHECKS: usize = 55;

/// Returns the objects of the examples of all checks, those of each check in a namespace of its own.
fn objects() -> Vec<Value> {
    let mut objects = Vec::new();
    for check in checks() {
        let id = check.id.code();
        let namespace = id.to_lowercase();
        let mut labels = json!({"trainmesh.dev/inject": "enabled", "istio-injection": "enabled"});
        if id == "TR012" || ["FP017", "FP033"].contains(&id) {
            labels["trainmesh.dev/fabric"] = json!("ib-shared");
        }
        if id == "TR015" {
            labels["trainmesh.dev/gang"] = json!("native");
        }
        objects
            .push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}}));
        for part in check.example.wrong.split("---\n") {
            let mut object: Value = yaml::parse(part).unwrap();
            if object.get("kind").is_none() {
                object["apiVersion"] = json!("v1");
                object["kind"] = json!("Pod");
                object["metadata"]["name"] = json!("a");
            }
            object["metadata"]["namespace"] = json!(namespace);
            objects.push(object);
        }
    }
    objects
}

/// Returns the text of a line without the syntax of its form: `- name: a` and `"name": "a",` are the same.
fn content(lines: &[&str], line: u64) -> String {
    let mut lines = lines[usize::try_from(line).unwrap() - 1..].iter().map(|line| line.trim());
    // In JSON, the first field of an item is on the next line.
    let text = lines.find(|line| *line != "{").unwrap();
    text.trim_start_matches("- ").replace('"', "").trim_end_matches([',', '{', '[', ' ']).replace('\'', "")
}

/// Returns the findings and warnings of lint, each with its line. JSON and SARIF contain the same lines.
fn lint(input: &str) -> BTreeSet<Located> {
    let run = trainmesh(&["lint", "-f", "-", "-o", "json"], input);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let lines: Vec<&str> = input.lines().collect();
    let mut found = BTreeSet::new();
    let mut positions = Vec::new();
    for result in report["results"].as_array().unwrap() {
        for finding in result["lint"].as_array().unwrap() {
            let (id, line) = (finding["id"].as_str().unwrap().to_owned(), finding["line"].as_u64().unwrap());
            positions.push((id.clone(), line));
            found.insert((result["namespace"].as_str().unwrap().to_owned(), id, content(&lines, line)));
        }
    }
    for warning in report["warnings"].as_array().unwrap() {
        let id = warning["id"].as_str().unwrap_or("manifest").to_owned();
        let line = warning["line"].as_u64().unwrap();
        positions.push((id.clone(), line));
        found.insert((String::new(), id, content(&lines, line)));
    }
    positions.sort();
    let run = trainmesh(&["lint", "-f", "-", "-o", "sarif"], input);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let results = report["runs"][0]["results"].as_array().unwrap().iter();
    let region = |result: &Value| result["locations"][0]["physicalLocation"]["region"]["startLine"].as_u64().unwrap();
    let mut in_sarif: Vec<(String, u64)> =
        results.map(|result| (result["ruleId"].as_str().unwrap().to_owned(), region(result))).collect();
    in_sarif.sort();
    assert_eq!(in_sarif, positions);
    found
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("  {line}\n")).collect();
    lines.concat().replacen("  ", "- ", 1)
}

#[test]
fn findings_have_the_line_of_their_field_in_every_form() {
    let objects = objects();
    let texts: Vec<String> = objects.iter().map(yaml::to_string).collect();
    let expected = lint(&texts.join("---\n"));
    let ids: BTreeSet<&str> = expected.iter().map(|(_, id, _)| id.as_str()).collect();
    assert!(ids.len() >= MIN_CHECKS, "{} checks: {ids:?}", ids.len());
    let items: Vec<String> = texts.iter().map(|text| indented(text)).collect();
    let forms = [
        format!("# A list.\napiVersion: v1\nkind: List\nitems:\n{}", items.concat()),
        format!("apiVersion: v1\nitems:\n{}kind: List\n", items.concat()),
        format!("{:#}", json!({"apiVersion": "v1", "kind": "List", "items": objects})),
    ];
    for form in forms {
        let found = lint(&form);
        let differences: Vec<&Located> = found.symmetric_difference(&expected).collect();
        assert!(differences.is_empty(), "{differences:#?}\n{}", form.lines().next().unwrap());
    }
}
