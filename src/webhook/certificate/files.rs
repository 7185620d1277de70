//! A certificate in two files that somebody else renews.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::{Certificate, CertificateError, Served};
use crate::files::{Files, ReadError};
use crate::telemetry::Metrics;
use trainmesh_core::error::chain;

/// The files of a certificate, watched.
pub struct CertificateFiles {
    files: Files<2>,
    served: Arc<Served>,
    metrics: Arc<Metrics>,
}

/// Why there is no certificate in the files.
#[derive(Debug, Error)]
pub enum LoadError {
    /// A file cannot be read.
    #[error("no certificate to serve")]
    Read(#[source] ReadError),
    /// The files hold no certificate.
    #[error("no certificate in {} and {}", chain.display(), key.display())]
    Parse {
        /// The file of the chain.
        chain: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// Why.
        source: CertificateError,
    },
}

impl CertificateFiles {
    /// Reads the certificate. Without one there is nothing to serve.
    pub async fn load(chain: PathBuf, key: PathBuf, metrics: Arc<Metrics>) -> Result<Self, LoadError> {
        let mut files = Files::new([chain, key]);
        let bytes = files.read().await.map_err(LoadError::Read)?;
        let certificate = parse(&files, &bytes)?;
        metrics.certificates.leaf_expires(certificate.expires());
        Ok(Self { files, served: Arc::new(Served::new(certificate)), metrics })
    }

    /// What is served from these files.
    #[must_use]
    pub fn served(&self) -> Arc<Served> {
        Arc::clone(&self.served)
    }

    /// Looks at the files every `interval` until `stop`. Half of a pair, seen while both are being written, is logged,
    /// and the old pair served until the other half has come.
    pub async fn follow(mut self, interval: Duration, stop: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(interval) => {}
            }
            match renewed(&mut self.files).await {
                Ok(None) => {}
                Ok(Some(certificate)) => {
                    tracing::info!(expires = certificate.expires(), "another certificate is served");
                    self.metrics.certificates.leaf_expires(certificate.expires());
                    self.served.replace(certificate);
                }
                Err(error) => tracing::error!("the running certificate is kept: {}", chain(&error)),
            }
        }
    }
}

async fn renewed(files: &mut Files<2>) -> Result<Option<Certificate>, LoadError> {
    let changed = files.changed().await.map_err(LoadError::Read)?;
    changed.map(|bytes| parse(files, &bytes)).transpose()
}

fn parse(files: &Files<2>, [chain, key]: &[Vec<u8>; 2]) -> Result<Certificate, LoadError> {
    Certificate::parse(chain, key).map_err(|source| {
        let [chain, key] = files.paths().clone();
        LoadError::Parse { chain, key, source }
    })
}
