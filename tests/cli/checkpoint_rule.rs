//! The rule `checkpoint` in `trainmesh preview`.

use rstest::rstest;

use trainmesh_testing::cli::{assert_exit, trainmesh};

/// A job of 128 ranks. `VARIABLES` are those of their container.
const JOB: &str = "\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 128
      template:
        metadata:
          annotations: {trainmesh.dev/checkpoint-write-time: 90s, trainmesh.dev/node-mtbf: 264d}
        spec:
          containers: [{name: pytorch, image: i, VARIABLES resources: {limits: {nvidia.com/gpu: 8}}}]
";

#[rstest]
#[case::applied(
    &["-o", "explain"],
    "",
    &["checkpoint", "applied", "CheckpointIntervalSet", "5604 s for 128 nodes"],
    ""
)]
#[case::patched(&["-o", "yaml"], "", &["name: TRAINMESH_CHECKPOINT_INTERVAL_SECONDS", "value: \"5604\""], "")]
#[case::set_by_the_user(
    &["-v"],
    "env: [{name: TRAINMESH_CHECKPOINT_INTERVAL_SECONDS, value: '60'}],",
    &["CheckpointIntervalPresent"],
    ""
)]
#[case::refused(&[], "envFrom: [{configMapRef: {name: a}}],", &["checkpoint", "refused CheckpointVariableUnknown: "], "")]
fn previews_show_the_rule(
    #[case] options: &[&str],
    #[case] variables: &str,
    #[case] stdout: &[&str],
    #[case] stderr: &str,
) {
    let arguments: Vec<&str> = ["preview", "-f", "-"].iter().chain(options).copied().collect();
    assert_exit(&trainmesh(&arguments, &JOB.replace("VARIABLES", variables)), 0, stdout, stderr);
}
