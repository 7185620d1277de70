//! Reloading of certificates and configuration.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustls::version::TLS13;
use tokio_util::sync::CancellationToken;
use trainmesh::reload;
use trainmesh::telemetry::Metrics;
use trainmesh::webhook::{CertificateFiles, Drain};
use trainmesh_core::config::ConfigUpdate;

use crate::client::{self, post};
use crate::test_server::{CertificatePair, TestServer, review};
use crate::wait_until;

const POLL_INTERVAL: Duration = Duration::from_millis(5);
const IMMEDIATE: Drain = Drain { wait: Duration::ZERO, grace: Duration::ZERO };

#[tokio::test]
async fn the_certificate_is_reloaded_when_its_files_change() {
    let folder = tempfile::tempdir().unwrap();
    let (chain, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    let (first, second) = (CertificatePair::valid_for_days(1), CertificatePair::valid_for_days(2));
    fs::write(&chain, &first.chain).unwrap();
    fs::write(&key, &first.key).unwrap();
    let metrics = Arc::new(Metrics::default());
    let files = CertificateFiles::load(chain.clone(), key.clone(), Arc::clone(&metrics)).await.unwrap();
    let server = TestServer::start(&first, files.resolver(), IMMEDIATE).await;
    server.settings.apply(&ConfigUpdate::Absent, "test").unwrap();
    let stop = CancellationToken::new();
    let following = tokio::spawn(files.run(POLL_INTERVAL, stop.clone()));
    let mut old = server.connect().await;

    // Only half of the pair is new: the server keeps the old pair.
    fs::write(&chain, &second.chain).unwrap();
    assert_eq!(post(&mut server.connect().await, "/mutate", &review("team-a")).await.status, 200);
    fs::write(&key, &second.key).unwrap();
    wait_until("the second certificate is served", || async {
        client::connect(server.address, &second.der, &[&TLS13]).await.is_ok()
    })
    .await;
    assert!(client::connect(server.address, &first.der, &[&TLS13]).await.is_err());
    assert_eq!(post(&mut old, "/mutate", &review("team-a")).await.status, 200, "open connections must survive");
    let expiry = format!(
        "trainmesh_certificate_expiry_timestamp_seconds{{cert=\"leaf\"}} {}\n",
        second.certificate().not_after()
    );
    assert!(metrics.encode().contains(&expiry), "{}", metrics.encode());
    stop.cancel();
    following.await.unwrap();
}

#[tokio::test]
async fn readiness_lists_unmet_conditions() {
    let expired = CertificatePair::valid_for_days(-1);
    let certificate = Arc::new(trainmesh::webhook::CertificateResolver::new(expired.certificate()));
    let server = TestServer::start(&expired, certificate, Drain { wait: crate::TIMEOUT, ..IMMEDIATE }).await;
    let check = async |missing: &str| {
        let expected = match missing {
            "" => (200, "ok\n".to_owned()),
            missing => (503, format!("not ready: {missing}\n")),
        };
        assert_eq!(server.readiness().await, expected);
    };
    check("namespaces not synced, no valid certificate, no valid configuration").await;
    server.namespaces_synced.store(true, Ordering::Relaxed);
    check("no valid certificate, no valid configuration").await;
    server.settings.apply(&ConfigUpdate::Text("kind: [".to_owned()), "test").unwrap_err();
    check("no valid certificate, no valid configuration").await;
    server.settings.apply(&ConfigUpdate::Absent, "test").unwrap();
    check("no valid certificate").await;
    server.served.replace(CertificatePair::valid_for_days(1).certificate());
    check("").await;
    server.shutdown.cancel();
    check("shutting down").await;
    server.task.abort();
}

#[tokio::test]
async fn the_configuration_is_reloaded_when_its_file_changes() {
    let head = "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n";
    let server = TestServer::ready().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.yaml");
    fs::write(&path, format!("{head}mesh: {{hold: false}}\n")).unwrap();
    let stop = CancellationToken::new();
    let following = tokio::spawn({
        let (settings, path, stop) = (Arc::clone(&server.settings), path.clone(), stop.clone());
        async move { settings.follow(reload::file(path, POLL_INTERVAL), "config.yaml", stop).await }
    });
    let patched = async || {
        let reply = post(&mut server.connect().await, "/mutate", &review("team-a")).await;
        assert_eq!(reply.status, 200);
        reply.body.contains("JSONPatch")
    };
    wait_until("the hold is disabled", || async { !patched().await }).await;
    fs::write(&path, format!("{head}mesh: [")).unwrap();
    wait_until("an invalid configuration is rejected", || async {
        server.has_metric("trainmesh_config_reloads_total{result=\"refused\"} 1")
    })
    .await;
    assert!(!patched().await, "the previous configuration must stay active");
    fs::write(&path, head).unwrap();
    wait_until("the hold is enabled", patched).await;
    stop.cancel();
    following.await.unwrap();
}
