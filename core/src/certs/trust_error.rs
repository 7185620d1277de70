//! The reasons why a client does not trust a serving certificate.

/// Reason why a client rejects a serving certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustError {
    /// The certificate is for another host name.
    NameMismatch,
    /// No certificate in the client's CA bundle validates it at this time.
    UnknownIssuer,
}
