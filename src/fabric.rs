//! Fabrics: what a pod needs to use the network between GPUs, by name.
//!
//! A [`Profile`] is what an operator of a site writes down once, or one of those that are built in; [`Profiles`] finds it
//! by the label `trainmesh.dev/fabric`. The rule that changes pods is `mutate::rules::fabric`; [`lint`] says what looks wrong
//! in one.
//!
//! Pure: no I/O, no clock, no client.

pub mod conf;
mod devices;
pub mod lint;
pub mod nccl;
pub mod profile;
mod profiles;
mod referenced;

/// The longest annotation with a list of networks that is parsed, in bytes: JSON takes many times its length. A network is
/// some 100 bytes, and no node has hundreds of adapters.
pub(crate) const LIST_LIMIT: usize = 32 * 1024;

pub use devices::is_rdma;
pub use profile::Profile;
pub use profiles::{Entry, Profiles, builtin, source};
pub use referenced::ReferencedObjects;
