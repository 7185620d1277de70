//! What both servers tell of certificates.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

/// When certificates expire, in seconds since 1970.
#[derive(Debug)]
pub struct CertificateMetrics {
    expiry: Family<Labels, Gauge>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    cert: &'static str,
}

impl CertificateMetrics {
    /// The certificate of the webhook.
    pub fn leaf_expires(&self, seconds: i64) {
        self.expiry.get_or_create(&Labels { cert: "leaf" }).set(seconds);
    }

    /// The CA that signs it.
    pub fn authority_expires(&self, seconds: i64) {
        self.expiry.get_or_create(&Labels { cert: "ca" }).set(seconds);
    }

    pub(super) fn register(registry: &mut Registry) -> Self {
        let expiry = Family::default();
        registry.register_with_unit(
            "certificate_expiry_timestamp",
            "When the certificate of the webhook and its CA expire",
            Unit::Seconds,
            expiry.clone(),
        );
        Self { expiry }
    }
}
