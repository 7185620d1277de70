//! Issues, renews and replaces the serving certificate of the webhook and its CA, without manual steps and without
//! failed calls.
//!
//! Decisions ([`trainmesh_core::certs::step`]) are separate from certificates ([`read`], [`issue`]), and both from
//! reads and writes ([`Rotation`] on a [`Store`]). All state is in the cluster: in two Secrets and the `caBundle` of
//! the webhook configuration. A leader keeps in memory only how long it has observed a `caBundle`, so it may
//! stop at any time.
//!
//! Deliberately not used: the local clock (the apiserver validates the certificates, so its clock counts) and
//! revocation (the apiserver does not check it). A CA issued by trainmesh is recognized by its name.

pub mod issue;
mod key;
mod pem;
pub mod read;
mod rotation;
mod state;
mod store;
pub mod trust;

pub use issue::CertificateKeyPair;
pub use key::PrivateKey;
pub use rotation::Rotation;
pub use store::{Store, StoreWrite, StoredCertificates};

#[cfg(test)]
mod tests;

/// Prefix of the common name of every CA issued by trainmesh.
const COMMON_NAME_PREFIX: &str = "trainmesh CA ";
