//! Where certificates are kept.

use std::error::Error;

use futures::Stream;
use jiff::Timestamp;

use super::key::PrivateKey;
use super::mint::Pair;
use trainmesh_core::objects::{Secret, WebhookConfiguration, WriteOutcome};

/// Where certificates are kept. Reading is done in the order of the fields of [`Stored`]: a leader that is late with what
/// it read first finds that another one has written since.
pub trait Store: Sync {
    /// Why it cannot be read or written.
    type Error: Error + Send + Sync + 'static;

    /// All that there is.
    fn read(&self) -> impl Future<Output = Result<Stored, Self::Error>> + Send;

    /// Writes, unless somebody has written there since `stored` was read.
    fn write(&self, stored: &Stored, write: Write) -> impl Future<Output = Result<WriteOutcome, Self::Error>> + Send;

    /// Reports that something may have changed.
    fn changes(&self) -> impl Stream<Item = ()> + Send + use<Self>;
}

/// What is kept.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The webhook configuration, with its `caBundle`.
    pub webhook_configuration: Option<WebhookConfiguration>,
    /// The Secret of the authorities.
    pub record: Option<Secret>,
    /// The Secret of the webhook.
    pub serving: Option<Secret>,
    /// The time.
    pub now: Timestamp,
}

/// What is to be kept from now on.
#[derive(Clone, Debug)]
pub enum Write {
    /// In the Secret of the authorities.
    Record {
        /// Their certificates.
        certificates: String,
        /// Their keys.
        keys: PrivateKey,
    },
    /// In the `caBundle` of every webhook.
    Trust {
        /// The certificates of the authorities.
        certificates: String,
    },
    /// In the Secret of the webhook.
    Serving {
        /// The certificates of the authorities.
        certificates: String,
        /// Another leaf, or the one that is there.
        leaf: Option<Pair>,
    },
}
