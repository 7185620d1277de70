//! Certificate modes other than `self`, and switching between modes.

use std::process::Command;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use trainmesh::certs::issue;
use trainmesh::certs::read::CertificateAuthority;
use trainmesh_core::certs::Validity;
use trainmesh_core::objects::{SERVICE, SERVING_SECRET, WEBHOOK_CONFIGURATION, service_host};

use crate::certificates::presented_certificates;
use crate::continuity::no_pod_is_missed;
use trainmesh_testing::cluster::{Cluster, TIMEOUT, eventually};
use trainmesh_testing::pods::OPTED_IN;
use trainmesh_testing::release::Release;
use trainmesh_testing::release::doctor::{run_doctor, wait_until_healthy};

/// Secret that `certs/static-pair.sh` creates.
const STATIC_SECRET: &str = "trainmesh-webhook-static";
/// Secret that cert-manager writes.
pub const CERT_MANAGER_SECRET: &str = "trainmesh-webhook-cert-manager";
/// Secret with a certificate of a foreign CA.
const FOREIGN_SECRET: &str = "corporate-tls";
/// With these lifetimes, a new CA starts to sign after half a minute.
const SHORT_LIFETIMES: &str = "certificates.caLifetime=6m,certificates.lifetime=6m";
/// Longest time until a kubelet updates the volumes of a pod, which it does about once a minute.
pub const KUBELET_SYNC_TIMEOUT: Duration = Duration::from_mins(3);

/// Returns a key of a Secret, or `None` without the Secret.
pub fn secret(release: &Release, name: &str, key: &str) -> Option<String> {
    let secret = release.namespace.get("secret", name)?;
    let bytes: ByteString = serde_json::from_value(secret["data"][key].clone()).unwrap();
    Some(String::from_utf8(bytes.0).unwrap())
}

fn bytes(text: &str) -> Value {
    json!(ByteString(text.as_bytes().to_vec()))
}

pub fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

/// Waits until every replica presents the certificate of a Secret; a renewed one takes a moment.
pub fn wait_presented(release: &Release, name: &str) {
    eventually(TIMEOUT, "every replica presents the certificate", || {
        let [bundle, serving] = ["ca.crt", "tls.crt"].map(|key| secret(release, name, key).unwrap());
        let presented = presented_certificates(release, &bundle);
        if presented == [Ok(der(&serving)), Ok(der(&serving))] { Ok(()) } else { Err(format!("{presented:?}")) }
    });
}

fn create_static_pair(release: &Release) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/certs/static-pair.sh");
    let output = Command::new(script)
        .args(["--namespace", &release.namespace.name])
        .env("TRAINMESH", env!("CARGO_BIN_EXE_trainmesh"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Switches to a static pair as described in `certs/README.md`, runs `between`, and switches back; no pod is missed.
fn switch_to_static_pair_and_back(arguments: &str, between: impl FnOnce(&Release)) {
    let release = Release::start(&[SHORT_LIFETIMES]);
    no_pod_is_missed(arguments, || {
        create_static_pair(&release);
        release.upgrade(&["certificates.mode=provided", &format!("certificates.provided.secretName={STATIC_SECRET}")]);
        release.wait_until_rolled_out();
        wait_presented(&release, STATIC_SECRET);
        assert_eq!(release.namespace.get("secret", SERVING_SECRET), None, "the controller's Secret must be removed");

        between(&release);

        release.upgrade(&[SHORT_LIFETIMES]);
        release.wait_until_rolled_out();
        wait_presented(&release, SERVING_SECRET);
    });
}

#[test]
fn a_switch_to_a_static_pair_and_back_misses_no_pod() {
    switch_to_static_pair_and_back("a static pair, and back", |_| {});
}

/// The kubelet updates the replicas' volume with the new certificate.
#[test]
#[ignore = "takes some minutes; run by `make soak`"]
fn a_renewal_of_a_static_pair_misses_no_pod() {
    switch_to_static_pair_and_back("a static pair, renewed, and back", |release| {
        create_static_pair(release);
        eventually(KUBELET_SYNC_TIMEOUT, "the replicas present the new certificate", || {
            let bundle = secret(release, STATIC_SECRET, "ca.crt").unwrap();
            let presented = presented_certificates(release, &bundle);
            if presented.iter().all(Result::is_ok) { Ok(()) } else { Err(format!("{presented:?}")) }
        });
        wait_presented(release, STATIC_SECRET);
    });
}

/// The leader removes foreign CAs from `caBundle`. A static pair, whose CA it recognizes, is used in between, on the
/// way there and back.
#[test]
#[ignore = "takes some minutes; run by `make soak`"]
fn a_switch_to_a_foreign_ca_and_back_misses_no_pod() {
    let release = Release::start(&[SHORT_LIFETIMES]);
    let provided = |secret: &str| format!("certificates.mode=provided,certificates.provided.secretName={secret}");
    no_pod_is_missed("a certificate of a foreign CA, and back", || {
        create_static_pair(&release);
        release.upgrade(&[&provided(STATIC_SECRET)]);
        release.wait_until_rolled_out();
        let current = secret(&release, STATIC_SECRET, "ca.crt").unwrap();
        let (bundle, pair) = foreign_pair(&release);
        set_ca_bundle(&bytes(&(bundle + &current)));
        let _ = release.namespace.create(&pair).success();
        release.upgrade(&[&provided(FOREIGN_SECRET)]);
        release.wait_until_rolled_out();
        wait_presented(&release, FOREIGN_SECRET);

        create_static_pair(&release);
        release.upgrade(&[&provided(STATIC_SECRET)]);
        release.wait_until_rolled_out();
        release.upgrade(&[SHORT_LIFETIMES]);
        release.wait_until_rolled_out();
        wait_presented(&release, SERVING_SECRET);
    });
}

/// Returns the PEM of a CA without trainmesh's name, and a Secret with a certificate that it signed.
fn foreign_pair(release: &Release) -> (String, Value) {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "a foreign CA");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let ca = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let serving =
        CertificateParams::new([service_host(SERVICE, &release.namespace.name)]).unwrap().signed_by(&key, &issuer);
    let data = json!({"ca.crt": bytes(&ca), "tls.crt": bytes(&serving.unwrap().pem()),
        "tls.key": bytes(&key.serialize_pem())});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": FOREIGN_SECRET},
        "data": data});
    (ca, secret)
}

/// Writes like cert-manager and its CA injector: a new certificate of `ca`, and `caBundle`.
fn renew(release: &Release, ca: &CertificateAuthority) {
    let dates = Validity::from_lifetime(Timestamp::now(), Duration::from_hours(24));
    let serving = issue::serving_certificate(ca, &service_host(SERVICE, &release.namespace.name), dates).unwrap();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {"name": CERT_MANAGER_SECRET, "annotations": {"cert-manager.io/certificate-name": SERVICE}},
        "data": {"ca.crt": bytes(&ca.pem), "tls.crt": bytes(&serving.certificate), "tls.key": bytes(serving.key.pem())}});
    let _ = release.namespace.kubectl(&["apply", "--server-side", "-f", "-"], &secret).success();
    set_ca_bundle(&bytes(&ca.pem));
}

fn set_ca_bundle(bundle: &Value) {
    let field =
        |index: u8| json!({"op": "add", "path": format!("/webhooks/{index}/clientConfig/caBundle"), "value": bundle});
    let patch = Value::from((0..3).map(field).collect::<Vec<_>>()).to_string();
    let arguments = ["patch", "mutatingwebhookconfiguration", WEBHOOK_CONFIGURATION, "--type=json", "-p", &patch];
    let _ = Cluster::get().kubectl(&arguments, "").success();
}

#[test]
fn certificates_renewed_by_cert_manager_are_served_without_a_restart() {
    // `tests/chart/run` checks the objects against the real definitions; these accept any field.
    let definitions = include_str!("cert-manager.yaml");
    let _ = Cluster::get().apply(definitions).success();
    let established = ["wait", "--for=condition=Established", "--timeout=240s", "-f", "-"];
    let _ = Cluster::get().kubectl(&established, definitions).success();
    let release = Release::start_without_waiting(&["certificates.mode=certManager"]);
    let ca = issue::ca(Validity::from_lifetime(Timestamp::now(), Duration::from_hours(24))).unwrap();
    renew(&release, &ca);
    release.wait_until_ready();
    wait_presented(&release, CERT_MANAGER_SECRET);

    let uids = || release.pods("webhook").into_iter().map(|mut pod| pod["metadata"]["uid"].take()).collect::<Vec<_>>();
    let before = uids();
    no_pod_is_missed("a certificate renewed by cert-manager", || {
        renew(&release, &ca);
        let renewed = der(&secret(&release, CERT_MANAGER_SECRET, "tls.crt").unwrap());
        eventually(KUBELET_SYNC_TIMEOUT, "the replicas present the new certificate", || {
            let presented = presented_certificates(&release, &ca.pem);
            let new = presented.iter().filter(|presented| presented.as_ref() == Ok(&renewed)).count();
            if new == 2 { Ok(()) } else { Err(format!("{new} of {}", presented.len())) }
        });
    });
    assert_eq!(uids(), before);
    let restarts = |pod: &Value| pod["status"]["containerStatuses"][0]["restartCount"].clone();
    assert!(release.pods("webhook").iter().all(|pod| restarts(pod) == 0));
    let opted_in = Cluster::get().namespace(&OPTED_IN);
    wait_until_healthy(&release);
    drop(opted_in);

    // In this mode trainmesh does not repair `caBundle`.
    let other = issue::ca(Validity::from_lifetime(Timestamp::now(), Duration::from_hours(24))).unwrap();
    for (bundle, expected) in [(Value::from(""), "BundleMissing"), (bytes(&other.pem), "BundleForeign")] {
        set_ca_bundle(&bundle);
        let report = run_doctor(&release);
        assert!(
            report.exit_code == Some(2) && report.findings.contains(&(expected.into(), "failure".into())),
            "{report:?}"
        );
    }
}
