//! Fabrics: what is known of the network between GPUs, whatever a site calls it: what NCCL reads, from where, and which
//! devices are for RDMA.
//!
//! What a site's network needs is a profile of the configuration ([`config::profile`](crate::config::profile)). The rule
//! that changes pods is `mutate::rules::fabric`; [`lint`](crate::lint) reports what looks wrong in one.
//!
//! Pure: no I/O, no clock, no client.

pub mod conf;
mod devices;
pub mod nccl;

/// The longest annotation with a list of networks that is parsed, in bytes: JSON takes many times its length. A network is
/// some 100 bytes, and no node has hundreds of adapters.
pub(crate) const LIST_LIMIT: usize = 32 * 1024;

pub use devices::is_rdma;
