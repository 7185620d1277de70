//! What trainmesh decides. No I/O, no clock, no client: Cargo and `clippy.toml` hold it to that.
//!
//! Data flows one way: a manifest is read ([`manifest`]), becomes the pods that its operator would create
//! ([`workload`]), each pod is looked at ([`pod`]) and a patch is planned for it ([`mutate`]) under a configuration
//! ([`config`]). When the payload of a pod has ended, [`lifecycle`] decides what else is to be ended.
//! `docs/architecture.md` is the map.

pub mod certs;
pub mod cluster_facts;
mod codes;
pub mod config;
mod dns;
pub mod doctor;
pub mod duration;
pub mod error;
pub mod fabric;
pub mod finding;
pub mod gang;
pub mod hash;
mod hint;
pub mod keys;
pub mod labels;
pub mod lifecycle;
pub mod lint;
pub mod manifest;
pub mod mutate;
pub mod objects;
pub mod pod;
pub mod preview;
pub mod printable;
pub mod quantity;
pub mod render;
pub mod scope;
pub mod sparse;
pub mod webhook;
pub mod workload;
pub mod yaml;
