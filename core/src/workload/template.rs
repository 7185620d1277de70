//! Renders a pod from a pod template: functions that all kinds share.
//!
//! A kind reads its manifest through [`Field`] and determines the [`Owner`] of its pods. It creates a [`Draft`] from
//! the pod template, and adds the operator's fields with the functions of [`edit`] and [`env`](mod@env). [`name`]
//! contains the placeholders for names, UIDs and hashes that exist only in a cluster. [`identity`](super::identity)
//! identifies the pods.

mod draft;
mod edit;
mod env;
mod field;
mod name;
mod owner;
#[cfg(test)]
pub(super) mod testing;

pub(super) use draft::{Draft, require_containers, require_pod_spec};
pub(super) use edit::{
    all_containers, append, container_named, containers, has_entry, init_containers, is_list_empty, list_mut,
    object_mut, objects, text, upsert,
};
pub(super) use env::{ensure_env, env, env_from_field};
pub(super) use field::Field;
pub(super) use name::{ZERO_HASH, ZERO_SUFFIX, ZERO_UID, name_hash, truncate};
pub(super) use owner::Owner;
