//! Where a cluster keeps certificates: two Secrets and the `caBundle` of the webhook configuration.

use std::time::Duration;

use futures::{Stream, StreamExt as _, stream};
use kube::Client;

use super::clock;
use super::request::RequestError;
use super::secret::Secrets;
use super::webhook_configuration::WebhookConfigurations;
use crate::certs::{Pair, Store, Stored, Write};
use trainmesh_core::objects::secret::{CA_CRT, CA_KEY, TLS_CRT, TLS_KEY};
use trainmesh_core::objects::{CA_SECRET, SERVING_SECRET, WriteOutcome};

/// Changes that come together are looked at together; and whoever fights with us over a field finds us patient.
const GATHER: Duration = Duration::from_millis(200);

/// The store of a real cluster.
pub struct CertificateStore {
    client: Client,
    secrets: Secrets,
    webhook_configurations: WebhookConfigurations,
}

impl CertificateStore {
    /// The Secrets of `namespace`, and the webhook configuration of this name.
    #[must_use]
    pub fn new(client: Client, namespace: &str, webhook_configuration: &str) -> Self {
        let secrets = Secrets::new(client.clone(), namespace);
        let webhook_configurations = WebhookConfigurations::new(client.clone(), webhook_configuration);
        Self { client, secrets, webhook_configurations }
    }
}

impl Store for CertificateStore {
    type Error = RequestError;

    async fn read(&self) -> Result<Stored, RequestError> {
        Ok(Stored {
            webhook_configuration: self.webhook_configurations.read().await?,
            record: self.secrets.read(CA_SECRET).await?,
            serving: self.secrets.read(SERVING_SECRET).await?,
            now: clock::now(&self.client).await?,
        })
    }

    async fn write(&self, stored: &Stored, write: Write) -> Result<WriteOutcome, RequestError> {
        match (write, stored) {
            (Write::Record { certificates, keys }, Stored { record: Some(secret), .. }) => {
                self.secrets.write(CA_SECRET, secret, &[(CA_CRT, &certificates), (CA_KEY, keys.pem())]).await
            }
            (Write::Trust { certificates }, Stored { webhook_configuration: Some(read), .. }) => {
                self.webhook_configurations.trust(read, &certificates).await
            }
            (Write::Serving { certificates, leaf: None }, Stored { serving: Some(secret), .. }) => {
                self.secrets.write(SERVING_SECRET, secret, &[(CA_CRT, &certificates)]).await
            }
            (Write::Serving { certificates, leaf: Some(pair) }, Stored { serving: Some(secret), .. }) => {
                let Pair { certificate, key } = pair;
                let data = [(CA_CRT, certificates.as_str()), (TLS_CRT, &certificate), (TLS_KEY, key.pem())];
                self.secrets.write(SERVING_SECRET, secret, &data).await
            }
            // Nothing was there to be written to.
            _ => Ok(WriteOutcome::Conflict),
        }
    }

    fn changes(&self) -> impl Stream<Item = ()> + Send + use<> {
        let all = [
            self.webhook_configurations.changes().boxed(),
            self.secrets.changes(CA_SECRET).boxed(),
            self.secrets.changes(SERVING_SECRET).boxed(),
        ];
        stream::select_all(all).ready_chunks(64).then(async |_| tokio::time::sleep(GATHER).await)
    }
}
