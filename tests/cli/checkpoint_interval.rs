//! `trainmesh checkpoint-interval`.

use rstest::rstest;
use serde_json::Value;
use trainmesh_testing::cli::{assert_exit, trainmesh};

const MODEL: [&str; 6] = ["--write-time", "5m", "--mtbf", "24h", "--restart-time", "10m"];

#[rstest]
#[case::table(&MODEL, 0, &["MTBF of the job 1d, write time 5m, restart time 10m", "exact (Lambert W)   1h56m41s   8.74 %", "Young 1974          2h         8.74 %", "after every 1h56m41s of computing", "12h           13.20 %   12.55 %"], "")]
#[case::steps(&["--write-time", "90s", "--mtbf", "24h", "--step-time", "1.7s"], 0, &["STEPS", "Young 1974          1h5m44s    2319    4.50 %"], "")]
#[case::steps_longer_than_the_interval(&["--write-time", "1s", "--mtbf", "1h", "--step-time", "1h"], 0, &["Young 1974          1m25s      1       2.34 %"], "")]
#[case::long_steps(&["--write-time", "5m", "--mtbf", "24h", "--step-time", "5h"], 0, &["Write a checkpoint after every step, because a step takes 5h, longer than the best interval.", "then take 11.69 % of the time", "Waste of the best interval if"], "")]
#[case::short_steps(&["--write-time", "5m", "--mtbf", "24h", "--step-time", "1h56m"], 0, &["Write a checkpoint after every 1h56m41s of computing.", "Waste of this interval if"], "")]
#[case::nodes(&["--write-time", "90s", "--node-mtbf", "264d", "--nodes", "128"], 0, &["MTBF of the job 2d1h30m", "17h36m39s", "1d54m"], "")]
#[case::long_mtbf(&["--write-time", "90s", "--mtbf", "10d29m"], 0, &["MTBF of the job 10d,"], "")]
#[case::rounded_up(&["--write-time", "90s", "--mtbf", "10d30m"], 0, &["MTBF of the job 10d1h,"], "")]
#[case::frequent_failures(&["--write-time", "5m", "--mtbf", "2m"], 0, &["Daly 2003           -          -", "note Daly 2006: the series requires", "No interval helps this job"], "")]
#[case::many_failures(&["--write-time", "10m30s", "--mtbf", "1h", "--restart-time", "3m"], 0, &["No interval helps this job: write checkpoints faster"], "")]
#[case::slow_restarts(&["--write-time", "5m", "--mtbf", "24h", "--restart-time", "48h"], 0, &["because its restarts take most of the time: restart faster"], "")]
#[case::no_write_time(&["--mtbf", "24h"], 2, &[], "--write-time <DURATION>")]
#[case::no_mtbf(&["--write-time", "5m"], 2, &[], "specify --mtbf, or --node-mtbf and --nodes")]
#[case::node_mtbf_without_nodes(&["--write-time", "5m", "--node-mtbf", "264d"], 2, &[], "--nodes <COUNT>")]
#[case::nodes_without_node_mtbf(&["--write-time", "5m", "--mtbf", "24h", "--nodes", "2"], 2, &[], "cannot be used with")]
#[case::no_nodes(&["--write-time", "5m", "--node-mtbf", "264d", "--nodes", "0"], 2, &[], "expected a whole number from 1 to 10000000")]
#[case::both_mtbfs(&["--write-time", "5m", "--mtbf", "24h", "--node-mtbf", "264d", "--nodes", "2"], 2, &[], "cannot be used with")]
#[case::zero(&["--write-time", "0s", "--mtbf", "24h"], 2, &[], "must be longer than 0s")]
#[case::too_long(&["--write-time", "5m", "--mtbf", "400000d"], 2, &[], "at most 366000d are supported")]
#[case::no_unit(&["--write-time", "5", "--mtbf", "24h"], 2, &[], "expected a duration such as 264d, 36h or 1m30s, found \"5\"")]
#[case::help(&["--help"], 0, &["Examples:"], "")]
fn commands(#[case] arguments: &[&str], #[case] code: i32, #[case] stdout: &[&str], #[case] stderr: &str) {
    assert_exit(&trainmesh(&[&["checkpoint-interval"], arguments].concat(), ""), code, stdout, stderr);
}

#[test]
fn json_output_has_every_field() {
    let run = trainmesh(&[&["checkpoint-interval", "-o", "json", "--step-time", "2s"][..], &MODEL].concat(), "");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&report["schemaVersion"], &report["mtbfSeconds"]), (&1.into(), &86400.0.into()), "{run:#?}");
    let exact = &report["intervals"][0];
    assert_eq!((exact["method"].as_str(), exact["steps"].as_f64()), (Some("exact"), Some(3500.0)));
    assert!((exact["seconds"].as_f64().unwrap() / 60.0 - 116.69).abs() < 0.01, "{exact}");
    assert!((exact["waste"].as_f64().unwrap() - 0.0874).abs() < 0.0001, "{exact}");
    assert_eq!(exact["outOfDomain"], Value::Null);
    assert_eq!(report["sensitivity"][0]["mtbfFactor"], 0.25);
    assert_eq!(report["curve"].as_array().map(Vec::len), Some(17));
}
