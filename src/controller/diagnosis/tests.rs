use serde_json::json;
use trainmesh_core::config::ConfigUpdate;
use trainmesh_core::scope::Installation;
use trainmesh_testing::apiserver::Apiserver;

use super::*;
use crate::cluster::events::EventRecorder;
use crate::cluster::namespaces::NamespaceCache;

/// A large job is deleted, and another one begins to fail.
#[test]
fn resolutions_do_not_delay_findings() {
    let limits = EventLimits::new();
    let resolved = (0..1_000).filter(|_| limits.try_resolve(DiagnosisCode::CrashLoop)).count();
    assert!(resolved < 1_000, "their rate is limited");
    assert!(limits.try_publish(DiagnosisCode::CrashLoop));
}

#[test]
fn findings_without_an_event_take_no_place_of_others() {
    let limits = EventLimits::new();
    assert!((0..1_000).all(|_| limits.try_publish(DiagnosisCode::FabricMixed)));
    assert!((0..1_000).all(|_| limits.try_resolve(DiagnosisCode::FabricMixed)));
    assert!(limits.try_publish(DiagnosisCode::CrashLoop) && limits.try_resolve(DiagnosisCode::CrashLoop));
}

#[test]
fn each_namespace_is_the_first_one_in_turn() {
    let after = |last| in_turn(["a", "b", "c"].into_iter(), last).concat();
    assert_eq!(["", "a", "b", "bb", "c", "z"].map(after), ["abc", "bca", "cab", "cab", "abc", "abc"]);
}

/// Returns a diagnosis with the embedded configuration of the cluster that `server` serves.
fn diagnoser(server: &Apiserver) -> Diagnoser {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::try_from(kube::Config::new(server.url().parse().unwrap())).unwrap();
    let metrics = Arc::new(Metrics::default());
    let settings = Arc::new(Settings::new(Arc::clone(&metrics)));
    settings.apply(&ConfigUpdate::Absent, "test").unwrap();
    let namespaces = Arc::new(NamespaceCache::new(client.clone()));
    let suspects = Arc::new(Suspects::new(namespaces, Installation::default()));
    let publisher = Publisher::new(EventRecorder::new(client.clone(), "test".to_owned()), Arc::clone(&metrics));
    Diagnoser::new(client, settings, suspects, metrics, Arc::new(publisher))
}

/// Returns the value of a series.
fn metric(diagnoser: &Diagnoser, series: &str) -> String {
    let text = diagnoser.metrics.encode();
    let line = text.lines().find_map(|line| line.strip_prefix(series));
    line.unwrap_or_else(|| panic!("{series} is missing: {text}")).trim().to_owned()
}

#[tokio::test]
async fn a_scan_that_fails_is_counted() {
    const FAILED: &str = "trainmesh_namespace_scans_failed_total{scan=\"diagnosis\"}";
    let server = Apiserver::start(vec![
        ("/api/v1/namespaces/team-a/pods", json!({"metadata": {}, "items": []})),
        ("/api/v1/namespaces/team-b/pods", json!({"kind": "Status", "code": 500, "status": "Failure"})),
        ("/api/v1/namespaces/team-c/pods", json!("no list")),
    ]);
    let mut diagnoser = diagnoser(&server);
    assert_eq!(metric(&diagnoser, FAILED), "0");
    for (namespace, expected) in [("team-a", "0"), ("team-b", "1"), ("team-c", "2"), ("team-a", "2")] {
        diagnoser.scan(namespace, SuspectPods::default()).await;
        assert_eq!(metric(&diagnoser, FAILED), expected, "{namespace}");
    }
}

#[tokio::test]
async fn objects_that_cannot_be_read_are_a_metric() {
    let server = Apiserver::start(vec![("/api/v1/namespaces/team-a/pods", json!({"metadata": {}, "items": []}))]);
    let mut diagnoser = diagnoser(&server);
    let unread = |objects: &str| format!("trainmesh_diagnosis_unread_objects{{objects=\"{objects}\"}}");
    assert_eq!(metric(&diagnoser, &unread("nodes")), "0");
    diagnoser.scan("team-a", SuspectPods::default()).await;
    assert_eq!(metric(&diagnoser, &unread("nodes")), "1", "nothing watches the nodes");
    assert_eq!(metric(&diagnoser, &unread("podgroups")), "0", "no pod names one");
    assert_eq!(metric(&diagnoser, "trainmesh_namespace_scans_failed_total{scan=\"diagnosis\"}"), "0");
}
