//! Previews of every example. `make golden` updates the files in `tests/cli/golden`.

mod fabric;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;
use trainmesh_core::yaml;
use trainmesh_testing::cli::trainmesh;
use trainmesh_testing::oracle::Oracle;

/// Renders the preview of one example: the diff of each role, the notes, and each pod as its operator would create it.
fn render(path: &str) -> String {
    let diff = trainmesh(&["preview", "-f", path], "");
    assert_eq!(diff.code, Some(0), "{diff:#?}");
    let mut text = format!("{}\n{}", diff.stdout, diff.stderr);
    for result in results(&["-f", path]) {
        write!(text, "\n# {} as created\n{}", result["role"], yaml::to_string(&result["original"])).unwrap();
    }
    text
}

fn results(arguments: &[&str]) -> Vec<Value> {
    let run = trainmesh(&[&["preview", "-o", "json"], arguments].concat(), "");
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    value["results"].as_array().unwrap().clone()
}

#[test]
fn examples() {
    settings().bind(|| {
        insta::glob!("../../examples", "*.yaml", |path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            insta::assert_snapshot!("preview", render(&format!("examples/{name}")));
        });
    });
}

fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/golden"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings
}

#[test]
fn every_kind_has_an_example() {
    let shown: BTreeSet<(String, String)> = results(&["-R", "-f", "examples"])
        .iter()
        .map(|result| (result["apiVersion"].as_str().unwrap().to_owned(), result["kind"].as_str().unwrap().to_owned()))
        .collect();
    for kind in trainmesh_core::workload::KINDS {
        let matches_kind = |(api_version, name): &(String, String)| {
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            name == kind.kind && group == kind.group && kind.versions.contains(&version)
        };
        assert!(shown.iter().any(matches_kind), "no example of {}/{} {}", kind.group, kind.versions[0], kind.kind);
    }
}

#[test]
fn the_apiservers_library_applies_each_patch_to_the_same_pod() {
    let results = results(&["-R", "-f", "examples"]);
    let patches: Vec<_> = results.iter().map(|result| (&result["original"], &result["patch"])).collect();
    let applied = Oracle::build().apply_all(&patches);
    for (result, pod) in results.iter().zip(applied) {
        assert_eq!(pod.as_ref(), Ok(&result["pod"]), "{}", result["source"]);
    }
}

#[test]
fn patched_examples_are_not_patched_again() {
    let patched = trainmesh(&["preview", "-R", "-f", "examples", "-o", "yaml"], "");
    let again = trainmesh(&["preview", "-f", "-", "--exit-code", "-o", "json"], &patched.stdout);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
}

#[test]
fn variables_set_by_an_operator_are_never_changed() {
    const OPERATORS: [&str; 8] = [
        "RANK",
        "WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
        "TF_CONFIG",
        "PET_NNODES",
        "PET_NODE_RANK",
        "PET_RDZV_ENDPOINT",
    ];
    let mut seen = BTreeSet::new();
    for result in results(&["-R", "-f", "examples"]) {
        for (container, patched) in containers(&result["original"]).iter().zip(containers(&result["pod"])) {
            for name in OPERATORS {
                assert_eq!(values(container, name), values(&patched, name), "{name} in {}", result["source"]);
                seen.extend(values(container, name).first().map(|_| name));
            }
        }
    }
    assert_eq!(seen, BTreeSet::from(OPERATORS), "every variable must occur in an example");
}

fn containers(pod: &Value) -> Vec<Value> {
    pod["spec"]["containers"].as_array().unwrap().clone()
}

fn values(container: &Value, name: &str) -> Vec<Value> {
    let entries = container["env"].as_array().into_iter().flatten();
    entries.filter(|entry| entry["name"] == name).cloned().collect()
}
