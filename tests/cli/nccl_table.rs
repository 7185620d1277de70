//! `tests/nccl-table/run`, which compares the table of NCCL's variables with a checkout.

use std::fs;
use std::process::Command;

use rstest::rstest;

const VERSION: &str = "NCCL_MAJOR   := 9\nNCCL_MINOR   := 1\nNCCL_PATCH   := 2\n";

/// Runs the script on a checkout whose source is `source`. Returns its exit code and its output.
fn compare(source: &str) -> (Option<i32>, String) {
    let checkout = tempfile::tempdir().unwrap();
    for (folder, file, text) in [("makefiles", "version.mk", VERSION), ("src", "init.cc", source)] {
        fs::create_dir(checkout.path().join(folder)).unwrap();
        fs::write(checkout.path().join(folder).join(file), text).unwrap();
    }
    let output = Command::new("tests/nccl-table/run").arg(checkout.path()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[rstest]
#[case::new_parameter("NCCL_PARAM(New, \"NEW_THING\", 0);", "new        NCCL_NEW_THING src/init.cc")]
#[case::new_typed(
    "DEFINE_NCCL_PARAM(newThing, const char*, NCCL_NEW_THING, nullptr,",
    "new        NCCL_NEW_THING src/init.cc"
)]
#[case::new_read("x = ncclGetEnv(\"NCCL_NEW_THING\");", "new        NCCL_NEW_THING src/init.cc")]
#[case::moved(
    "NCCL_PARAM(IbTimeout, \"IB_TIMEOUT\", 20);",
    "moved      NCCL_IB_TIMEOUT src/transport/net_ib/connect.cc src/init.cc"
)]
#[case::read_again("NCCL_PARAM(Depth, \"WORK_FIFO_DEPTH\", 1);", "read       NCCL_WORK_FIFO_DEPTH src/init.cc")]
#[case::removed("", "removed    NCCL_IB_TIMEOUT src/transport/net_ib/connect.cc")]
fn differences_are_listed(#[case] source: &str, #[case] expected: &str) {
    let (code, output) = compare(source);
    assert_eq!(code, Some(1));
    assert!(output.starts_with("table of NCCL 2.30.7, checkout of NCCL 9.1.2\n"), "{output}");
    assert!(output.lines().any(|line| line == expected), "{output}");
}

#[test]
fn another_directory_is_an_error() {
    let output = Command::new("tests/nccl-table/run").arg("/").output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(2), b"/: not a checkout of NCCL\n".to_vec()));
}
