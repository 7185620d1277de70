//! How the controller keeps certificates.

use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use kube::Client;

use super::server::duration;
use crate::certs::Rotation;
use crate::cluster::CertificateStore;
use crate::telemetry::Metrics;
use trainmesh_core::certs::{Schedule, ScheduleError};
use trainmesh_core::objects::{SERVICE, WEBHOOK_CONFIGURATION, service_host};

/// Flags of whoever makes certificates.
#[derive(Debug, Args)]
pub(super) struct CertificateArguments {
    /// Who makes the certificates of the webhook
    #[arg(long, value_enum, value_name = "WHO", default_value_t = Mode::Own, env = "TRAINMESH_CERTIFICATES")]
    certificates: Mode,
    /// Service that the apiserver calls
    #[arg(long, value_name = "NAME", default_value = SERVICE, env = "TRAINMESH_SERVICE")]
    service: String,
    /// How long a CA is good; it is renewed when two thirds are over
    #[arg(long, value_name = "DURATION", default_value = "8760h", value_parser = duration, env = "TRAINMESH_CA_LIFETIME")]
    ca_lifetime: Duration,
    /// How long a certificate is good; it is renewed when two thirds are over
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "2160h",
        value_parser = duration,
        env = "TRAINMESH_CERTIFICATE_LIFETIME"
    )]
    certificate_lifetime: Duration,
}

/// Who makes certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// The leader, in the Secrets trainmesh-ca and trainmesh-webhook-tls, which must be there
    #[value(name = "self")]
    Own,
    /// Somebody else
    None,
}

impl CertificateArguments {
    /// How long certificates are to last, if that makes sense.
    pub(super) fn schedule(&self) -> Result<Schedule, ScheduleError> {
        Schedule::new(self.ca_lifetime, self.certificate_lifetime)
    }

    /// What the leader is to run for a webhook in `namespace`, if anything.
    pub(super) fn rotation(
        &self,
        schedule: Schedule,
        client: Client,
        namespace: &str,
        metrics: Arc<Metrics>,
    ) -> Option<Rotation<CertificateStore>> {
        let rotation = || {
            let store = CertificateStore::new(client, namespace, WEBHOOK_CONFIGURATION);
            Rotation::new(store, service_host(&self.service, namespace), schedule, metrics)
        };
        (self.certificates == Mode::Own).then(rotation)
    }
}
