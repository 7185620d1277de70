//! The binary `trainmesh`: commands, servers, and everything with a client, a socket or a clock.
//!
//! What is decided about pods, gangs, certificates and clusters is [`trainmesh_core`]. `docs/architecture.md` is the map.

mod bucket;
pub mod certs;
pub mod cli;
pub mod cluster;
pub mod controller;
pub mod files;
pub mod manifest;
pub mod reload;
pub mod serve;
pub mod telemetry;
pub mod webhook;
