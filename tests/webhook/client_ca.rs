//! Client certificates: who is served, and from when on.

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
use crate::until;
use crate::world::{World, review};

/// A CA that signs client certificates.
pub(crate) struct ClientCa {
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, as a client presents them.
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

/// Whether a client with `identity` gets an answer.
async fn served(world: &World, version: &'static SupportedProtocolVersion, identity: Option<Identity>) -> bool {
    let stream = TcpStream::connect(world.address).await.unwrap();
    let Ok(mut stream) = client::secure(stream, &world.root, &[version], identity).await else { return false };
    // With TLS 1.3 a client hears of its rejection only when it reads.
    if client::send(&mut stream, "/mutate", &review("team-a")).await.is_err() {
        return false;
    }
    client::reply(&mut stream).await.is_ok_and(|reply| reply.status == 200)
}

#[rstest]
#[case::tls_1_2(&TLS12)]
#[case::tls_1_3(&TLS13)]
#[tokio::test]
async fn only_clients_of_the_ca_are_served(#[case] version: &'static SupportedProtocolVersion) {
    let (ca, other) = (ClientCa::new("clients"), ClientCa::new("clients"));
    let world = World::verifying(ClientVerifier::parse(ca.pem.as_bytes()).unwrap()).await;
    assert!(served(&world, version, Some(ca.client())).await);
    assert!(!served(&world, version, None).await);
    assert!(!served(&world, version, Some(other.client())).await);
    assert!(!served(&world, version, Some(ca.identity(ExtendedKeyUsagePurpose::ServerAuth))).await);
    until("they are counted apart", || async {
        world.counts("trainmesh_tls_handshake_failures_total{reason=\"client_certificate\"} 3")
    })
    .await;
    assert_eq!(world.readiness().await.0, 200, "probes need no certificate");
}

#[tokio::test]
async fn the_file_is_read_again_when_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.crt");
    let (old, new) = (ClientCa::new("old"), ClientCa::new("new"));
    fs::write(&path, &old.pem).unwrap();
    let file = ClientCaFile::load(path.clone()).await.unwrap();
    let verifier = file.verifier();
    let world = World::with_clients(Some(Arc::clone(&verifier))).await;
    let stream = TcpStream::connect(world.address).await.unwrap();
    let mut open = client::secure(stream, &world.root, &[&TLS13], Some(old.client())).await.unwrap();
    assert_eq!(post(&mut open, "/mutate", &review("team-a")).await.status, 200);
    tokio::spawn(file.follow(Duration::from_millis(1), CancellationToken::new()));

    fs::write(&path, format!("{}{}", old.pem, new.pem)).unwrap();
    until("a bundle: the new CA", || served(&world, &TLS13, Some(new.client()))).await;
    assert!(served(&world, &TLS13, Some(old.client())).await, "a bundle: the old CA");
    fs::write(&path, &new.pem).unwrap();
    until("the old CA is gone", || async { !served(&world, &TLS13, Some(old.client())).await }).await;
    fs::write(&path, "junk").unwrap();
    assert!(served(&world, &TLS13, Some(new.client())).await);
    assert_eq!(post(&mut open, "/mutate", &review("team-a")).await.status, 200, "an open connection stays");
}

#[rstest]
#[case::empty("", "contains no certificate")]
#[case::not_pem("-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n", "not readable as PEM")]
#[case::not_a_certificate(
    "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    "certificate 1 is malformed"
)]
#[tokio::test]
async fn a_bad_file_is_an_error_that_names_it(#[case] text: &str, #[case] expected: &str) {
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
