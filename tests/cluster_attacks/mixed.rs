//! Several attacks at once.

use std::thread;

use crate::fixture::Fixture;
use crate::neighbor::Neighbor;
use crate::{connections, objects, reviews};
use trainmesh_testing::load::wait_for_new_pods;

/// Number of rounds without an attack, whose latencies serve as a baseline.
const BASELINE_ROUNDS: usize = 10;

#[test]
fn concurrent_attacks_do_not_affect_the_neighbor() {
    let fixture = Fixture::new();
    let (dialer, webhooks, replicas) = (fixture.dialer(), fixture.webhooks(), fixture.replicas());
    let tenant = &fixture.tenant;
    let baseline = Neighbor::new();
    fixture
        .attack_with_neighbor(&baseline, "no attack", |_| {
            (0..BASELINE_ROUNDS).for_each(|_| wait_for_new_pods(&baseline.namespace));
        })
        .check();
    let report = fixture.attack("all attacks at once", |until| {
        thread::scope(|scope| {
            scope.spawn(|| reviews::large_bodies(&dialer, &webhooks, until));
            scope.spawn(|| reviews::bad_namespaces(&dialer, &webhooks, until));
            scope.spawn(|| connections::idle(&replicas, until));
            scope.spawn(|| connections::unread_metrics(&replicas, until));
            scope.spawn(|| objects::long_annotations(tenant));
            scope.spawn(|| objects::many_names(tenant, until));
        });
    });
    report.check();
}
