//! Certificates that the real cert-manager issues and renews.

use serde_json::json;

use crate::certificates::presented_certificates;
use crate::continuity::no_pod_is_missed;
use crate::modes::{CERT_MANAGER_SECRET, KUBELET_SYNC_TIMEOUT, der, secret, wait_presented};
use trainmesh_testing::cluster::{Cluster, TIMEOUT, eventually};
use trainmesh_testing::pods::OPTED_IN;
use trainmesh_testing::release::Release;
use trainmesh_testing::release::doctor::wait_until_healthy;

/// Requests a renewal like `cmctl renew`, and waits until cert-manager has issued the certificate.
fn renew(release: &Release, name: &str) {
    let revision = || release.namespace.get("certificate", name).unwrap()["status"]["revision"].as_u64();
    let before = revision();
    let condition =
        json!({"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "renewed by a test"});
    let patch = json!({"status": {"conditions": [condition]}}).to_string();
    let arguments = ["patch", "certificate", name, "--subresource=status", "--type=merge", "-p", &patch];
    let _ = release.namespace.kubectl(&arguments, "").success();
    eventually(TIMEOUT, "cert-manager has renewed the certificate", || {
        let now = revision();
        if now > before { Ok(()) } else { Err(format!("revision {now:?} after {before:?}")) }
    });
}

/// By default before cert-manager 1.19, the CA injector replaces `caBundle` as soon as the Secret has a new CA, up to a
/// minute before the kubelet updates the replicas' volume. The first renewal ends right after a kubelet sync, so the
/// second one waits for the full period.
#[test]
#[ignore = "builds cert-manager: `make soak` runs it"]
fn renewals_by_cert_manager_miss_no_pod() {
    Cluster::get().start_operator("cert-manager");
    let release = Release::start(&["certificates.mode=certManager"]);
    wait_presented(&release, CERT_MANAGER_SECRET);
    no_pod_is_missed("the CA and the serving certificate renewed twice by cert-manager", || {
        for _ in 0..2 {
            let bundle = secret(&release, CERT_MANAGER_SECRET, "ca.crt").unwrap();
            renew(&release, "trainmesh-ca");
            renew(&release, "trainmesh-webhook");
            let [ca, serving] = ["ca.crt", "tls.crt"].map(|key| secret(&release, CERT_MANAGER_SECRET, key).unwrap());
            assert_ne!(ca, bundle, "the CA must be replaced");
            eventually(KUBELET_SYNC_TIMEOUT, "the replicas present the new certificate", || {
                let presented = presented_certificates(&release, &ca);
                let new = presented.iter().filter(|presented| presented.as_ref() == Ok(&der(&serving))).count();
                if new == 2 { Ok(()) } else { Err(format!("{new} of {}", presented.len())) }
            });
        }
    });
    let opted_in = Cluster::get().namespace(&OPTED_IN);
    wait_until_healthy(&release);
    drop(opted_in);
}
