//! From a pod template to a pod: what the kinds share.
//!
//! A kind reads its manifest through [`Field`]s, names the [`Owner`] of its pods, takes the template into a [`Draft`],
//! and adds what its operator adds with the functions of [`edit`] and [`env`](mod@env). [`name`] holds what stands for
//! names, uids and hashes that only a cluster can know. How a pod is recognised again is the concern of
//! [`member`](super::member).

mod draft;
mod edit;
mod env;
mod field;
mod name;
mod owner;
#[cfg(test)]
pub(super) mod testing;

pub(super) use draft::{Draft, require_containers};
pub(super) use edit::{
    append, container_named, containers, every_container, has_entry, init_containers, is_empty, list_mut, object_mut,
    objects, text, upsert,
};
pub(super) use env::{ensure_env, env, env_from_field};
pub(super) use field::Field;
pub(super) use name::{ZERO_HASH, ZERO_SUFFIX, ZERO_UID, name_key, truncate};
pub(super) use owner::Owner;
