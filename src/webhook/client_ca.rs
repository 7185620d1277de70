//! The CAs of client certificates, from a file that is reloaded when it changes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};
use thiserror::Error as ThisError;
use tokio_util::sync::CancellationToken;

use crate::files::{Files, ReadError};
use trainmesh_core::error::chain;

/// Requires a client certificate signed by one of the current CAs. Open connections stay open when the CAs change.
#[derive(Debug)]
pub struct ClientVerifier(ArcSwap<Arc<dyn ClientCertVerifier>>);

/// A watched file of CAs.
pub struct ClientCaFile {
    files: Files<1>,
    verifier: Arc<ClientVerifier>,
}

/// An error in a CA bundle.
#[derive(Debug, ThisError)]
pub enum ClientCaError {
    /// It is not PEM.
    #[error("not valid PEM")]
    Pem(#[source] pem::Error),
    /// A certificate cannot be a trust anchor.
    #[error("certificate {0} is malformed")]
    Certificate(usize, #[source] Error),
    /// There is no certificate.
    #[error("it contains no certificate: set it to the CA that signs the apiserver's client certificate, as PEM")]
    Empty,
    /// The CAs cannot be used by a verifier.
    #[error("its CAs cannot verify client certificates")]
    Verifier(#[source] VerifierBuilderError),
}

/// An error in a file of CAs.
#[derive(Debug, ThisError)]
pub enum ClientCaFileError {
    /// It cannot be read.
    #[error("--client-ca")]
    Read(#[source] ReadError),
    /// It contains no usable CAs.
    #[error("--client-ca {}", path.display())]
    Parse {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: ClientCaError,
    },
}

impl ClientVerifier {
    /// Trusts the CAs of a PEM bundle.
    pub fn parse(bundle: &[u8]) -> Result<Self, ClientCaError> {
        Ok(Self(ArcSwap::from_pointee(parse(bundle)?)))
    }

    /// Trusts the CAs of `bundle` from now on.
    pub fn replace(&self, bundle: &[u8]) -> Result<(), ClientCaError> {
        self.0.store(Arc::new(parse(bundle)?));
        Ok(())
    }
}

impl ClientCaFile {
    /// Reads the file, which must contain a CA.
    pub async fn load(path: PathBuf) -> Result<Self, ClientCaFileError> {
        let mut files = Files::new([path.clone()]);
        let [bundle] = files.read().await.map_err(ClientCaFileError::Read)?;
        let verifier = ClientVerifier::parse(&bundle).map_err(|source| ClientCaFileError::Parse { path, source })?;
        Ok(Self { files, verifier: Arc::new(verifier) })
    }

    /// Returns the verifier, which uses the current CAs of this file.
    #[must_use]
    pub fn verifier(&self) -> Arc<ClientVerifier> {
        Arc::clone(&self.verifier)
    }

    /// Reads the file every `interval` until `stop`. A file without a usable CA is logged, and the current CAs are
    /// kept.
    pub async fn run(mut self, interval: Duration, stop: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(interval) => {}
            }
            match self.reload().await {
                Ok(false) => {}
                Ok(true) => tracing::info!("client CAs reloaded"),
                Err(error) => tracing::error!("client CAs not reloaded, the current ones are kept: {}", chain(&error)),
            }
        }
    }

    /// Returns true if the CAs have changed.
    async fn reload(&mut self) -> Result<bool, ClientCaFileError> {
        let Some([bundle]) = self.files.changed().await.map_err(ClientCaFileError::Read)? else { return Ok(false) };
        let [path] = self.files.paths();
        let replaced = self.verifier.replace(&bundle);
        replaced.map_err(|source| ClientCaFileError::Parse { path: path.clone(), source })?;
        Ok(true)
    }
}

impl ClientCertVerifier for ClientVerifier {
    /// Returns no hints: they would have to live as long as this verifier. Clients with one certificate present it
    /// anyway.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.0.load().verify_client_cert(certificate, intermediates, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.load().verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.load().verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.load().supported_verify_schemes()
    }
}

fn parse(bundle: &[u8]) -> Result<Arc<dyn ClientCertVerifier>, ClientCaError> {
    let mut roots = RootCertStore::empty();
    for (index, certificate) in CertificateDer::pem_slice_iter(bundle).enumerate() {
        let certificate = certificate.map_err(ClientCaError::Pem)?;
        roots.add(certificate).map_err(|error| ClientCaError::Certificate(index + 1, error))?;
    }
    if roots.is_empty() {
        return Err(ClientCaError::Empty);
    }
    let provider = Arc::new(ring::default_provider());
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().map_err(ClientCaError::Verifier)
}
