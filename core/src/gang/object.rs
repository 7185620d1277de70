//! The `PodGroup` of a gang: what the controller creates, changes and deletes, and when.
//!
//! [`decide`] is a pure function of a [`GangSnapshot`]. Its rule is that no pod waits for members that never come: where a
//! member has no key, or the rest of the gang does not appear, the gang is released, and its pods start on their own.
//! Only objects that carry the label `trainmesh.dev/managed` are changed; all others belong to an operator or a user.

mod announcement;
mod api;
mod decide;
mod decision;
mod manifest;
#[cfg(test)]
mod model;
mod snapshot;
#[cfg(test)]
mod tests;
mod topology;

pub use announcement::{Announcement, GANG_APIS, GANG_DENIED};
pub use api::GroupApi;
pub use decide::decide;
pub use decision::{Decision, DeletionCause, NewGroup, ReleaseCause, WaitReason};
pub use manifest::{GroupName, group_minimum, manifest, minimum_patch, planned_manifest, read_group, retry_patch};
pub use snapshot::{GangSize, GangSnapshot, GroupState, JobState, Member, SchedulingTerms, Stage, VOLCANO_QUEUE};
pub use topology::{NetworkTopology, VOLCANO_TOPOLOGY};
