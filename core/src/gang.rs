//! Gangs: pods of one job that start together, communicate with each other, and need the same fabric settings.
//!
//! Each workload kind declares how its pods form gangs ([`workload::GangTraits`](crate::workload::GangTraits)). This
//! module identifies the gang of a pod ([`GangId`]), reads name, size and roles from the workload's object
//! ([`GangWorkload`]), pins the profile revision of each gang ([`pins`]), decides about its
//! `PodGroup` ([`object`]), and finds pods that deviate from their gang ([`deviation`]).
//!
//! Pure: no I/O, clock or client.

mod assignment;
pub mod deviation;
pub mod facts;
mod id;
mod integration;
pub mod key;
pub mod object;
pub mod pins;
mod workload;

pub use crate::config::GangMode;
pub use assignment::{AssignedPod, Assignment};
pub use facts::{Creator, GangFacts, GangView, WorkloadLookup};
pub use id::GangId;
pub(crate) use integration::kueue_integration;
pub use workload::{Gang, GangOwner, GangPosition, GangWorkload, UnknownGang, WorkloadKey, WorkloadState, gang_member};
