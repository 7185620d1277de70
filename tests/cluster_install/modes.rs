//! Who makes the certificate: other modes than `self`, and the way from one to another.

use std::process::Command;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use trainmesh::certs::mint;
use trainmesh::certs::read::Authority;
use trainmesh_core::certs::Dates;
use trainmesh_core::objects::{SERVICE, SERVING_SECRET, WEBHOOK_CONFIGURATION, service_host};

use crate::continuity::no_pod_is_missed;
use crate::served::certificates;
use trainmesh_testing::cluster::{Cluster, PATIENCE, eventually};
use trainmesh_testing::release::Release;
use trainmesh_testing::release::doctor::{diagnosis, sound};

/// Where `certs/static-pair.sh` puts what it makes.
const STATIC: &str = "trainmesh-webhook-static";
/// The Secret that cert-manager writes.
pub const MANAGED: &str = "trainmesh-webhook-cert-manager";
/// Where those are whose CA is their own.
const OTHERS: &str = "corporate-tls";
/// A new CA signs after half a minute.
const SHORT: &str = "certificates.caLifetime=6m,certificates.lifetime=6m";
/// A kubelet looks after the volumes of a pod once in a minute or so.
pub const KUBELET: Duration = Duration::from_mins(3);

/// A key of a Secret, if there is that Secret.
pub fn secret(release: &Release, name: &str, key: &str) -> Option<String> {
    let secret = release.home.get("secret", name)?;
    let bytes: ByteString = serde_json::from_value(secret["data"][key].clone()).unwrap();
    Some(String::from_utf8(bytes.0).unwrap())
}

fn bytes(text: &str) -> Value {
    json!(ByteString(text.as_bytes().to_vec()))
}

pub fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

/// Waits until every replica shows the certificate of a Secret: one that has just been renewed takes a moment.
pub fn shows(release: &Release, name: &str) {
    eventually(PATIENCE, "every replica shows the certificate", || {
        let [bundle, leaf] = ["ca.crt", "tls.crt"].map(|key| secret(release, name, key).unwrap());
        let shown = certificates(release, &bundle);
        if shown == [Ok(der(&leaf)), Ok(der(&leaf))] { Ok(()) } else { Err(format!("{shown:?}")) }
    });
}

fn static_pair(release: &Release) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/certs/static-pair.sh");
    let output = Command::new(script)
        .args(["--namespace", &release.home.name])
        .env("TRAINMESH", env!("CARGO_BIN_EXE_trainmesh"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The steps of `docs/operations.md`, and what is done `between` them: no pod is missed.
fn by_hand_and_back(words: &str, between: impl FnOnce(&Release)) {
    let release = Release::started(&[SHORT]);
    no_pod_is_missed(words, || {
        static_pair(&release);
        release.upgrade(&["certificates.mode=provided", &format!("certificates.provided.secretName={STATIC}")]);
        release.settled();
        shows(&release, STATIC);
        assert_eq!(release.home.get("secret", SERVING_SECRET), None, "what the controller has made is gone");

        between(&release);

        release.upgrade(&[SHORT]);
        release.settled();
        shows(&release, SERVING_SECRET);
    });
}

#[test]
fn a_switch_of_the_mode_and_back_misses_no_pod() {
    by_hand_and_back("certificates by hand, and back", |_| {});
}

/// A kubelet brings the new certificate to the replicas.
#[test]
#[ignore = "some minutes: `make soak` runs it"]
fn a_renewal_by_hand_misses_no_pod() {
    by_hand_and_back("certificates by hand, renewed, and back", |release| {
        static_pair(release);
        eventually(KUBELET, "the replicas show the new certificate", || {
            let bundle = secret(release, STATIC, "ca.crt").unwrap();
            let shown = certificates(release, &bundle);
            if shown.iter().all(Result::is_ok) { Ok(()) } else { Err(format!("{shown:?}")) }
        });
        shows(release, STATIC);
    });
}

/// A CA of somebody else is none of ours, and the leader drops it from the `caBundle`: a pair by hand, whose CA it knows
/// for ours, comes between, on the way there and back.
#[test]
#[ignore = "some minutes: `make soak` runs it"]
fn a_switch_to_an_authority_of_others_and_back_misses_no_pod() {
    let release = Release::started(&[SHORT]);
    let by = |secret: &str| format!("certificates.mode=provided,certificates.provided.secretName={secret}");
    no_pod_is_missed("certificates by hand, of others, and back", || {
        static_pair(&release);
        release.upgrade(&[&by(STATIC)]);
        release.settled();
        let present = secret(&release, STATIC, "ca.crt").unwrap();
        let (bundle, pair) = foreign(&release);
        trust(&bytes(&(bundle + &present)));
        let _ = release.home.create(&pair).success();
        release.upgrade(&[&by(OTHERS)]);
        release.settled();
        shows(&release, OTHERS);

        static_pair(&release);
        release.upgrade(&[&by(STATIC)]);
        release.settled();
        release.upgrade(&[SHORT]);
        release.settled();
        shows(&release, SERVING_SECRET);
    });
}

/// The PEM of a CA that is not named as ours are, and a Secret with a certificate that it has signed.
fn foreign(release: &Release) -> (String, Value) {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "a CA of others");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new([service_host(SERVICE, &release.home.name)]).unwrap().signed_by(&key, &issuer);
    let data = json!({"ca.crt": bytes(&authority), "tls.crt": bytes(&leaf.unwrap().pem()),
        "tls.key": bytes(&key.serialize_pem())});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": OTHERS},
        "data": data});
    (authority, secret)
}

/// Writes what cert-manager and its cainjector would write: a new certificate of `authority`, and whom to trust.
fn renew(release: &Release, authority: &Authority) {
    let dates = Dates::starting(Timestamp::now(), Duration::from_hours(24));
    let leaf = mint::leaf(authority, &service_host(SERVICE, &release.home.name), dates).unwrap();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {"name": MANAGED, "annotations": {"cert-manager.io/certificate-name": SERVICE}},
        "data": {"ca.crt": bytes(&authority.pem), "tls.crt": bytes(&leaf.certificate), "tls.key": bytes(leaf.key.pem())}});
    let _ = release.home.kubectl(&["apply", "--server-side", "-f", "-"], &secret).success();
    trust(&bytes(&authority.pem));
}

fn trust(bundle: &Value) {
    let field =
        |index: u8| json!({"op": "add", "path": format!("/webhooks/{index}/clientConfig/caBundle"), "value": bundle});
    let patch = Value::from((0..3).map(field).collect::<Vec<_>>()).to_string();
    let words = ["patch", "mutatingwebhookconfiguration", WEBHOOK_CONFIGURATION, "--type=json", "-p", &patch];
    let _ = Cluster::get().kubectl(&words, "").success();
}

#[test]
fn what_cert_manager_renews_is_served_without_a_restart() {
    // Its own definitions are held against the chart by `tests/chart/run`; here anything is taken.
    let definitions = include_str!("cert-manager.yaml");
    let _ = Cluster::get().apply(definitions).success();
    let established = ["wait", "--for=condition=Established", "--timeout=120s", "-f", "-"];
    let _ = Cluster::get().kubectl(&established, definitions).success();
    let release = Release::starting(&["certificates.mode=certManager"]);
    let authority = mint::authority(Dates::starting(Timestamp::now(), Duration::from_hours(24))).unwrap();
    renew(&release, &authority);
    release.ready();
    shows(&release, MANAGED);

    let uids = || release.pods("webhook").into_iter().map(|mut pod| pod["metadata"]["uid"].take()).collect::<Vec<_>>();
    let before = uids();
    no_pod_is_missed("a certificate renewed from outside", || {
        renew(&release, &authority);
        let renewed = der(&secret(&release, MANAGED, "tls.crt").unwrap());
        eventually(KUBELET, "the replicas show the new certificate", || {
            let shown = certificates(&release, &authority.pem);
            let new = shown.iter().filter(|shown| shown.as_ref() == Ok(&renewed)).count();
            if new == 2 { Ok(()) } else { Err(format!("{new} of {}", shown.len())) }
        });
    });
    assert_eq!(uids(), before);
    let restarts = |pod: &Value| pod["status"]["containerStatuses"][0]["restartCount"].clone();
    assert!(release.pods("webhook").iter().all(|pod| restarts(pod) == 0));
    sound(&diagnosis(&release));

    // In this mode nobody of ours puts it right.
    let other = mint::authority(Dates::starting(Timestamp::now(), Duration::from_hours(24))).unwrap();
    for (bundle, expected) in [(Value::from(""), "BundleMissing"), (bytes(&other.pem), "BundleForeign")] {
        trust(&bundle);
        let found = diagnosis(&release);
        assert!(found.exit == Some(2) && found.found.contains(&(expected.into(), "failure".into())), "{found:?}");
    }
}
