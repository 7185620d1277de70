//! Decision logic of trainmesh. It performs no I/O and has no clock or client; Cargo and `clippy.toml` enforce this.
//!
//! Data flows one way: a manifest is parsed ([`manifest`]) and expanded into the pods that its operator would create
//! ([`workload`]). For each pod ([`pod`]) the engine plans a patch ([`mutate`]) under a configuration ([`config`]).
//! After the main containers of a pod complete, [`lifecycle`] decides which containers to terminate. See
//! `docs/architecture.md` for an overview.

pub mod accounting;
mod api_type;
pub mod certs;
pub mod checkpoint;
pub mod cidr;
pub mod cluster_facts;
mod codes;
pub mod config;
mod container_lists;
pub mod diagnosis;
pub mod dns;
pub mod doctor;
pub mod dra;
pub mod duration;
pub mod error;
pub mod fabric;
pub mod finding;
pub mod gang;
pub mod hash;
mod hint;
mod huge_pages;
mod json;
pub mod keys;
mod known_fields;
pub mod labels;
pub mod lifecycle;
pub mod lint;
pub mod manifest;
pub mod mesh_objects;
pub mod mutate;
pub mod names;
pub mod objects;
pub mod own_keys;
pub mod pod;
pub mod preview;
pub mod printable;
pub mod quantity;
pub mod render;
mod rule;
pub mod scope;
pub mod sparse;
mod step;
pub mod webhook;
pub mod workload;
pub mod yaml;
