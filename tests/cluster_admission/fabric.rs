//! Fabrics in a real cluster: what the kubelet gives to a pod that names one, what the webhook learns of the cluster, and
//! how the pods of a job stay alike.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_admission fabric::
//! ```
//!
//! Each test has a webhook, and where it needs one a controller, of its own (`fabric/world.rs`). The devices do not exist: a
//! device plugin of `tests/cluster` offers them.

mod admission;
mod devices;
mod facts;
mod pins;
mod profiles;
mod settings;
mod trainer;
mod world;
