//! Gangs: pods of one job that start together, communicate with each other, and need the same fabric settings.
//!
//! Each workload kind declares how its pods form gangs ([`workload::GangTraits`](crate::workload::GangTraits)). This
//! module identifies the gang of a pod ([`GangId`]), reads name, size and roles from the workload's object
//! ([`GangWorkload`]), pins the profile revision and the mode of each gang ([`pins`], [`mode_pins`]), decides about its
//! `PodGroup` ([`object`]), and finds pods that deviate from their gang ([`deviation`]).
//!
//! Pure: no I/O, clock or client.

mod assignment;
pub mod deviation;
pub mod facts;
mod id;
mod integration;
pub mod key;
mod misspelled_key;
pub mod mode_pins;
pub mod object;
pub mod pins;
mod scheduled;
mod workload;

pub use crate::config::GangMode;
pub use crate::rule::MAX_APPLIED;
pub use assignment::{AssignedPod, Assignment};
pub use facts::{Creator, GangFacts, GangView, WorkloadLookup};
pub use id::GangId;
pub(crate) use integration::kueue_integration;
pub(crate) use misspelled_key::{misspelled_key, misspelled_scheduler, only_map};
pub use mode_pins::{ModePin, PinnedMode};
pub use scheduled::{ScheduledPod, applied_gang, applied_mode};
pub use workload::{Gang, GangOwner, GangPosition, GangWorkload, UnknownGang, WorkloadKey, WorkloadState, gang_member};
