//! Training in a mesh with real parts: torch and Gloo, Envoy with mTLS, the rules of Istio's interception, and
//! kube-proxy. The annotations of each pod decide what is captured.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_mesh
//! ```

#![allow(
    clippy::expect_used,
    clippy::panic,
    unreachable_pub,
    reason = "tests fail by panicking; the modules belong to no library"
)]

mod fixture;
mod rank;
mod throughput;

use rstest::rstest;

use fixture::{Mesh, Mtls};
use rank::Rank;

/// Port of the dashboard of rank 0, which [`Rank::with_dashboard`] declares.
const DASHBOARD: u16 = 8080;
/// Port on which rank 0 also serves its dashboard, without declaring it.
const UNDECLARED: u16 = 8081;

/// A proxy with STRICT mTLS rejects the plain connections of Gloo and of the store, which belong to no Service.
#[test]
fn ranks_fail_behind_envoy_with_strict_mtls() {
    let mesh = Mesh::new("leave", Mtls::Strict);
    let first = mesh.start(&Rank::first());
    first.allow("start");
    first.wait_for_log("the store listens");
    let second = mesh.start(&Rank::second(&first.address));
    second.wait_for_failure();
    assert!(second.log().contains("reset by peer"), "{}", second.log());
}

/// Envoy accepts a connection before the store listens, so that the client does not retry.
#[test]
fn a_client_of_a_late_store_fails_behind_envoy() {
    let mesh = Mesh::new("leave", Mtls::Permissive);
    let first = mesh.start(&Rank::first());
    let second = mesh.start(&Rank::second(&first.address));
    second.wait_for_failure();
    assert!(second.log().contains("reset by peer"), "{}", second.log());
}

#[test]
fn ranks_connect_directly_and_call_services_through_envoy() {
    let mesh = Mesh::new("direct", Mtls::Strict);
    let tracking = mesh.start_tracking_service();
    let first = mesh.start(&Rank::first().with_dashboard().calling(&tracking));
    let second = mesh.start(&Rank::second(&first.address));
    second.wait_for_log("connecting");
    first.allow("start");
    first.wait_for_log("the sum is 3");
    second.wait_for_log("the sum is 3");
    // The service accepts only mTLS, which the application does not speak.
    first.wait_for_log("the service answered: tracked");
    assert!(mesh.proxy_counter("tracking", "tcp.inbound_mutual.downstream_cx_total") >= 1);
    assert!(mesh.proxy_counter(&first.name, "tcp.outbound_mutual.downstream_cx_total") >= 1);
    assert_eq!(mesh.proxy_counter(&first.name, "tcp.inbound_mutual.downstream_cx_total"), 0);

    // A declared port requires mTLS, and another one is plain.
    assert_eq!(mesh.request_without_proxy(&first.address, DASHBOARD), None);
    assert_eq!(mesh.request_without_proxy(&first.address, UNDECLARED).as_deref(), Some("dashboard"));
    let service = mesh.expose(&first, DASHBOARD);
    assert_eq!(mesh.request_with_proxy(&service).as_deref(), Some("dashboard"));
    assert!(mesh.proxy_counter(&first.name, "tcp.inbound_mutual.downstream_cx_total") >= 1);

    for rank in [&first, &second] {
        rank.allow("finish");
        rank.wait_for_success();
    }
}

/// Clients with a sidecar choose mTLS by the label `security.istio.io/tlsMode` of the pod, not by its capture.
#[rstest]
#[case::direct("direct")]
#[case::capture_disabled("disableCapture")]
fn clients_with_a_proxy_reach_ports_that_are_not_captured(#[case] mode: &str) {
    let mesh = Mesh::new(mode, Mtls::Strict);
    let first = mesh.start(&Rank::first());
    first.allow("start");
    first.wait_for_log("the dashboard listens");
    let service = mesh.expose(&first, UNDECLARED);
    assert_eq!(mesh.request_with_proxy(&service).as_deref(), Some("dashboard"));
}
