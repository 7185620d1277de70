//! The certificates that the apiserver trusts the webhook by: made, renewed and replaced with no person's help, and with
//! no call lost.
//!
//! What is decided ([`step`]) is apart from what certificates are ([`read`], [`mint`]), and both from who asks and writes
//! ([`Rotation`] over a [`Store`]). All state stands in the cluster, in two Secrets and the `caBundle` of the
//! registration; a leader brings nothing but the time for which it has seen a `caBundle`, and so may end anywhere.
//!
//! Absent on purpose: a local clock (the apiserver judges the dates, so its clock counts), the names of what lies in the
//! Secrets of others (an authority is ours by its name), and revocation (nobody would ask).

mod dates;
mod key;
pub mod mint;
mod pem;
pub mod read;
mod rotation;
mod schedule;
mod state;
pub mod step;
mod store;
pub mod trust;

pub use dates::Dates;
pub use key::PrivateKey;
pub use rotation::Rotation;
pub use schedule::{Schedule, ScheduleError};
pub use step::Id;
pub use store::{InCluster, Store, Stored, Write};

#[cfg(test)]
mod tests;

/// How the name of every authority of ours begins.
const COMMON_NAME: &str = "trainmesh CA ";

/// The Secret of the authorities, which none but the controller may read.
pub const RECORD: &str = "trainmesh-ca";
/// The Secret of the webhook.
pub const SERVING: &str = "trainmesh-webhook-tls";
/// Its registration.
pub const REGISTRATION: &str = "0-trainmesh";
/// Its Service, unless its operator says otherwise.
pub const SERVICE: &str = "trainmesh-webhook";

/// Key of a Secret: certificates of authorities, the newest first.
pub const CA_CRT: &str = "ca.crt";
/// Key of a Secret: the keys of those authorities that may sign.
pub const CA_KEY: &str = "ca.key";
/// Key of a Secret: the leaf.
pub const TLS_CRT: &str = "tls.crt";
/// Key of a Secret: the leaf's key.
pub const TLS_KEY: &str = "tls.key";

/// The name by which the apiserver calls a Service; it looks for no other in a certificate.
#[must_use]
pub fn host(service: &str, namespace: &str) -> String {
    format!("{service}.{namespace}.svc")
}
