//! The effect of each built-in profile on the pods of `workloads.yaml`: one readable file for each profile.
//!
//! A line is an operation of the patch; empty parents that the next operation fills are left out. Roles whose pods get
//! the same patch share a block, and so do GPU counts; if few lines differ from the previous count, only those are
//! shown.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use trainmesh_core::config::Profile;
use trainmesh_core::config::profile::{Amount, Ratios};

use trainmesh_testing::cli::trainmesh;

const WORKLOADS: &str = include_str!("workloads.yaml");

const GPUS: [u32; 3] = [1, 4, 8];

/// Machines for all workloads on EKS: one with at least as many adapters as GPUs, one with fewer.
const EKS_MACHINES: [&str; 2] = ["p5.48xlarge", "p4d.24xlarge"];

/// Every machine that a profile distinguishes, with its number of GPUs.
const MACHINES: &[(&str, &[(&str, u32)])] = &[
    ("aks-nd-gb300", &[("Standard_ND128isr_GB300_v6", 4)]),
    ("aks-nd-shared", &[("Standard_ND96isr_H100_v5", 8), ("Standard_ND128isr_GB300_v6", 4)]),
    ("aks-nd-sriov", &[("Standard_ND96amsr_A100_v4", 8), ("Standard_ND96isr_H200_v5", 8)]),
    ("coreweave-ib", &[("gd-8xh100ib-i128", 8), ("b200-8x", 8), ("b300-8x", 8), ("gb200-4x", 4)]),
    ("coreweave-ib-nvl72", &[("gb200-4x", 4), ("gb300-4x", 4)]),
    ("coreweave-ib-sharp", &[("gd-8xh100ib-i128", 8), ("b200-8x", 8), ("b300-8x", 8)]),
    ("crusoe-ib", &[("h100-80gb-sxm-ib.8x", 8), ("h200-141gb-sxm-ib.8x", 8), ("b200-180gb-sxm-ib.8x", 8)]),
    ("crusoe-ib-b300", &[("b300-288gb-sxm-ib.8x", 8)]),
    ("crusoe-ib-gb200", &[("gb200-186gb-nvl.4x", 4)]),
    ("eks-efa", EKS),
    ("eks-efa-dra", EKS),
    ("gke-mrdma-dra", &[("a3-ultragpu-8g", 8), ("a4-highgpu-8g", 8)]),
    ("gke-mrdma-dra-a4x-max", &[("a4x-maxgpu-4g-metal", 4)]),
    ("gke-rdma-gib-a3u", &[("a3-ultragpu-8g", 8), ("a4-highgpu-8g", 8)]),
    ("gke-rdma-gib-a4", &[("a4-highgpu-8g", 8)]),
    ("gke-rdma-gib-a4x", &[("a4x-highgpu-4g", 4)]),
    (
        "oke-roce-vf",
        &[
            ("BM.GPU4.8", 8),
            ("BM.GPU.A100-v2.8", 8),
            ("BM.GPU.B4.8", 8),
            ("BM.GPU.H100.8", 8),
            ("BM.GPU.H200.8", 8),
            ("BM.GPU.B200.8", 8),
            ("BM.GPU.B300.8", 8),
        ],
    ),
    ("oke-roce-vf-h100", &[("BM.GPU.H100.8", 8), ("BM.GPU.H200.8", 8)]),
    ("oke-roce-vf-mi300x", &[("BM.GPU.MI300X.8", 8)]),
    ("oke-roce-vf-mi355x", &[("BM.GPU.MI355X-v1.8", 8), ("BM.GPU.MI355X.8", 8)]),
];

const EKS: &[(&str, u32)] = &[
    ("p4d.24xlarge", 8),
    ("p4de.24xlarge", 8),
    ("p5.48xlarge", 8),
    ("p5.4xlarge", 1),
    ("p5e.48xlarge", 8),
    ("p5en.48xlarge", 8),
    ("p6-b200.48xlarge", 8),
    ("p6-b300.48xlarge", 8),
    ("p6e-gb200.36xlarge", 4),
    ("ml.p5.48xlarge", 8),
    ("g6.xlarge", 1),
];

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

/// A pod on each machine. Profiles that depend on the machine have a row in the table.
#[test]
fn machines() {
    super::settings().bind(|| {
        for (name, entry) in trainmesh_core::config::builtin_profiles().all() {
            let machines = MACHINES.iter().find(|(profile, _)| *profile == name).map(|(_, machines)| *machines);
            assert_eq!(machines.is_some(), depends_on_machine(&entry.profile), "{name}");
            if let Some(machines) = machines {
                let text: String = machines.iter().map(|(machine, gpus)| on_machine(name, machine, *gpus)).collect();
                insta::assert_snapshot!(format!("machine@{name}"), text);
            }
        }
    });
}

fn depends_on_machine(profile: &Profile) -> bool {
    let by_type = |amount: &Amount| matches!(amount, Amount::Devices { ratio: Ratios::ByInstanceType(_), .. });
    !profile.matches.machines.is_empty() || profile.resources.iter().any(|resource| by_type(&resource.amount))
}

fn on_machine(name: &str, machine: &str, gpus: u32) -> String {
    let gpus = gpus.to_string();
    let run = trainmesh(&["fabric", "render", name, "--machine", machine, "--gpus", &gpus, "-o", "json"], "");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let output: Value = serde_json::from_str(&run.stdout).unwrap();
    format!("# {machine}, {gpus} GPUs\n{}\n", outcome(name, &output["results"][0]))
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
