//! `trainmesh inventory`.

use rstest::rstest;
use trainmesh_testing::cli::{assert_exit, trainmesh};

use crate::diagnose::DUMP;

#[rstest]
#[case::all(&[], 0, &["training: 1 workload, 16 accelerators\n", "unknown: 1 workload, 1 accelerator\n"], "")]
#[case::another_namespace(&["-n", "team-z"], 0, &["no workload uses accelerators"], "note: no workload in namespace team-z: there are workloads in team-a, team-with-a-long-name")]
#[case::help(&["--help"], 0, &["Exit codes:"], "")]
fn dumps(#[case] arguments: &[&str], #[case] code: i32, #[case] stdout: &[&str], #[case] stderr: &str) {
    assert_exit(&trainmesh(&[&["inventory", "-f", "-"], arguments].concat(), DUMP), code, stdout, stderr);
}
