//! Certificates in a real cluster: issued by the rotation, served by the webhook, trusted by the apiserver.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_admission certificates::
//! ```
//!
//! Each test has its own namespace with Secrets, a Service and a webhook configuration. The rotation runs in the test
//! process, so that a test can stop it between any two writes.

mod continuity;
mod damage;
mod installation;
mod leader;
mod ownership;
mod prober;
mod rbac;
mod replica;
