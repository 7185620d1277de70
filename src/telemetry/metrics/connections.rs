//! Connections of the servers: failed handshakes and evictions.

use std::fmt;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// Connections of all servers of the process.
#[derive(Debug)]
pub struct ConnectionMetrics {
    handshake_failures: Family<HandshakeLabels, Counter>,
    evictions: Family<EvictionLabels, Counter>,
}

/// Why a TLS handshake failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandshakeFailure {
    /// The client rejects the serving certificate: an apiserver whose `caBundle` is wrong, or any other client that does
    /// not know the CA.
    CertificateRejected,
    /// The client has no certificate signed by the CA that the server requires.
    ClientCertificate,
    /// The bytes are not TLS.
    NotTls,
    /// Client and server share no version, cipher suite or other parameter.
    Incompatible,
    /// The client has closed the connection half-way.
    Closed,
    /// The handshake took too long.
    Timeout,
    /// Anything else, such as a server that has no certificate yet.
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

/// Why a connection could be evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EvictionReason {
    /// Its handshake or its request was incomplete.
    Incomplete,
    /// It was idle.
    Idle,
    /// Its client did not read the response.
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
    /// Counts a connection on which TLS was tried and failed.
    pub fn handshake_failure(&self, reason: HandshakeFailure) {
        self.handshake_failures.get_or_create(&HandshakeLabels { reason }).inc();
    }

    /// Counts a connection that was closed in favor of another one.
    pub fn evicted(&self, server: ServerKind, reason: EvictionReason) {
        self.evictions.get_or_create(&EvictionLabels { server, reason }).inc();
    }

    pub(super) fn register(registry: &mut Registry) -> Self {
        let handshake_failures = Family::<HandshakeLabels, Counter>::default();
        for reason in HandshakeFailure::ALL {
            // From the start, so that a rate sees the first failure.
            drop(handshake_failures.get_or_create(&HandshakeLabels { reason }));
        }
        let evictions = Family::default();
        registry.register(
            "tls_handshake_failures",
            "Connections whose TLS handshake failed, by reason",
            handshake_failures.clone(),
        );
        registry.register(
            "connection_evictions",
            "Connections closed in favor of new ones while a server had as many as it keeps",
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

    /// The value of its label.
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
    /// The value of its label.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Admin => "admin",
        }
    }
}

impl EvictionReason {
    /// The value of its label.
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
