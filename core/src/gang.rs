//! Gangs: pods that start together, talk to each other all the time, and must be set up alike.
//!
//! A kind of workload declares what its pods have in common ([`workload::GangTraits`](crate::workload::GangTraits)). Here
//! stands which gang a pod belongs to ([`GangId`]), which revision of a fabric profile the pods of each gang were given
//! ([`pins`]), and which of them differ from the others ([`mixed`]).
//!
//! Pure: no I/O, no clock, no client.

mod assignment;
mod id;
pub mod mixed;
pub mod pins;

pub use assignment::{AssignedPod, Assignment};
pub use id::GangId;
