//! Certificate metrics of both servers.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

/// Expiry times of certificates, in seconds since the Unix epoch.
#[derive(Debug)]
pub struct CertificateMetrics {
    expiry: Family<Labels, Gauge>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    cert: &'static str,
}

impl CertificateMetrics {
    /// Sets the expiry time of the serving certificate.
    pub fn set_serving_expiry(&self, seconds: i64) {
        self.expiry.get_or_create(&Labels { cert: "leaf" }).set(seconds);
    }

    /// Sets the expiry time of the CA that signs serving certificates.
    pub fn set_ca_expiry(&self, seconds: i64) {
        self.expiry.get_or_create(&Labels { cert: "ca" }).set(seconds);
    }

    pub(super) fn register(registry: &mut Registry) -> Self {
        let expiry = Family::default();
        registry.register_with_unit(
            "certificate_expiry_timestamp",
            "Expiry time of the webhook's serving certificate and its CA, in seconds since 1970",
            Unit::Seconds,
            expiry.clone(),
        );
        Self { expiry }
    }
}
