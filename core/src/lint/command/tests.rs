use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::pod::Pod;

fn parse(command: &Value) -> (Vec<String>, bool) {
    let pod = json!({"spec": {"containers": [{"name": "a", "command": command}]}});
    let found = CommandSettings::parse(Pod::new(&pod).containers().next().unwrap());
    let settings = found.settings.iter().map(|setting| {
        let CommandSetting { name, value, index, passed } = *setting;
        let origin = if passed { "-x" } else { "export" };
        format!("{index} {origin} {name} {}", value.unwrap_or("?"))
    });
    (settings.collect(), found.runs_mpirun)
}

#[rstest]
#[case::words(json!(["mpirun", "-np", "2", "-x", "NCCL_DEBUG=INFO", "run"]), &["4 -x NCCL_DEBUG INFO"], true)]
#[case::path(json!(["/opt/hpcx/bin/mpirun", "-x", "NCCL_NET"]), &["2 -x NCCL_NET ?"], true)]
#[case::script(
    json!(["bash", "-c", "mpirun \\\n  -x NCCL_IB_HCA==mlx5_0 \\\n  -x PATH run"]),
    &["2 -x NCCL_IB_HCA =mlx5_0", "2 -x PATH ?"], true
)]
#[case::quoted_value(json!(["sh", "-c", "mpirun -x NCCL_IB_HCA=\"=mlx5_0,mlx5_1\" run"]), &["2 -x NCCL_IB_HCA =mlx5_0,mlx5_1"], true)]
#[case::quoted_word(json!(["sh", "-c", "mpirun -x 'UCX_TLS=tcp' run"]), &["2 -x UCX_TLS tcp"], true)]
#[case::expansion(json!(["sh", "-c", "mpirun -x NCCL_DEBUG=${LEVEL} run"]), &["2 -x NCCL_DEBUG ?"], true)]
#[case::quoted_script(json!(["sh", "-c", "su - user -c \"mpirun -x A=1 run\""]), &["2 -x A 1"], true)]
#[case::another_program(json!(["sh", "-c", "set -x; docker run -x A=1; mpirun run"]), &[], true)]
#[case::ends_with_its_command(json!(["sh", "-c", "mpirun run && bash -x A=1"]), &[], true)]
#[case::export(json!(["sh", "-c", "set -e\nexport NCCL_DEBUG=WARN A=\"x y\"\npython a.py"]), &["2 export NCCL_DEBUG WARN", "2 export A x y"], false)]
#[case::export_of_a_variable(json!(["sh", "-c", "A=1; export A; export -p"]), &[], false)]
#[case::comment(json!(["sh", "-c", "# export A=1\npython a.py # mpirun -x B=1"]), &[], false)]
#[case::branches(json!(["sh", "-c", "if x; then export A=1; else export A=2; fi; export B=3"]), &["2 export A ?", "2 export B 3"], false)]
#[case::substitution(json!(["sh", "-c", "export A=$(nproc) B=`hostname`"]), &["2 export A ?"], false)]
#[case::no_name(json!(["sh", "-c", "mpirun -x $NAMES -x =1 run"]), &[], true)]
#[case::unclosed_quote(json!(["sh", "-c", "export A=\"1"]), &["2 export A ?"], false)]
#[case::no_script(json!(["python", "export.py"]), &[], false)]
fn settings_are_read(#[case] command: Value, #[case] expected: &[&str], #[case] mpirun: bool) {
    let (settings, runs_mpirun) = parse(&command);
    assert_eq!((settings.iter().map(String::as_str).collect::<Vec<_>>(), runs_mpirun), (expected.to_vec(), mpirun));
}

#[test]
fn long_commands_are_not_parsed() {
    let script = |length: usize| json!(["sh", "-c", format!("export A=1 {}", " ".repeat(length))]);
    assert_eq!(parse(&script(60_000)).0, ["2 export A 1"]);
    assert_eq!(parse(&script(70_000)).0, [""; 0]);
}
