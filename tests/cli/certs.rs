//! `trainmesh certs generate`, and the flags that select the source of certificates.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io, thread};

use k8s_openapi::ByteString;
use rstest::rstest;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};
use trainmesh_testing::cli::{Run, trainmesh, trainmesh_with};
use trainmesh_testing::tls;

fn generate(out: &Path, more: &[&str]) -> Run {
    trainmesh(&[&["certs", "generate", "--out", out.to_str().unwrap()], more].concat(), "")
}

#[test]
fn generates_a_matching_pair_with_a_private_key_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/folder");
    let run = generate(&out, &["--service", "hook", "--namespace", "team-a"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    let read = |name: &str| fs::read(out.join(name)).unwrap();
    let certificate = CertificateDer::from_pem_slice(&read("tls.crt")).unwrap();
    assert_eq!(handshake(&out, "hook.team-a.svc").unwrap(), certificate);
    assert!(handshake(&out, "hook.team-b.svc").is_err());
    let mode = |name: &str| fs::metadata(out.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode("ca.crt"), mode("tls.crt"), mode("tls.key")], [0o644, 0o644, 0o600]);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 3, "no other file may be left behind");

    let bundle = run.stdout.strip_prefix("caBundle: ").unwrap().trim();
    let bundle: ByteString = serde_json::from_value(bundle.into()).unwrap();
    assert_eq!(bundle.0, read("ca.crt"));
    assert!(run.stderr.contains("hook.team-a.svc") && !run.stderr.contains("PRIVATE"), "{}", run.stderr);
    // The Secret of the mode self belongs to the chart.
    for expected in
        ["create secret generic trainmesh-webhook-static", "certificates.provided.secretName=trainmesh-webhook-static"]
    {
        assert!(run.stderr.contains(expected), "{expected} is missing: {}", run.stderr);
    }
    assert!(!run.stderr.contains("trainmesh-webhook-tls"), "{}", run.stderr);
}

/// Returns the certificate that a server with the pair in `folder` presents to a client that trusts `ca.crt` and calls
/// `host`.
fn handshake(folder: &Path, host: &str) -> io::Result<CertificateDer<'static>> {
    let chain = CertificateDer::pem_file_iter(folder.join("tls.crt")).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(folder.join("tls.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut socket, _) = listener.accept().unwrap();
            let mut connection = ServerConnection::new(Arc::new(config)).unwrap();
            // A client that does not trust the certificate closes the connection.
            while connection.is_handshaking() && connection.complete_io(&mut socket).is_ok() {}
        });
        tls::served_certificate(address, &fs::read_to_string(folder.join("ca.crt")).unwrap(), host)
    })
}

#[test]
fn existing_files_are_replaced_only_with_force() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("tls.key");
    fs::write(&key, "mine").unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let run = generate(folder.path(), &[]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("tls.key already exists; use --force to overwrite it"), "{}", run.stderr);
    assert_eq!((fs::read_to_string(&key).unwrap().as_str(), folder.path().join("ca.crt").exists()), ("mine", false));
    assert_eq!(generate(folder.path(), &["--force"]).code, Some(0));
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_file_is_no_directory_for_the_pair() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let run = generate(file.path(), &["--force"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("is a file: --out needs a directory"), "{}", run.stderr);
}

/// The command is one line, so that it can be copied.
#[test]
fn the_steps_fit_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let run = trainmesh_with(&["certs", "generate", "--out", out], "", &[("COLUMNS", "80")]);
    let wide: Vec<&str> = run.stderr.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(matches!(wide[..], [command] if command.starts_with("  1. kubectl")), "{run:#?}");
    assert!(run.stderr.contains("\n  2. set these values") && run.stderr.contains("\n     "), "{run:#?}");
}

#[rstest]
#[case::generate_order(&["certs", "generate", "--out", "nowhere", "--ca-lifetime", "24h"], "is shorter than certificate lifetime")]
#[case::generate_zero(&["certs", "generate", "--out", "nowhere", "--lifetime", "0s"], "lifetime 0s is out of range")]
#[case::generate_days(&["certs", "generate", "--out", "nowhere", "--lifetime", "366d"], "--ca-lifetime and --lifetime: CA lifetime 8760h is shorter than certificate lifetime 8784h")]
#[case::generate_no_duration(&["certs", "generate", "--out", "nowhere", "--lifetime", "90"], "expected a duration such as 264d, 36h or 1m30s")]
#[case::generate_hours(&["certs", "generate", "--out", "nowhere", "--lifetime", "9000h"], "CA lifetime 8760h is shorter than certificate lifetime 9000h")]
#[case::generate_namespace(&["certs", "generate", "--out", "nowhere", "-n", "Bad_NS"], "expected a name of at most 63 lowercase letters")]
#[case::generate_service(&["certs", "generate", "--out", "nowhere", "--service", "a b"], "expected a name of at most 63 lowercase letters")]
#[case::generate_range(&["certs", "generate", "--out", "nowhere", "--lifetime", "1s"], "out of range: use a value between 12s and")]
#[case::certificate_without_key(&["webhook", "--tls-cert", "tls.crt"], "--tls-key <FILE>")]
#[case::key_without_certificate(&["webhook", "--tls-key", "tls.key"], "--tls-cert <FILE>")]
#[case::controller_order(&["controller", "--ca-lifetime", "24h"], "is shorter than certificate lifetime")]
#[case::controller_days(&["controller", "--ca-lifetime", "30d"], "CA lifetime 720h is shorter than certificate lifetime 2160h")]
#[case::controller_mode(&["controller", "--certificates", "perhaps"], "possible values: self, none")]
fn invalid_flags_are_rejected(#[case] arguments: &[&str], #[case] expected: &str) {
    let run = trainmesh(arguments, "");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains(expected), "{}", run.stderr);
    assert!(!Path::new("nowhere").exists());
}
