//! Why a certificate is not trusted.

/// Why a client turns away from a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distrust {
    /// It calls the server by another name.
    Name,
    /// Nobody in its bundle vouches for the server now.
    Issuer,
}
