//! The store of the certificates.

use std::error::Error;

use futures::Stream;
use jiff::Timestamp;

use super::issue::CertificateKeyPair;
use super::key::PrivateKey;
use trainmesh_core::objects::{Secret, WebhookConfiguration, WriteOutcome};

/// A store of certificates. Implementations read in the order of the fields of [`StoredCertificates`]: if a leader
/// decides on outdated data, its write conflicts.
pub trait Store: Sync {
    /// Error of reads and writes.
    type Error: Error + Send + Sync + 'static;

    /// Reads all objects.
    fn read(&self) -> impl Future<Output = Result<StoredCertificates, Self::Error>> + Send;

    /// Writes one object, unless it has changed since `stored` was read.
    fn write(
        &self,
        stored: &StoredCertificates,
        write: StoreWrite,
    ) -> impl Future<Output = Result<WriteOutcome, Self::Error>> + Send;

    /// Yields an item when an object may have changed.
    fn changes(&self) -> impl Stream<Item = ()> + Send + use<Self>;
}

/// The objects that contain certificates.
#[derive(Clone, Debug)]
pub struct StoredCertificates {
    /// Webhook configuration with its `caBundle`.
    pub webhook_configuration: Option<WebhookConfiguration>,
    /// CA Secret.
    pub ca_secret: Option<Secret>,
    /// Serving Secret.
    pub serving_secret: Option<Secret>,
    /// Time of the read.
    pub now: Timestamp,
}

/// A write to one object.
#[derive(Clone, Debug)]
pub enum StoreWrite {
    /// Write the CA Secret.
    CaSecret {
        /// CA certificates.
        certificates: String,
        /// Keys of the CAs.
        keys: PrivateKey,
    },
    /// Write the `caBundle` of every webhook.
    CaBundle {
        /// CA certificates.
        certificates: String,
    },
    /// Write the serving Secret.
    Serving {
        /// CA certificates.
        certificates: String,
        /// New serving certificate; `None` keeps the current one.
        pair: Option<CertificateKeyPair>,
    },
}
