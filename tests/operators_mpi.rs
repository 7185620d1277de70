//! As `operators`, for the mpi-operator, which cannot run beside the training-operator.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test operators_mpi
//! ```

#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "a failed test says so by a panic; the parts are of no library"
)]

#[path = "operators/case.rs"]
mod case;
#[path = "operators/chance.rs"]
mod chance;
#[path = "common/cluster.rs"]
mod cluster;
#[path = "operators/compare.rs"]
mod compare;
#[path = "common/webhook.rs"]
mod webhook;

use case::{Case, pods_are_ready};
use compare::{Created, ORIGINAL, PATCHED};
use rstest::rstest;
use webhook::Webhook;

#[rstest]
#[case::mpijob(Case { help: pods_are_ready, ..Case::with_operator("examples/mpijob-v2beta1.yaml", "mpi-operator") })]
#[case::variants(Case { help: pods_are_ready, ..Case::with_operator("tests/operators/mpijob.yaml", "mpi-operator") })]
fn the_preview_shows_what_the_controller_creates_and_the_webhook_makes_of_it(#[case] case: Case) {
    let webhook = Webhook::start();
    let created = Created::new(&case, &webhook);
    created.check(ORIGINAL);
    created.check(PATCHED);
}
