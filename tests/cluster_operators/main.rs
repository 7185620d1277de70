//! Pods that the real controllers make of manifests, and what the real webhook makes of those, beside the preview's.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_operators
//! ```
//!
//! The examples stand here as they are, so that what users see is what is checked; variants that no example
//! shows have manifests of their own in this folder. The jobs never run: there are no GPUs and no such images.

use rstest::rstest;
use trainmesh_testing::operators::case::{
    Case, a_node_is_labelled, a_tick_is_due, pods_are_ready, pods_have_succeeded,
};
use trainmesh_testing::operators::compare::check;

const KUBEFLOW: &str = "training-operator";

#[rstest]
#[case::job(Case::new("examples/job.yaml"))]
#[case::job_plain_and_deployment(Case::new("examples/list.yaml"))]
#[case::cronjob(Case {
    edits: &[("schedule: \"30 2 * * *\"", "schedule: \"* * * * *\"")],
    help: a_tick_is_due,
    ..Case::new("examples/cronjob.yaml")
})]
#[case::deployment(Case::new("examples/deployment.yaml"))]
#[case::statefulset(Case::new("examples/statefulset.yaml"))]
#[case::daemonset(Case { help: a_node_is_labelled, ..Case::new("examples/daemonset.yaml") })]
#[case::replicaset(Case::new("examples/replicaset.yaml"))]
#[case::replicationcontroller(Case::new("examples/replicationcontroller.yaml"))]
#[case::pytorchjob(Case::with_operator("examples/pytorchjob.yaml", KUBEFLOW))]
#[case::pytorchjob_elastic(Case::with_operator("examples/pytorchjob-elastic.yaml", KUBEFLOW))]
#[case::tfjob(Case::with_operator("examples/tfjob.yaml", KUBEFLOW))]
#[case::mpijob(Case::with_operator("examples/mpijob-v1.yaml", KUBEFLOW))]
#[case::xgboostjob(Case::with_operator("examples/xgboostjob.yaml", KUBEFLOW))]
#[case::paddlejob(Case::with_operator("examples/paddlejob.yaml", KUBEFLOW))]
#[case::jaxjob(Case::with_operator("examples/jaxjob.yaml", KUBEFLOW))]
#[case::jobset(Case { help: pods_are_ready, ..Case::with_operator("examples/jobset.yaml", "jobset") })]
#[case::trainjob(Case {
    crd: Some("tests/cluster_operators/podgroups.yaml"),
    // A ClusterTrainingRuntime lives in no namespace: an earlier run has left its own.
    edits: &[("torch-finetune", "@")],
    help: pods_have_succeeded,
    ..Case::with_operator("examples/trainjob.yaml", "trainer")
})]
#[case::builtin_variants(Case { help: a_tick_is_due, ..Case::new("tests/cluster_operators/builtin.yaml") })]
#[case::pytorchjob_variants(Case::with_operator("tests/cluster_operators/pytorchjob.yaml", KUBEFLOW))]
#[case::kubeflow_variants(Case::with_operator("tests/cluster_operators/kubeflow.yaml", KUBEFLOW))]
#[case::jobset_variants(Case::with_operator("tests/cluster_operators/jobset.yaml", "jobset"))]
#[case::trainjob_variants(Case::with_operator("tests/cluster_operators/trainjob.yaml", "trainer"))]
fn the_preview_shows_what_the_controller_creates_and_the_webhook_makes_of_it(#[case] case: Case) {
    check(&case);
}
