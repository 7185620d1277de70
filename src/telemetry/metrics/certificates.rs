//! Certificate metrics of both servers.

use std::ops::RangeInclusive;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

/// Validity periods of certificates, in seconds since the Unix epoch. With both ends, an alert on expiry can be
/// relative to the lifetime.
#[derive(Debug)]
pub struct CertificateMetrics {
    not_before: Family<Labels, Gauge>,
    expiry: Family<Labels, Gauge>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    cert: &'static str,
}

impl CertificateMetrics {
    /// Sets the validity period of the serving certificate.
    pub fn set_serving_validity(&self, seconds: &RangeInclusive<i64>) {
        self.set(&Labels { cert: "leaf" }, seconds);
    }

    /// Sets the validity period of the CA that signs serving certificates.
    pub fn set_ca_validity(&self, seconds: &RangeInclusive<i64>) {
        self.set(&Labels { cert: "ca" }, seconds);
    }

    pub(super) fn register(registry: &mut Registry) -> Self {
        let (not_before, expiry) = (Family::default(), Family::default());
        registry.register_with_unit(
            "certificate_not_before_timestamp",
            "Start of the validity of the webhook's serving certificate and its CA, in seconds since 1970",
            Unit::Seconds,
            not_before.clone(),
        );
        registry.register_with_unit(
            "certificate_expiry_timestamp",
            "Expiry time of the webhook's serving certificate and its CA, in seconds since the Unix epoch",
            Unit::Seconds,
            expiry.clone(),
        );
        Self { not_before, expiry }
    }

    fn set(&self, labels: &Labels, seconds: &RangeInclusive<i64>) {
        self.not_before.get_or_create(labels).set(*seconds.start());
        self.expiry.get_or_create(labels).set(*seconds.end());
    }
}
