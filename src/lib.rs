//! The `trainmesh` binary: commands, servers, and everything that uses a client, a socket or a clock.
//!
//! Without the feature `cluster`, only the offline commands are built.
//!
//! [`trainmesh_core`] decides about pods, gangs, certificates and clusters. See `docs/architecture.md`.

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
