//! The binary `trainmesh`: commands, servers, and everything with a client, a socket or a clock.
//!
//! Without the feature `cluster` only commands that need neither a client nor a server are built.
//!
//! What is decided about pods, gangs, certificates and clusters is [`trainmesh_core`]. `docs/architecture.md` is the map.

#[cfg(feature = "cluster")]
mod bucket;
#[cfg(feature = "cluster")]
pub mod certs;
pub mod cli;
#[cfg(feature = "cluster")]
pub mod cluster;
#[cfg(feature = "cluster")]
pub mod controller;
#[cfg(feature = "cluster")]
pub mod files;
pub mod manifest;
#[cfg(feature = "cluster")]
pub mod reload;
#[cfg(feature = "cluster")]
pub mod serve;
#[cfg(feature = "cluster")]
pub mod telemetry;
#[cfg(feature = "cluster")]
pub mod webhook;
