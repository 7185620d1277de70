//! Access to the apiserver: namespaces, configuration, lease, certificates, the objects of
//! the mesh, and the cluster facts for fabrics.

pub mod apiserver;
mod certificates;
mod changes;
pub mod client;
pub mod clock;
pub mod config_map;
mod context;
pub mod diagnosis;
pub mod doctor;
pub mod events;
pub mod fabric;
pub mod failure;
pub mod gang;
pub(crate) mod index;
pub mod lease;
pub(crate) mod list;
pub mod live;
pub(crate) mod mesh;
pub mod namespaces;
mod page;
pub(crate) mod paged;
pub(crate) mod partial;
pub mod quota;
pub mod request;
pub mod secret;
pub(crate) mod watched;
mod webhook_configuration;
pub mod workloads;

pub use certificates::CertificateStore;
