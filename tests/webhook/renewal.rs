//! Certificates and configurations that change while the server runs.

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
use crate::until;
use crate::world::{Pair, World, review};

const QUICKLY: Duration = Duration::from_millis(5);
const AT_ONCE: Drain = Drain { wait: Duration::ZERO, grace: Duration::ZERO };

#[tokio::test]
async fn another_certificate_is_served_when_the_bytes_of_its_files_change() {
    let folder = tempfile::tempdir().unwrap();
    let (chain, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    let (first, second) = (Pair::lasting(1), Pair::lasting(2));
    fs::write(&chain, &first.chain).unwrap();
    fs::write(&key, &first.key).unwrap();
    let metrics = Arc::new(Metrics::default());
    let files = CertificateFiles::load(chain.clone(), key.clone(), Arc::clone(&metrics)).await.unwrap();
    let world = World::start(&first, files.served(), AT_ONCE).await;
    world.settings.apply(&ConfigUpdate::Absent, "test").unwrap();
    let stop = CancellationToken::new();
    let following = tokio::spawn(files.follow(QUICKLY, stop.clone()));
    let mut old = world.connect().await;

    // Half of a pair: the old one serves on.
    fs::write(&chain, &second.chain).unwrap();
    assert_eq!(post(&mut world.connect().await, "/mutate", &review("team-a")).await.status, 200);
    fs::write(&key, &second.key).unwrap();
    until("the second certificate is served", || async {
        client::connect(world.address, &second.der, &[&TLS13]).await.is_ok()
    })
    .await;
    assert!(client::connect(world.address, &first.der, &[&TLS13]).await.is_err());
    assert_eq!(post(&mut old, "/mutate", &review("team-a")).await.status, 200, "an open connection lives on");
    let expiry =
        format!("trainmesh_certificate_expiry_timestamp_seconds{{cert=\"leaf\"}} {}\n", second.certificate().expires());
    assert!(metrics.encode().contains(&expiry), "{}", metrics.encode());
    stop.cancel();
    following.await.unwrap();
}

#[tokio::test]
async fn readiness_tells_what_is_missing() {
    let expired = Pair::lasting(-1);
    let served = Arc::new(trainmesh::webhook::Served::new(expired.certificate()));
    let world = World::start(&expired, served, Drain { wait: crate::PATIENCE, ..AT_ONCE }).await;
    let check = async |missing: &str| {
        let expected = match missing {
            "" => (200, "ok\n".to_owned()),
            missing => (503, format!("not ready: {missing}\n")),
        };
        assert_eq!(world.readiness().await, expected);
    };
    check("namespaces, certificate, configuration").await;
    world.filled.store(true, Ordering::Relaxed);
    check("certificate, configuration").await;
    world.settings.apply(&ConfigUpdate::Text("kind: [".to_owned()), "test").unwrap_err();
    check("certificate, configuration").await;
    world.settings.apply(&ConfigUpdate::Absent, "test").unwrap();
    check("certificate").await;
    world.served.replace(Pair::lasting(1).certificate());
    check("").await;
    world.shutdown.cancel();
    check("shutting down").await;
    world.ended.abort();
}

#[tokio::test]
async fn another_configuration_is_in_force_when_the_bytes_of_its_file_change() {
    let head = "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n";
    let world = World::ready().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.yaml");
    fs::write(&path, format!("{head}mesh: {{hold: false}}\n")).unwrap();
    let stop = CancellationToken::new();
    let following = tokio::spawn({
        let (settings, path, stop) = (Arc::clone(&world.settings), path.clone(), stop.clone());
        async move { settings.follow(reload::file(path, QUICKLY), "config.yaml", stop).await }
    });
    let patched = async || {
        let reply = post(&mut world.connect().await, "/mutate", &review("team-a")).await;
        assert_eq!(reply.status, 200);
        reply.body.contains("JSONPatch")
    };
    until("the hold is off", || async { !patched().await }).await;
    fs::write(&path, format!("{head}mesh: [")).unwrap();
    until("a bad text is refused", || async { world.counts("trainmesh_config_reloads_total{result=\"refused\"} 1") })
        .await;
    assert!(!patched().await, "the running one is kept");
    fs::write(&path, head).unwrap();
    until("the hold is on", patched).await;
    stop.cancel();
    following.await.unwrap();
}
