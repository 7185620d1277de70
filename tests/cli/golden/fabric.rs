//! What each built-in profile does to the pods of `workloads.yaml`, short enough to be read: one file for each profile.
//!
//! A line is an operation of the patch; an empty parent that the next operation fills is left out. Roles whose pods get
//! the same stand together, and so do counts of GPUs; where few lines differ from the count before, only those are there.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use trainmesh_core::config::profile::{Amount, Ratios};

use trainmesh_testing::cli::trainmesh;

const WORKLOADS: &str = include_str!("workloads.yaml");

const GPUS: [u32; 3] = [1, 4, 8];

/// Machines of the profiles whose ratio depends on that: as many adapters as GPUs or more, and fewer.
const MACHINES: [&str; 2] = ["p5.48xlarge", "p4d.24xlarge"];

#[test]
fn profiles() {
    super::settings().bind(|| {
        for (name, entry) in trainmesh_core::config::builtin_profiles().all() {
            insta::assert_snapshot!(format!("fabric@{name}"), picture(name, ""));
            let by_machine = |amount: &Amount| matches!(amount, Amount::Devices { ratio: Ratios::ByMachine(_), .. });
            if entry.profile.resources.iter().any(|resource| by_machine(&resource.amount)) {
                for machine in MACHINES {
                    insta::assert_snapshot!(format!("fabric@{name}-{machine}"), picture(name, machine));
                }
            }
        }
    });
}

/// A role of a workload with one count of GPUs, and what happens to its pods.
struct Seen {
    kind: String,
    role: String,
    gpus: String,
    what: String,
}

/// What profile `name` does to every workload.
fn picture(name: &str, machine: &str) -> String {
    let seen: Vec<Seen> = GPUS.iter().flat_map(|gpus| previews(name, machine, *gpus)).collect();
    let kinds = joined(seen.iter().map(|one| (one.role.clone(), one.kind.clone())));
    let mut text = String::new();
    for (roles, kind) in kinds {
        writeln!(text, "# {kind}").unwrap();
        let roles: BTreeSet<String> = roles.into_iter().collect();
        let of_roles = roles.into_iter().map(|role| {
            let of_role = seen.iter().filter(|one| one.kind == kind && one.role == role);
            let what = counts(&joined(of_role.map(|one| (one.gpus.clone(), one.what.clone()))));
            (role, what)
        });
        for (roles, what) in joined(of_roles) {
            writeln!(text, "{}\n{what}", roles.join(", ")).unwrap();
        }
    }
    text
}

/// The first in full, each other as it differs from the one before.
fn counts(all: &[(Vec<String>, String)]) -> String {
    let mut text = String::new();
    for (index, (gpus, what)) in all.iter().enumerate() {
        let before = index.checked_sub(1).map_or("", |before| &all[before].1);
        let diff = TextDiff::from_lines(before, what);
        let differ: Vec<_> = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal).collect();
        let gpus = gpus.join(", ");
        if differ.len() < what.lines().count() {
            writeln!(text, "  with {gpus} GPUs").unwrap();
            for change in differ {
                write!(text, "{}{}", change.tag(), change.value()).unwrap();
            }
        } else {
            write!(text, "  with {gpus} GPUs {what}").unwrap();
        }
    }
    text
}

fn previews(name: &str, machine: &str, gpus: u32) -> Vec<Seen> {
    let machine =
        if machine.is_empty() { String::new() } else { format!("node.kubernetes.io/instance-type: {machine}") };
    let text = WORKLOADS.replace("MACHINE", &machine).replace("GPUS", &gpus.to_string());
    let labels = "trainmesh.dev/inject=enabled";
    let run = trainmesh(&["preview", "-f", "-", "--fabric", name, "--namespace-labels", labels, "-o", "json"], &text);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let output: Value = serde_json::from_str(&run.stdout).unwrap();
    let results = output["results"].as_array().unwrap().iter();
    let word = |result: &Value, field: &str| result[field].as_str().unwrap().to_owned();
    results
        .map(|result| Seen {
            kind: format!("{} {}", word(result, "apiVersion"), word(result, "kind")),
            role: word(result, "role"),
            gpus: gpus.to_string(),
            what: outcome(name, result),
        })
        .collect()
}

/// What the rule says of a pod, and what it does.
fn outcome(name: &str, result: &Value) -> String {
    let rule = result["rules"].as_array().unwrap().iter().find(|rule| rule["rule"] == "fabric").unwrap();
    let word = |field: &str| rule[field].as_str().unwrap();
    let message =
        word("message").replacen(&format!("{name}: "), &format!("{name}\n      "), 1).replace("; ", "\n      ");
    let mut text = format!("{} {}: {message}\n", word("outcome"), word("reason"));
    for warning in result["warnings"].as_array().unwrap() {
        writeln!(text, "    warning: {}", warning.as_str().unwrap()).unwrap();
    }
    let operations = result["patch"].as_array().unwrap();
    for (index, operation) in operations.iter().enumerate() {
        let path = operation["path"].as_str().unwrap();
        let is_below = |next: &Value| next["path"].as_str().unwrap().starts_with(&format!("{path}/"));
        let empty = operation["value"] == json!([]) || operation["value"] == json!({});
        if !(empty && operations.get(index + 1).is_some_and(is_below)) {
            writeln!(text, "    {} {path} {}", operation["op"].as_str().unwrap(), operation["value"]).unwrap();
        }
    }
    text
}

/// Those to whom the same happens, together.
fn joined(all: impl Iterator<Item = (String, String)>) -> Vec<(Vec<String>, String)> {
    let mut parts: Vec<(Vec<String>, String)> = Vec::new();
    for (who, what) in all {
        match parts.iter_mut().find(|(_, known)| *known == what) {
            Some((together, _)) => together.push(who),
            None => parts.push((vec![who], what)),
        }
    }
    parts
}
