//! Decision about the object of a gang.

use jiff::Timestamp;

use super::NetworkTopology;
use crate::codes::codes;

/// Decision about the object of a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Create the object.
    Create(NewGroup),
    /// Change the minimum of the object.
    SetMinimum {
        /// The new minimum.
        minimum: u32,
        /// Why fewer pods are required; `None` if the job was scaled.
        cause: Option<ReleaseCause>,
    },
    /// Delete the object.
    Delete {
        /// Why.
        cause: DeletionCause,
        /// True if the object must disappear although pods use it: only another object with the same name releases
        /// them.
        force: bool,
    },
    /// Do nothing, until a change or this time.
    Wait {
        /// Time at which to decide again; `None` to wait for a change.
        until: Option<Timestamp>,
        /// Why.
        reason: WaitReason,
    },
}

/// An object to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewGroup {
    /// Minimum number of pods; `None` to schedule them one by one.
    pub minimum: Option<u32>,
    /// True if the job owns the object, so that both are collected together. Otherwise the job is not known, and the
    /// object is deleted once no pod names it.
    pub owned: bool,
    /// Priority class that all pods have; empty if they have none or different ones.
    pub priority_class: Box<str>,
    /// Volcano's queue that all pods have; empty if they have none or different ones.
    pub queue: Box<str>,
    /// Volcano's network topology that all pods have; `None` if they have none or different ones.
    pub topology: Option<NetworkTopology>,
    /// Why the pods are not scheduled as a gang of the size of the job.
    pub release: Option<ReleaseCause>,
}

codes! {
    /// Why the pods of a gang are not scheduled as a gang of the size of the job.
    pub enum ReleaseCause {
        /// A pod has no key, or that of another gang or mode.
        MemberWithoutKey => "a pod of the job does not name the PodGroup: it was created without the webhook or in another mode",
        /// Not all pods have been created.
        Incomplete => "the other pods of the job have not been created for 60 seconds",
        /// Pods were placed before.
        AlreadyPlaced => "pods of the job were placed before, and their PodGroup was deleted",
        /// Pods have completed.
        RanksEnded => "other pods of the job have completed, and schedulers do not count them",
        /// Pods cannot be scheduled together.
        DifferentTerms => "the pods of the job differ in priority, preemption policy or scheduler",
        /// The job cannot be read.
        JobUnknown => "the job cannot be read, or no longer exists",
    }
}

codes! {
    /// Why an object is deleted.
    pub enum DeletionCause {
        /// The job has completed or failed.
        JobEnded => "the job has completed or failed",
        /// The job is suspended.
        JobSuspended => "the job is suspended",
        /// All pods have completed.
        MembersEnded => "all pods of the job have completed",
        /// No pod exists any more.
        MembersGone => "no pod has named the PodGroup for 60 seconds",
        /// The gang is released.
        Released => "fewer pods than the minimum remain, and the minimum of this PodGroup cannot change",
        /// Pods cannot be scheduled together.
        DifferentTerms => "the pods of the job differ in priority, preemption policy or scheduler, and this PodGroup cannot change",
    }
}

codes! {
    /// Why nothing is done about the object of a gang.
    pub enum WaitReason {
        /// The object is as required.
        UpToDate => "the PodGroup is as required",
        /// No object is required.
        NotNeeded => "no pod needs the PodGroup",
        /// Members are missing.
        MembersMissing => "not all pods of the job have been created",
        /// The object is being deleted.
        BeingDeleted => "the PodGroup is being deleted",
        /// The object belongs to an operator or a user.
        ForeignGroup => "a PodGroup with this name exists that trainmesh did not create",
        /// The job is not known yet.
        JobUnknown => "the job cannot be read, or no longer exists",
    }
}

impl ReleaseCause {
    /// Returns true if the pods were meant to start together and now may not.
    #[must_use]
    pub fn breaks_gang(self) -> bool {
        !matches!(self, Self::AlreadyPlaced | Self::RanksEnded)
    }
}
