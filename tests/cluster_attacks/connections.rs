//! Attacks that exhaust connections.

use std::thread;
use std::time::Instant;

use crate::fixture::Fixture;
use crate::flood;
use crate::network::Dialer;
use crate::replica::Replica;

/// Holds more idle connections to every port than a server keeps.
pub fn idle(replicas: &[Replica], until: Instant) {
    thread::scope(|scope| {
        for replica in replicas {
            scope.spawn(|| flood::idle(replica.admin(), until));
            if replica.component == "webhook" {
                scope.spawn(|| flood::idle(replica.tls(), until));
            }
        }
    });
}

/// Requests metrics of every replica over more connections than it keeps, and reads no response.
pub fn unread_metrics(replicas: &[Replica], until: Instant) {
    thread::scope(|scope| {
        for replica in replicas {
            scope.spawn(|| flood::unread_metrics(replica.admin(), until));
        }
    });
}

/// Holds more idle connections than a webhook keeps, with their handshake done.
pub fn idle_tls(dialer: &Dialer, webhooks: &[Replica], until: Instant) {
    thread::scope(|scope| {
        for replica in webhooks {
            scope.spawn(|| flood::idle_tls(dialer, replica.tls(), until));
        }
    });
}

#[test]
fn idle_connections_are_evicted() {
    let fixture = Fixture::new();
    let replicas = fixture.replicas();
    fixture.attack("idle connections", |until| idle(&replicas, until)).check();
}

#[test]
fn idle_connections_with_a_handshake_are_evicted() {
    let fixture = Fixture::new();
    let (dialer, webhooks) = (fixture.dialer(), fixture.webhooks());
    fixture.attack("idle TLS connections", |until| idle_tls(&dialer, &webhooks, until)).check();
}

#[test]
fn unread_metrics_are_evicted() {
    let fixture = Fixture::new();
    let replicas = fixture.replicas();
    fixture.attack("unread metrics", |until| unread_metrics(&replicas, until)).check();
}
