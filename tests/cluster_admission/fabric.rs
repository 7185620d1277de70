//! Fabrics in a real cluster: what the kubelet allocates to a pod, what the webhook detects in the cluster, and how the
//! pods of a job keep one revision.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_admission fabric::
//! ```
//!
//! Each test has its own webhook and, if needed, controller (`fabric/fixture.rs`). The devices do not exist: the device
//! plugin of `tests/cluster` advertises them.

mod admission;
mod claims;
mod cluster_state;
mod devices;
mod fixture;
mod inspection;
mod pins;
mod profiles;
mod settings;
