//! The certificates that the real cert-manager issues and renews.

use serde_json::json;

use crate::continuity::no_pod_is_missed;
use crate::modes::{KUBELET, MANAGED, der, secret, shows};
use crate::served::certificates;
use trainmesh_testing::cluster::{Cluster, PATIENCE, eventually};
use trainmesh_testing::release::Release;
use trainmesh_testing::release::doctor::{diagnosis, sound};

/// Requests a new certificate, as `cmctl renew` does, and waits until cert-manager has issued it.
fn renew(release: &Release, name: &str) {
    let revision = || release.home.get("certificate", name).unwrap()["status"]["revision"].as_u64();
    let before = revision();
    let condition =
        json!({"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "renewed by a test"});
    let patch = json!({"status": {"conditions": [condition]}}).to_string();
    let arguments = ["patch", "certificate", name, "--subresource=status", "--type=merge", "-p", &patch];
    let _ = release.home.kubectl(&arguments, "").success();
    eventually(PATIENCE, "cert-manager has renewed the certificate", || {
        let now = revision();
        if now > before { Ok(()) } else { Err(format!("revision {now:?} after {before:?}")) }
    });
}

/// The CA injector, as it is by default before cert-manager 1.19, replaces `caBundle` as soon as the Secret has a new CA, up to a minute before the kubelet brings the new
/// certificate to the replicas. After the first time the kubelet has just looked, so that the second one waits that long.
#[test]
#[ignore = "builds cert-manager: `make soak` runs it"]
fn renewals_by_cert_manager_miss_no_pod() {
    Cluster::get().operator("cert-manager");
    let release = Release::started(&["certificates.mode=certManager"]);
    shows(&release, MANAGED);
    no_pod_is_missed("the CA and the serving certificate renewed twice by cert-manager", || {
        for _ in 0..2 {
            let bundle = secret(&release, MANAGED, "ca.crt").unwrap();
            renew(&release, "trainmesh-ca");
            renew(&release, "trainmesh-webhook");
            let [authority, leaf] = ["ca.crt", "tls.crt"].map(|key| secret(&release, MANAGED, key).unwrap());
            assert_ne!(authority, bundle, "the CA is another one");
            eventually(KUBELET, "the replicas show the new certificate", || {
                let shown = certificates(&release, &authority);
                let new = shown.iter().filter(|shown| shown.as_ref() == Ok(&der(&leaf))).count();
                if new == 2 { Ok(()) } else { Err(format!("{new} of {}", shown.len())) }
            });
        }
    });
    sound(&diagnosis(&release));
}
