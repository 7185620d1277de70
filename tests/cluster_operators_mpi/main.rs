//! Like `cluster_operators`, for the mpi-operator, which cannot run along with the training-operator.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_operators_mpi
//! ```

use rstest::rstest;
use trainmesh_testing::operators::case::{Case, make_pods_ready};
use trainmesh_testing::operators::compare::check;

#[rstest]
#[case::mpijob(Case { simulate: make_pods_ready, ..Case::with_operator("examples/mpijob-v2beta1.yaml", "mpi-operator") })]
#[case::variants(Case { simulate: make_pods_ready, ..Case::with_operator("tests/cluster_operators_mpi/mpijob.yaml", "mpi-operator") })]
fn the_preview_matches_the_controller_and_the_webhook(#[case] case: Case) {
    check(&case);
}
