//! A serving certificate in two files that are renewed externally.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::{Certificate, CertificateError, CertificateResolver};
use crate::files::{Files, ReadError};
use crate::telemetry::Metrics;
use trainmesh_core::error::chain;

/// The watched files of a certificate.
pub struct CertificateFiles {
    files: Files<2>,
    resolver: Arc<CertificateResolver>,
    metrics: Arc<Metrics>,
}

/// An error in the files of a certificate.
#[derive(Debug, Error)]
pub enum CertificateFileError {
    /// A file cannot be read.
    #[error("could not read the serving certificate")]
    Read(#[source] ReadError),
    /// The files contain no valid certificate.
    #[error("no valid certificate and key in {} and {}", chain.display(), key.display())]
    Parse {
        /// Path of the chain.
        chain: PathBuf,
        /// Path of the key.
        key: PathBuf,
        /// Cause.
        source: CertificateError,
    },
}

impl CertificateFiles {
    /// Reads the certificate.
    pub async fn load(chain: PathBuf, key: PathBuf, metrics: Arc<Metrics>) -> Result<Self, CertificateFileError> {
        let mut files = Files::new([chain, key]);
        let bytes = files.read().await.map_err(CertificateFileError::Read)?;
        let certificate = parse(&files, &bytes)?;
        metrics.certificates.set_serving_validity(certificate.validity());
        Ok(Self { files, resolver: Arc::new(CertificateResolver::new(certificate)), metrics })
    }

    /// Returns the resolver, which is updated from the files.
    #[must_use]
    pub fn resolver(&self) -> Arc<CertificateResolver> {
        Arc::clone(&self.resolver)
    }

    /// Reads the files every `interval` until `stop`. An inconsistent pair, as while both are being written, is logged,
    /// and the previous pair is served until the files are consistent.
    pub async fn run(mut self, interval: Duration, stop: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(interval) => {}
            }
            match reload(&mut self.files).await {
                Ok(None) => {}
                Ok(Some(certificate)) => {
                    tracing::info!(expires = certificate.not_after(), "serving a new certificate");
                    self.metrics.certificates.set_serving_validity(certificate.validity());
                    self.resolver.replace(certificate);
                }
                Err(error) => tracing::error!("certificate not reloaded, the current one is kept: {}", chain(&error)),
            }
        }
    }
}

async fn reload(files: &mut Files<2>) -> Result<Option<Certificate>, CertificateFileError> {
    let changed = files.changed().await.map_err(CertificateFileError::Read)?;
    changed.map(|bytes| parse(files, &bytes)).transpose()
}

fn parse(files: &Files<2>, [chain, key]: &[Vec<u8>; 2]) -> Result<Certificate, CertificateFileError> {
    Certificate::parse(chain, key).map_err(|source| {
        let [chain, key] = files.paths().clone();
        CertificateFileError::Parse { chain, key, source }
    })
}
