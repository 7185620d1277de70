//! Gangs: pods of one job that start together, communicate with each other, and need the same fabric settings.
//!
//! Each workload kind declares how its pods form gangs ([`workload::GangTraits`](crate::workload::GangTraits)). This
//! module identifies the gang of a pod ([`GangId`]), pins the profile revision of each gang ([`pins`]), and finds pods
//! that deviate from their gang ([`deviation`]).
//!
//! Pure: no I/O, clock or client.

mod assignment;
pub mod deviation;
mod id;
pub mod pins;

pub use assignment::{AssignedPod, Assignment};
pub use id::GangId;
