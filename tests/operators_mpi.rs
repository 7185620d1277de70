//! As `operators`, for the mpi-operator, which cannot run beside the training-operator.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test operators_mpi
//! ```

#[path = "operators/parts.rs"]
mod parts;

use parts::case::{Case, pods_are_ready};
use parts::compare::check;
use parts::{case, chance, cluster, webhook};
use rstest::rstest;

#[rstest]
#[case::mpijob(Case { help: pods_are_ready, ..Case::with_operator("examples/mpijob-v2beta1.yaml", "mpi-operator") })]
#[case::variants(Case { help: pods_are_ready, ..Case::with_operator("tests/operators/mpijob.yaml", "mpi-operator") })]
fn the_preview_shows_what_the_controller_creates_and_the_webhook_makes_of_it(#[case] case: Case) {
    check(&case);
}
