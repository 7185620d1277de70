//! Compares the preview with the pods that real controllers create from manifests and that the real webhook patches.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_operators
//! ```
//!
//! The examples are used unchanged, so that the tests check what users see; variants that no example shows have
//! manifests in this directory. The jobs never run: there are no GPUs and no such images.

use rstest::rstest;
use trainmesh_testing::operators::case::{
    Case, label_gpu_node, make_pods_ready, make_pods_succeed, make_schedules_due,
};
use trainmesh_testing::operators::compare::check;

const KUBEFLOW: &str = "training-operator";

#[rstest]
#[case::job(Case::new("examples/job.yaml"))]
#[case::job_plain_and_deployment(Case::new("examples/list.yaml"))]
#[case::cronjob(Case {
    edits: &[("schedule: \"30 2 * * *\"", "schedule: \"* * * * *\"")],
    simulate: make_schedules_due,
    ..Case::new("examples/cronjob.yaml")
})]
#[case::deployment(Case::new("examples/deployment.yaml"))]
#[case::statefulset(Case::new("examples/statefulset.yaml"))]
#[case::daemonset(Case { simulate: label_gpu_node, ..Case::new("examples/daemonset.yaml") })]
#[case::replicaset(Case::new("examples/replicaset.yaml"))]
#[case::replicationcontroller(Case::new("examples/replicationcontroller.yaml"))]
#[case::pytorchjob(Case::with_operator("examples/pytorchjob.yaml", KUBEFLOW))]
#[case::pytorchjob_elastic(Case::with_operator("examples/pytorchjob-elastic.yaml", KUBEFLOW))]
#[case::tfjob(Case::with_operator("examples/tfjob.yaml", KUBEFLOW))]
#[case::mpijob(Case::with_operator("examples/mpijob-v1.yaml", KUBEFLOW))]
#[case::xgboostjob(Case::with_operator("examples/xgboostjob.yaml", KUBEFLOW))]
#[case::paddlejob(Case::with_operator("examples/paddlejob.yaml", KUBEFLOW))]
#[case::jaxjob(Case::with_operator("examples/jaxjob.yaml", KUBEFLOW))]
#[case::jobset(Case { simulate: make_pods_ready, ..Case::with_operator("examples/jobset.yaml", "jobset") })]
#[case::trainjob(Case {
    crd: Some("tests/cluster_operators/podgroups.yaml"),
    // ClusterTrainingRuntimes are cluster-scoped: an earlier run has left its own.
    edits: &[("torch-finetune", "@")],
    simulate: make_pods_succeed,
    ..Case::with_operator("examples/trainjob.yaml", "trainer")
})]
#[case::builtin_variants(Case { simulate: make_schedules_due, ..Case::new("tests/cluster_operators/builtin.yaml") })]
#[case::pytorchjob_variants(Case::with_operator("tests/cluster_operators/pytorchjob.yaml", KUBEFLOW))]
#[case::kubeflow_variants(Case::with_operator("tests/cluster_operators/kubeflow.yaml", KUBEFLOW))]
#[case::jobset_variants(Case::with_operator("tests/cluster_operators/jobset.yaml", "jobset"))]
#[case::trainjob_variants(Case::with_operator("tests/cluster_operators/trainjob.yaml", "trainer"))]
fn the_preview_matches_the_controller_and_the_webhook(#[case] case: Case) {
    check(&case);
}
