//! Several attacks at once.

use std::thread;

use crate::fixture::Fixture;
use crate::neighbor::Neighbor;
use crate::{connections, objects, reviews};
use trainmesh_testing::load::goes_on;

/// How often the neighbor creates some pods before the attack: latencies to compare with.
const QUIET: usize = 10;

#[test]
fn attacks_at_once_are_not_noticed() {
    let fixture = Fixture::new();
    let (dialer, webhooks, replicas) = (fixture.dialer(), fixture.webhooks(), fixture.replicas());
    let tenant = &fixture.tenant;
    let quiet = Neighbor::new();
    fixture.attack_beside(&quiet, "no attack", |_| (0..QUIET).for_each(|_| goes_on(&quiet.namespace))).check();
    let report = fixture.attack("all at once", |until| {
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
