//! The effect of profiles on a pod of each machine: of the built-in profiles, and of those in `examples/fabric`.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;
use trainmesh_core::config::profile::{Amount, Ratios};
use trainmesh_core::config::{Profile, builtin_profiles};
use trainmesh_testing::cli::trainmesh;

use super::outcome;
use crate::golden;

/// A profile of an example, one of its machines (empty if it has none), and the machine's number of GPUs.
type ExampleMachine = (&'static str, &'static str, u32);

/// Every machine that a profile distinguishes, with its number of GPUs.
const MACHINES: &[(&str, &[(&str, u32)])] = &[
    ("aks-nd-gb300", &[("Standard_ND128isr_GB300_v6", 4), ("Standard_ND128isr_NDR_GB200_v6", 4)]),
    ("aks-nd-shared", &[("Standard_ND96isr_H100_v5", 8), ("Standard_ND128isr_GB300_v6", 4)]),
    (
        "aks-nd-sriov",
        &[("Standard_ND96amsr_A100_v4", 8), ("Standard_ND96isr_H100_v5", 8), ("Standard_ND96isr_H200_v5", 8)],
    ),
    (
        "coreweave-ib",
        &[("gd-8xh100ib-i128", 8), ("b200-8x", 8), ("b300-8x", 8), ("gb200-4x", 4), ("gd-8xl40s-i128", 8)],
    ),
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

/// Every example.
const EXAMPLES: &[(&str, &[ExampleMachine])] = &[
    ("coreweave-roce-gb300", &[("coreweave-roce-gb300", "gb300-4x", 4)]),
    ("gke-tcpxo", &[("gke-tcpxo", "a3-megagpu-8g", 8)]),
    ("hgx-rails", &[("hgx-rails", "", 8)]),
    ("nebius-ib", &[("nebius-ib", "", 8)]),
    (
        "oke-hostnet-gb200",
        &[
            ("oke-hostnet-gb200", "BM.GPU.GB200.4", 4),
            ("oke-hostnet-gb200", "BM.GPU.GB200-v2.4", 4),
            ("oke-hostnet-gb200-v3", "BM.GPU.GB200-v3.4", 4),
        ],
    ),
    ("oke-hostnet-gb300", &[("oke-hostnet-gb300", "BM.GPU.GB300.4", 4)]),
    ("oke-hostnet-mi355x", &[("oke-hostnet-mi355x", "BM.GPU.MI355X.8", 8)]),
    ("oke-roce-hostnet", &[("oke-roce-hostnet", "", 8)]),
];

/// A pod on each machine. Profiles that depend on the machine have a row in the table.
#[test]
fn machines() {
    golden::settings().bind(|| {
        for (name, entry) in builtin_profiles().all() {
            let machines = MACHINES.iter().find(|(profile, _)| *profile == name).map(|(_, machines)| *machines);
            assert_eq!(machines.is_some(), depends_on_machine(&entry.profile), "{name}");
            if let Some(machines) = machines {
                let text: String =
                    machines.iter().map(|(machine, gpus)| on_machine(name, machine, *gpus, &[])).collect();
                insta::assert_snapshot!(format!("machine@{name}"), text);
            }
        }
    });
}

/// The pods of each example in `examples/fabric`.
#[test]
fn examples() {
    let files = fs::read_dir("examples/fabric").unwrap();
    let names: BTreeSet<String> =
        files.map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    assert!(EXAMPLES.iter().map(|(name, _)| *name).eq(&names), "{names:?}");
    golden::settings().bind(|| {
        for (name, machines) in EXAMPLES {
            let file = format!("examples/fabric/{name}.yaml");
            let config = ["--config", file.as_str()];
            let pods = machines.iter().map(|(profile, machine, gpus)| on_machine(profile, machine, *gpus, &config));
            insta::assert_snapshot!(format!("example@{name}"), pods.collect::<String>());
        }
    });
}

fn depends_on_machine(profile: &Profile) -> bool {
    let by_type = |amount: &Amount| matches!(amount, Amount::Devices { ratio: Ratios::ByInstanceType(_), .. });
    !profile.matches.machines.is_empty() || profile.resources.iter().any(|resource| by_type(&resource.amount))
}

/// Renders the effect of profile `name` on a pod; `machine` is empty for a pod that selects none.
fn on_machine(name: &str, machine: &str, gpus: u32, config: &[&str]) -> String {
    let gpus = gpus.to_string();
    let on: &[&str] = if machine.is_empty() { &[] } else { &["--machine", machine] };
    let run = trainmesh(&[&["fabric", "render", name, "--gpus", &gpus, "-o", "json"], on, config].concat(), "");
    // A profile may be refused without a machine.
    assert!(matches!(run.code, Some(0 | 1)), "{}", run.stderr);
    let output: Value = serde_json::from_str(&run.stdout).unwrap();
    let machine = if machine.is_empty() { "any machine" } else { machine };
    format!("# {machine}, {gpus} GPUs\n{}\n", outcome(name, &output["results"][0]))
}
