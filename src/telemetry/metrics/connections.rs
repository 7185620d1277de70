//! Connection metrics of the servers: failed handshakes and evictions.

use std::fmt;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// Connection metrics of all servers of the process.
#[derive(Debug)]
pub struct ConnectionMetrics {
    handshake_failures: Family<HandshakeLabels, Counter>,
    evictions: Family<EvictionLabels, Counter>,
}

/// Reason of a failed TLS handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandshakeFailure {
    /// The client rejects the serving certificate: an apiserver with a wrong `caBundle`, or another client that does
    /// not trust the CA.
    CertificateRejected,
    /// The client has no certificate signed by the CA that the server requires.
    ClientCertificate,
    /// The bytes are not TLS.
    NotTls,
    /// Client and server have no version, cipher suite or other parameter in common.
    Incompatible,
    /// The client closed the connection during the handshake.
    Closed,
    /// The handshake timed out.
    Timeout,
    /// Any other error, for example a server without a certificate.
    Other,
}

/// A server of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServerKind {
    /// Reviews, over TLS.
    Webhook,
    /// Health, readiness and metrics, in plain text.
    Admin,
}

/// Reason why a connection could be evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EvictionReason {
    /// The handshake or the request was incomplete.
    Incomplete,
    /// The connection was idle.
    Idle,
    /// The client did not read the response.
    Unread,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HandshakeLabels {
    reason: HandshakeFailure,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EvictionLabels {
    server: ServerKind,
    reason: EvictionReason,
}

impl ConnectionMetrics {
    /// Counts a failed TLS handshake.
    pub fn record_handshake_failure(&self, reason: HandshakeFailure) {
        self.handshake_failures.get_or_create(&HandshakeLabels { reason }).inc();
    }

    /// Counts an evicted connection.
    pub fn record_eviction(&self, server: ServerKind, reason: EvictionReason) {
        self.evictions.get_or_create(&EvictionLabels { server, reason }).inc();
    }

    pub(super) fn register(registry: &mut Registry) -> Self {
        let handshake_failures = Family::<HandshakeLabels, Counter>::default();
        for reason in HandshakeFailure::ALL {
            // Export all series from the start, so that a rate includes the first failure.
            drop(handshake_failures.get_or_create(&HandshakeLabels { reason }));
        }
        let evictions = Family::default();
        registry.register("tls_handshake_failures", "Failed TLS handshakes by reason", handshake_failures.clone());
        registry.register(
            "connection_evictions",
            "Connections evicted in favor of new ones at the connection limit, by server and reason",
            evictions.clone(),
        );
        Self { handshake_failures, evictions }
    }
}

impl HandshakeFailure {
    const ALL: [Self; 7] = [
        Self::CertificateRejected,
        Self::ClientCertificate,
        Self::NotTls,
        Self::Incompatible,
        Self::Closed,
        Self::Timeout,
        Self::Other,
    ];

    /// Returns the label value.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CertificateRejected => "certificate_rejected",
            Self::ClientCertificate => "client_certificate",
            Self::NotTls => "not_tls",
            Self::Incompatible => "incompatible",
            Self::Closed => "closed",
            Self::Timeout => "timeout",
            Self::Other => "other",
        }
    }
}

impl ServerKind {
    /// Returns the label value.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Admin => "admin",
        }
    }
}

impl EvictionReason {
    /// Returns the label value.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::Idle => "idle",
            Self::Unread => "unread",
        }
    }
}

impl EncodeLabelValue for HandshakeFailure {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        self.name().encode(encoder)
    }
}

impl EncodeLabelValue for ServerKind {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        self.name().encode(encoder)
    }
}

impl EncodeLabelValue for EvictionReason {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        self.name().encode(encoder)
    }
}
