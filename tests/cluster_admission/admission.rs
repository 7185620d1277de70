//! The webhook behind a real apiserver.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_admission admission::
//! ```
//!
//! Each test registers a webhook of its own, in namespaces of its own. What the apiserver did is read from its audit
//! log, which names every webhook that it has asked.

mod answers;
mod drain;
mod faults;
mod liar;
mod live;
mod order;
mod relay;
mod reload;
mod rotation;
mod seen;
mod selectors;
mod traffic;
