//! As `cluster_operators`, for the mpi-operator, which cannot run beside the training-operator.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_operators_mpi
//! ```

use rstest::rstest;
use trainmesh_testing::operators::case::{Case, pods_are_ready};
use trainmesh_testing::operators::compare::check;

#[rstest]
#[case::mpijob(Case { help: pods_are_ready, ..Case::with_operator("examples/mpijob-v2beta1.yaml", "mpi-operator") })]
#[case::variants(Case { help: pods_are_ready, ..Case::with_operator("tests/cluster_operators_mpi/mpijob.yaml", "mpi-operator") })]
fn the_preview_shows_what_the_controller_creates_and_the_webhook_makes_of_it(#[case] case: Case) {
    check(&case);
}
