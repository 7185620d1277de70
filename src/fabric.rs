//! Fabrics: what a pod needs to use the network between GPUs, by name.
//!
//! A [`Profile`] is what an operator of a site writes down once, or one of those that are built in; [`Profiles`] finds it
//! by the label `trainmesh.dev/fabric`. What is known of the cluster stands in [`Facts`], what of it
//! concerns one pod in [`Site`], every part of it optional; [`pins`] keep the pods of one gang alike. The
//! rule that changes pods is `mutate::rules::fabric`; [`lint`] says what looks wrong in one.
//!
//! Pure: no I/O, no clock, no client.

pub mod conf;
mod devices;
mod facts;
pub mod lint;
pub mod mixed;
pub mod nccl;
pub mod pins;
pub mod profile;
mod profiles;
mod site;

pub use devices::is_rdma;
pub use facts::{Facts, Named, Names};
pub use profile::Profile;
pub use profiles::{Entry, Profiles, builtin, source};
pub use site::{NodeShape, Nodes, Pin, Quota, Site};
