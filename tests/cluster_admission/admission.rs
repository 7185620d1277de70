//! The webhook with a real apiserver.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_admission admission::
//! ```
//!
//! Each test has its own webhook configuration and namespaces. The tests read the apiserver's audit log, which names
//! every webhook that was called.

mod drain;
mod faults;
mod faulty_webhook;
mod mesh_objects;
mod ordering;
mod others;
mod pod_network;
mod preview;
mod quota;
mod relay;
mod reload;
mod responses;
mod rotation;
mod selectors;
mod traffic;
mod visibility;
