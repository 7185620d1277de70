//! Access to the apiserver: namespaces, configuration, lease, certificates and the cluster facts for fabrics.

mod certificates;
mod changes;
pub mod client;
pub mod clock;
pub mod config_map;
pub mod doctor;
pub mod events;
pub mod fabric;
pub mod failure;
pub(crate) mod index;
pub mod lease;
pub(crate) mod list;
pub mod live;
pub mod namespaces;
pub mod request;
pub mod secret;
pub mod server;
mod webhook_configuration;

pub use certificates::CertificateStore;
