//! Where certificates are kept.

use std::time::Duration;

use futures::{Stream, StreamExt as _, stream};
use jiff::Timestamp;

use super::key::PrivateKey;
use super::mint::Pair;
use super::{CA_CRT, CA_KEY, RECORD, SERVING, TLS_CRT, TLS_KEY};
use crate::cluster::ask::{AskError, Written};
use crate::cluster::clock;
use crate::cluster::registration::{Registration, Registrations};
use crate::cluster::secret::{Secret, Secrets};

/// Changes that come together are looked at together; and whoever fights with us over a field finds us patient.
const GATHER: Duration = Duration::from_millis(200);

/// Where certificates are kept. Reading is done in the order of the fields of [`Stored`]: a leader that is late with what
/// it read first finds that another one has written since.
pub trait Store: Sync {
    /// All that there is.
    fn read(&self) -> impl Future<Output = Result<Stored, AskError>> + Send;

    /// Writes, unless somebody has written there since `stored` was read.
    fn write(&self, stored: &Stored, write: Write) -> impl Future<Output = Result<Written, AskError>> + Send;

    /// Tells that something may have changed.
    fn changes(&self) -> impl Stream<Item = ()> + Send + use<Self>;
}

/// What is kept.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The registration of the webhook, with its `caBundle`.
    pub registration: Option<Registration>,
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

/// The store of a real cluster.
pub struct InCluster {
    client: kube::Client,
    secrets: Secrets,
    registrations: Registrations,
}

impl InCluster {
    /// The Secrets of `namespace` and the registration of this name.
    #[must_use]
    pub fn new(client: kube::Client, namespace: &str, registration: &str) -> Self {
        let secrets = Secrets::new(client.clone(), namespace);
        let registrations = Registrations::new(client.clone(), registration);
        Self { client, secrets, registrations }
    }
}

impl Store for InCluster {
    async fn read(&self) -> Result<Stored, AskError> {
        Ok(Stored {
            registration: self.registrations.read().await?,
            record: self.secrets.read(RECORD).await?,
            serving: self.secrets.read(SERVING).await?,
            now: clock::now(&self.client).await?,
        })
    }

    async fn write(&self, stored: &Stored, write: Write) -> Result<Written, AskError> {
        match (write, stored) {
            (Write::Record { certificates, keys }, Stored { record: Some(secret), .. }) => {
                self.secrets.write(RECORD, secret, &[(CA_CRT, &certificates), (CA_KEY, keys.pem())]).await
            }
            (Write::Trust { certificates }, Stored { registration: Some(registration), .. }) => {
                self.registrations.trust(registration, &certificates).await
            }
            (Write::Serving { certificates, leaf: None }, Stored { serving: Some(secret), .. }) => {
                self.secrets.write(SERVING, secret, &[(CA_CRT, &certificates)]).await
            }
            (Write::Serving { certificates, leaf: Some(pair) }, Stored { serving: Some(secret), .. }) => {
                let Pair { certificate, key } = pair;
                let data = [(CA_CRT, certificates.as_str()), (TLS_CRT, &certificate), (TLS_KEY, key.pem())];
                self.secrets.write(SERVING, secret, &data).await
            }
            // Nothing was there to be written to.
            _ => Ok(Written::Outdated),
        }
    }

    fn changes(&self) -> impl Stream<Item = ()> + Send + use<> {
        let all = [
            self.registrations.changes().boxed(),
            self.secrets.changes(RECORD).boxed(),
            self.secrets.changes(SERVING).boxed(),
        ];
        stream::select_all(all).ready_chunks(64).then(async |_| tokio::time::sleep(GATHER).await)
    }
}
