//! The only place that talks to the apiserver: the client, the namespaces, the configuration.

pub mod client;
pub mod config_map;
pub mod events;
pub mod lease;
pub mod live;
pub mod namespaces;
pub mod server;
