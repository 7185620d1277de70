//! Flags of the controller for certificate rotation.

use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use kube::Client;

use crate::certs::Rotation;
use crate::cluster::CertificateStore;
use crate::telemetry::Metrics;
use trainmesh_core::certs::{Schedule, ScheduleError};
use trainmesh_core::duration::parse_with_days;
use trainmesh_core::objects::{SERVICE, WEBHOOK_CONFIGURATION, service_host};

/// Flags for certificate rotation.
#[derive(Debug, Args)]
pub(super) struct CertificateArguments {
    /// Issuer of the webhook's certificates
    #[arg(long, value_enum, value_name = "ISSUER", default_value_t = Issuer::SelfManaged, env = "TRAINMESH_CERTIFICATES")]
    certificates: Issuer,
    /// Name of the Service that the apiserver calls
    #[arg(long, value_name = "NAME", default_value = SERVICE, env = "TRAINMESH_SERVICE")]
    service: String,
    /// Lifetime of a CA, which is renewed after two thirds of it
    #[arg(long, value_name = "DURATION", default_value = "8760h", value_parser = parse_with_days, env = "TRAINMESH_CA_LIFETIME")]
    ca_lifetime: Duration,
    /// Lifetime of a serving certificate, which is renewed after two thirds of it
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "2160h",
        value_parser = parse_with_days,
        env = "TRAINMESH_CERTIFICATE_LIFETIME"
    )]
    certificate_lifetime: Duration,
}

/// Issuer of the webhook's certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Issuer {
    /// The leader, in the existing Secrets trainmesh-ca and trainmesh-webhook-tls
    #[value(name = "self")]
    SelfManaged,
    /// Not managed by the controller
    None,
}

impl CertificateArguments {
    /// Returns the rotation schedule, if the lifetimes are valid.
    pub(super) fn schedule(&self) -> Result<Schedule, ScheduleError> {
        Schedule::new(self.ca_lifetime, self.certificate_lifetime)
    }

    /// Returns the rotation for the leader to run for a webhook in `namespace`; `None` if certificates are not managed
    /// by the controller.
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
        (self.certificates == Issuer::SelfManaged).then(rotation)
    }
}
