//! The certificates that the apiserver trusts the webhook by: made, renewed and replaced with no person's help, and with
//! no call lost.
//!
//! What is decided ([`trainmesh_core::certs::step`]) is apart from what certificates are ([`read`], [`mint`]), and both from who reads and writes
//! ([`Rotation`] over a [`Store`]). All state stands in the cluster, in two Secrets and the `caBundle` of the webhook
//! configuration; a leader brings nothing but the time for which it has seen a `caBundle`, and so may end anywhere.
//!
//! Absent on purpose: a local clock (the apiserver judges the dates, so its clock counts), the names of what lies in the
//! Secrets of others (an authority is ours by its name), and revocation (nobody would ask).

mod key;
pub mod mint;
mod pem;
pub mod read;
mod rotation;
mod state;
mod store;
pub mod trust;

pub use key::PrivateKey;
pub use mint::Pair;
pub use rotation::Rotation;
pub use store::{Store, Stored, Write};

#[cfg(test)]
mod tests;

/// How the name of every authority of ours begins.
const COMMON_NAME: &str = "trainmesh CA ";
