//! The effect of each built-in profile on the pods of `workloads.yaml`: one readable file for each profile.
//!
//! A line is an operation of the patch; empty parents that the next operation fills are left out. Roles whose pods get
//! the same patch share a block, and so do GPU counts; if few lines differ from the previous count, only those are
//! shown.

mod machines;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use trainmesh_testing::cli::trainmesh;

const WORKLOADS: &str = include_str!("workloads.yaml");

const GPUS: [u32; 3] = [1, 4, 8];

/// Machines for all workloads on EKS: one with at least as many adapters as GPUs, one with fewer.
const EKS_MACHINES: [&str; 2] = ["p5.48xlarge", "p4d.24xlarge"];

#[test]
fn profiles() {
    super::settings().bind(|| {
        for name in trainmesh_core::config::builtin_profiles().all().into_keys() {
            insta::assert_snapshot!(format!("fabric@{name}"), render(name, ""));
            if name.starts_with("eks-") {
                for machine in EKS_MACHINES {
                    insta::assert_snapshot!(format!("fabric@{name}-{machine}"), render(name, machine));
                }
            }
        }
    });
}

/// The outcome for a role of a workload with one GPU count.
struct RoleOutcome {
    kind: String,
    role: String,
    gpus: String,
    effect: String,
}

/// Renders the effect of profile `name` on every workload.
fn render(name: &str, machine: &str) -> String {
    let outcomes: Vec<RoleOutcome> = GPUS.iter().flat_map(|gpus| previews(name, machine, *gpus)).collect();
    let kinds = group_by_value(outcomes.iter().map(|outcome| (outcome.role.clone(), outcome.kind.clone())));
    let mut text = String::new();
    for (roles, kind) in kinds {
        writeln!(text, "# {kind}").unwrap();
        let roles: BTreeSet<String> = roles.into_iter().collect();
        let by_role = roles.into_iter().map(|role| {
            let role_outcomes = outcomes.iter().filter(|outcome| outcome.kind == kind && outcome.role == role);
            let effect = diff_by_gpus(&group_by_value(
                role_outcomes.map(|outcome| (outcome.gpus.clone(), outcome.effect.clone())),
            ));
            (role, effect)
        });
        for (roles, effect) in group_by_value(by_role) {
            writeln!(text, "{}\n{effect}", roles.join(", ")).unwrap();
        }
    }
    text
}

/// Shows the first outcome in full, and each other as a diff from its predecessor.
fn diff_by_gpus(all: &[(Vec<String>, String)]) -> String {
    let mut text = String::new();
    for (index, (gpus, effect)) in all.iter().enumerate() {
        let before = index.checked_sub(1).map_or("", |before| &all[before].1);
        let diff = TextDiff::from_lines(before, effect);
        let differ: Vec<_> = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal).collect();
        let gpus = gpus.join(", ");
        if differ.len() < effect.lines().count() {
            writeln!(text, "  with {gpus} GPUs").unwrap();
            for change in differ {
                write!(text, "{}{}", change.tag(), change.value()).unwrap();
            }
        } else {
            write!(text, "  with {gpus} GPUs {effect}").unwrap();
        }
    }
    text
}

fn previews(name: &str, machine: &str, gpus: u32) -> Vec<RoleOutcome> {
    let machine =
        if machine.is_empty() { String::new() } else { format!("node.kubernetes.io/instance-type: {machine}") };
    let text = WORKLOADS.replace("MACHINE", &machine).replace("GPUS", &gpus.to_string());
    let profiles = trainmesh_core::config::builtin_profiles();
    let gpu_resource = profiles.find(name).unwrap().profile.matches.gpu_resources[0].as_str();
    let text = text.replace("nvidia.com/gpu", gpu_resource);
    let labels = "trainmesh.dev/inject=enabled";
    let run = trainmesh(&["preview", "-f", "-", "--fabric", name, "--namespace-labels", labels, "-o", "json"], &text);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let output: Value = serde_json::from_str(&run.stdout).unwrap();
    let results = output["results"].as_array().unwrap().iter();
    let text_field = |result: &Value, field: &str| result[field].as_str().unwrap().to_owned();
    results
        .map(|result| RoleOutcome {
            kind: format!("{} {}", text_field(result, "apiVersion"), text_field(result, "kind")),
            role: text_field(result, "role"),
            gpus: gpus.to_string(),
            effect: outcome(name, result),
        })
        .collect()
}

/// Renders the rule's outcome for a pod, its warnings and its patch.
fn outcome(name: &str, result: &Value) -> String {
    let rule = result["rules"].as_array().unwrap().iter().find(|rule| rule["rule"] == "fabric").unwrap();
    let text_field = |field: &str| rule[field].as_str().unwrap();
    let message =
        text_field("message").replacen(&format!("{name}: "), &format!("{name}\n      "), 1).replace("; ", "\n      ");
    let mut text = format!("{} {}: {message}\n", text_field("outcome"), text_field("reason"));
    for warning in result["warnings"].as_array().unwrap() {
        writeln!(text, "    warning: {}", warning.as_str().unwrap()).unwrap();
    }
    let operations = result["patch"].as_array().unwrap();
    for (index, operation) in operations.iter().enumerate() {
        let path = operation["path"].as_str().unwrap();
        let is_child = |next: &Value| next["path"].as_str().unwrap().starts_with(&format!("{path}/"));
        let empty = operation["value"] == json!([]) || operation["value"] == json!({});
        if !(empty && operations.get(index + 1).is_some_and(is_child)) {
            writeln!(text, "    {} {path} {}", operation["op"].as_str().unwrap(), operation["value"]).unwrap();
        }
    }
    text
}

/// Groups keys that have the same value.
fn group_by_value(all: impl Iterator<Item = (String, String)>) -> Vec<(Vec<String>, String)> {
    let mut parts: Vec<(Vec<String>, String)> = Vec::new();
    for (key, effect) in all {
        match parts.iter_mut().find(|(_, known)| *known == effect) {
            Some((keys, _)) => keys.push(key),
            None => parts.push((vec![key], effect)),
        }
    }
    parts
}
