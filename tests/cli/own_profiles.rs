//! Profiles of the configuration that a pod selects but does not get, as `lint` and `preview` report them.

use std::io::Write as _;

use rstest::rstest;
use trainmesh_testing::cli::trainmesh;

const CONFIG: &str = "\
apiVersion: config.trainmesh.dev/v1alpha1
kind: TrainmeshConfiguration
fabric:
  profiles:
  - name: basement
    transport: ib
    onConflict: tcp
    resources: [{name: rdma/ib, mode: perPod}]
    namespaces: {names: [research]}
    lint: {disable: [FP026]}
";

/// Returns a pod with these variables that selects the profile.
fn pod(namespace: &str, variables: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  namespace: {namespace}\n  labels: {{trainmesh.dev/fabric: basement}}\nspec:\n  \
         containers:\n  - name: a\n    image: i\n    resources: {{limits: {{nvidia.com/gpu: 8}}}}\n    env:\n{variables}"
    )
}

const DEBUG: &str = "    - {name: NCCL_P2P_DISABLE, value: '1'}\n";
const SOCKET: &str = "    - {name: NCCL_IB_DISABLE, value: '1'}\n";

#[rstest]
#[case::available("research", DEBUG, &[], &["FP026", "FP046"])]
#[case::not_available("team-a", DEBUG, &["FP026 W", "FP046 W fabric is refused: FabricNotAllowed"], &[])]
#[case::fallback(
    "research",
    SOCKET,
    &[
        "FP046 W fabric is not applied: FabricFellBack: the pod gets plain TCP settings instead of its fabric profile: basement: \
         NCCL_IB_DISABLE=1 in a disables InfiniBand: remove it\n    stdin:13 /spec/containers/0/env/0\n"
    ],
    &[]
)]
fn findings_show_whether_the_profile_applies(
    #[case] namespace: &str,
    #[case] variables: &str,
    #[case] expected: &[&str],
    #[case] absent: &[&str],
) {
    let mut config = tempfile::NamedTempFile::new().unwrap();
    config.write_all(CONFIG.as_bytes()).unwrap();
    let config = config.path().to_str().unwrap();
    let run = trainmesh(&["lint", "-f", "-", "--config", config], &pod(namespace, variables));
    let missing: Vec<&&str> = expected.iter().filter(|text| !run.stdout.contains(**text)).collect();
    let found: Vec<&&str> = absent.iter().filter(|text| run.stdout.contains(**text)).collect();
    assert!(missing.is_empty() && found.is_empty(), "{missing:?} {found:?}: {run:#?}");
}

/// A fallback fails as a refused rule, and as a warning, with the line of its cause.
#[test]
fn a_fallback_fails_as_a_refusal() {
    let mut config = tempfile::NamedTempFile::new().unwrap();
    config.write_all(CONFIG.as_bytes()).unwrap();
    let arguments = ["preview", "-f", "-", "--summary", "--config", config.path().to_str().unwrap(), "--fail-on"];
    let refused = "failed: refused: stdin:13: Pod research/a: fabric FabricFellBack: the pod gets plain TCP settings";
    let warning = "failed: warning: stdin:13: Pod research/a: fabric basement: falling back to TCP: NCCL_IB_DISABLE=1";
    for (condition, cause) in [("refused", refused), ("warning", warning), ("refused,warning", refused)] {
        let run = trainmesh(&[&arguments[..], &[condition]].concat(), &pod("research", SOCKET));
        assert_eq!((run.code, run.stderr.matches("Pod research/a: fabric ").count()), (Some(1), 1), "{run:#?}");
        assert!(run.stderr.contains(cause), "{run:#?}");
        assert_eq!(run.stdout, "1 role: 1 changed; of these, 1 on TCP instead of a profile\n");
    }
}
