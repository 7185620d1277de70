//! Storage of certificates in a cluster: two Secrets and the `caBundle` of the webhook configuration.

use std::time::Duration;

use futures::{Stream, StreamExt as _, stream};
use kube::Client;

use super::clock;
use super::request::RequestError;
use super::secret::Secrets;
use super::webhook_configuration::WebhookConfigurationClient;
use crate::certs::{CertificateKeyPair, Store, StoreWrite, StoredCertificates};
use trainmesh_core::objects::secret::{CA_CRT, CA_KEY, TLS_CRT, TLS_KEY};
use trainmesh_core::objects::{CA_SECRET, SERVING_SECRET, WriteOutcome};

/// Time for which changes are collected before they are handled. This delay also bounds the rate of writes when another
/// client keeps reverting a field.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// [`Store`] backed by the apiserver.
pub struct CertificateStore {
    client: Client,
    secrets: Secrets,
    webhook_configurations: WebhookConfigurationClient,
}

impl CertificateStore {
    /// Creates a store for the Secrets of `namespace` and the webhook configuration of this name.
    #[must_use]
    pub fn new(client: Client, namespace: &str, webhook_configuration: &str) -> Self {
        let secrets = Secrets::new(client.clone(), namespace);
        let webhook_configurations = WebhookConfigurationClient::new(client.clone(), webhook_configuration);
        Self { client, secrets, webhook_configurations }
    }
}

impl Store for CertificateStore {
    type Error = RequestError;

    async fn read(&self) -> Result<StoredCertificates, RequestError> {
        Ok(StoredCertificates {
            webhook_configuration: self.webhook_configurations.read().await?,
            ca_secret: self.secrets.read(CA_SECRET).await?,
            serving_secret: self.secrets.read(SERVING_SECRET).await?,
            now: clock::now(&self.client).await?,
        })
    }

    async fn write(&self, stored: &StoredCertificates, write: StoreWrite) -> Result<WriteOutcome, RequestError> {
        match (write, stored) {
            (StoreWrite::CaSecret { certificates, keys }, StoredCertificates { ca_secret: Some(secret), .. }) => {
                self.secrets.write(CA_SECRET, secret, &[(CA_CRT, &certificates), (CA_KEY, keys.pem())]).await
            }
            (StoreWrite::CaBundle { certificates }, StoredCertificates { webhook_configuration: Some(read), .. }) => {
                self.webhook_configurations.write_ca_bundle(read, &certificates).await
            }
            (
                StoreWrite::Serving { certificates, pair: None },
                StoredCertificates { serving_secret: Some(secret), .. },
            ) => self.secrets.write(SERVING_SECRET, secret, &[(CA_CRT, &certificates)]).await,
            (
                StoreWrite::Serving { certificates, pair: Some(pair) },
                StoredCertificates { serving_secret: Some(secret), .. },
            ) => {
                let CertificateKeyPair { certificate, key } = pair;
                let data = [(CA_CRT, certificates.as_str()), (TLS_CRT, &certificate), (TLS_KEY, key.pem())];
                self.secrets.write(SERVING_SECRET, secret, &data).await
            }
            // The object to write to did not exist when it was read.
            _ => Ok(WriteOutcome::Conflict),
        }
    }

    fn changes(&self) -> impl Stream<Item = ()> + Send + use<> {
        let all = [
            self.webhook_configurations.changes().boxed(),
            self.secrets.changes(CA_SECRET).boxed(),
            self.secrets.changes(SERVING_SECRET).boxed(),
        ];
        stream::select_all(all).ready_chunks(64).then(async |_| tokio::time::sleep(DEBOUNCE).await)
    }
}
