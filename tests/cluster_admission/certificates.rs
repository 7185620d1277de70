//! Certificates in a real cluster: made by the rotation, served by the webhook, trusted by the apiserver.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_admission certificates::
//! ```
//!
//! Each test has a namespace with Secrets, a Service and a registration of its own. The rotation runs in the test's own
//! process, so that it can be ended between any two of its writes.

mod continuity;
mod harm;
mod installation;
mod leader;
mod ownership;
mod replica;
mod rights;
mod witness;
