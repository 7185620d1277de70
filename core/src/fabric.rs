//! Site-independent facts about GPU networks: NCCL's variables and configuration file, and the names of RDMA devices and networks.
//!
//! The requirements of a particular network are configured as a profile ([`config::profile`](crate::config::profile)).
//! The rule `mutate::rules::fabric` applies it to pods, and [`lint`](crate::lint) checks the result.
//!
//! Pure: no I/O, clock or client.

mod compute_domain;
pub mod conf;
mod devices;
mod machines;
mod misspelled;
pub mod nccl;

/// Maximum length in bytes of an annotation with a list of networks, to bound the memory for parsing its JSON. An entry
/// takes about 100 bytes, and no node has hundreds of adapters.
pub(crate) const MAX_NETWORKS_ANNOTATION: usize = 32 * 1024;

pub use compute_domain::{ComputeDomain, GROUP as COMPUTE_DOMAIN_GROUP};
pub(crate) use devices::{EFA, misspelled_adapter};
pub use devices::{is_rdma_network, is_rdma_resource};
pub(crate) use machines::is_size;
pub use machines::{MachineDevices, machine_devices, misspelled_machine};
pub(crate) use misspelled::{machine_of_same_letters, misspelled_pattern};
