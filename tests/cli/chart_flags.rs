//! The flags of the servers in the chart, with which it checks `extraArgs`.

use std::collections::{BTreeMap, BTreeSet};

use rstest::rstest;
use trainmesh_core::yaml;
use trainmesh_testing::cli::trainmesh;

const FLAGS: &str = include_str!("../../charts/trainmesh/files/flags.yaml");

#[rstest]
fn the_chart_contains_all_flags(#[values("controller", "webhook")] server: &str) {
    let help = trainmesh(&[server, "--help"], "").stdout;
    let of_binary: BTreeSet<&str> =
        help.lines().filter_map(|line| line.split_whitespace().next().filter(|word| word.starts_with("--"))).collect();
    let flags: BTreeMap<String, BTreeMap<String, Option<String>>> =
        serde_json::from_value(yaml::parse(FLAGS).unwrap()).unwrap();
    assert!(of_binary.len() > 5, "{help}");
    assert_eq!(flags[server].keys().map(String::as_str).collect::<BTreeSet<_>>(), of_binary);
}
