//! Client certificates: which clients are accepted, and reloading of the CA.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rstest::rstest;
use rustls::SupportedProtocolVersion;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::version::{TLS12, TLS13};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use trainmesh::webhook::{ClientCaFile, ClientVerifier};

use crate::client::{self, post};
use crate::test_server::{TestServer, review};
use crate::wait_until;

/// A CA that signs client certificates.
pub(crate) struct ClientCa {
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A client certificate and its key.
pub(crate) type Identity = (CertificateDer<'static>, PrivateKeyDer<'static>);

impl ClientCa {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    pub(crate) fn identity(&self, usage: ExtendedKeyUsagePurpose) -> Identity {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "apiserver");
        params.extended_key_usages = vec![usage];
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.der().clone(), PrivatePkcs8KeyDer::from(key.serialize_der()).into())
    }

    pub(crate) fn client(&self) -> Identity {
        self.identity(ExtendedKeyUsagePurpose::ClientAuth)
    }
}

/// Returns true if a client with `identity` gets a successful reply.
async fn is_accepted(
    server: &TestServer,
    version: &'static SupportedProtocolVersion,
    identity: Option<Identity>,
) -> bool {
    let stream = TcpStream::connect(server.address).await.unwrap();
    let Ok(mut stream) = client::secure(stream, &server.root, &[version], identity).await else { return false };
    // With TLS 1.3, a client learns of its rejection only when it reads.
    if client::send(&mut stream, "/mutate", &review("team-a")).await.is_err() {
        return false;
    }
    client::reply(&mut stream).await.is_ok_and(|reply| reply.status == 200)
}

#[rstest]
#[case::tls_1_2(&TLS12)]
#[case::tls_1_3(&TLS13)]
#[tokio::test]
async fn only_clients_of_the_ca_are_accepted(#[case] version: &'static SupportedProtocolVersion) {
    let (ca, other) = (ClientCa::new("clients"), ClientCa::new("clients"));
    let server = TestServer::verifying(ClientVerifier::parse(ca.pem.as_bytes()).unwrap()).await;
    assert!(is_accepted(&server, version, Some(ca.client())).await);
    assert!(!is_accepted(&server, version, None).await);
    assert!(!is_accepted(&server, version, Some(other.client())).await);
    assert!(!is_accepted(&server, version, Some(ca.identity(ExtendedKeyUsagePurpose::ServerAuth))).await);
    wait_until("the rejected clients are counted", || async {
        server.has_metric("trainmesh_tls_handshake_failures_total{reason=\"client_certificate\"} 3")
    })
    .await;
    assert_eq!(server.readiness().await.0, 200, "probes need no client certificate");
}

#[tokio::test]
async fn the_file_is_reloaded_when_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.crt");
    let (old, new) = (ClientCa::new("old"), ClientCa::new("new"));
    fs::write(&path, &old.pem).unwrap();
    let file = ClientCaFile::load(path.clone()).await.unwrap();
    let verifier = file.verifier();
    let server = TestServer::with_clients(Some(Arc::clone(&verifier))).await;
    let stream = TcpStream::connect(server.address).await.unwrap();
    let mut open = client::secure(stream, &server.root, &[&TLS13], Some(old.client())).await.unwrap();
    assert_eq!(post(&mut open, "/mutate", &review("team-a")).await.status, 200);
    tokio::spawn(file.run(Duration::from_millis(1), CancellationToken::new()));

    fs::write(&path, format!("{}{}", old.pem, new.pem)).unwrap();
    wait_until("the bundle's new CA is trusted", || is_accepted(&server, &TLS13, Some(new.client()))).await;
    assert!(is_accepted(&server, &TLS13, Some(old.client())).await, "the bundle's old CA must be trusted");
    fs::write(&path, &new.pem).unwrap();
    wait_until("the old CA is not trusted", || async { !is_accepted(&server, &TLS13, Some(old.client())).await }).await;
    fs::write(&path, "invalid").unwrap();
    assert!(is_accepted(&server, &TLS13, Some(new.client())).await);
    assert_eq!(post(&mut open, "/mutate", &review("team-a")).await.status, 200, "open connections must survive");
}

#[rstest]
#[case::empty("", "contains no certificate")]
#[case::not_pem("-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n", "not valid PEM")]
#[case::not_a_certificate(
    "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    "certificate 1 is malformed"
)]
#[tokio::test]
async fn errors_name_the_file(#[case] text: &str, #[case] expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.crt");
    let missing = error(ClientCaFile::load(path.clone()).await);
    assert!(missing.starts_with("--client-ca: could not read ") && missing.contains("ca.crt"), "{missing}");
    fs::write(&path, text).unwrap();
    let error = error(ClientCaFile::load(path).await);
    assert!(error.starts_with("--client-ca ") && error.contains("ca.crt: ") && error.contains(expected), "{error}");
}

fn error(loaded: Result<ClientCaFile, impl std::error::Error>) -> String {
    trainmesh_core::error::chain(&loaded.err().unwrap())
}
