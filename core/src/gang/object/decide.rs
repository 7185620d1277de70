//! The decision about the object of a gang.

use jiff::{SignedDuration, Timestamp};

use super::{
    Decision, DeletionCause, GangSize, GangSnapshot, GroupState, JobState, Member, NetworkTopology, NewGroup,
    ReleaseCause, SchedulingTerms, Stage, WaitReason,
};

/// Time without a change of the members after which missing ones are no longer expected. Operators create the pods of
/// a job within seconds; a quota or an unavailable webhook can delay them indefinitely.
const PATIENCE: SignedDuration = SignedDuration::from_secs(60);

/// Members of a gang, counted.
#[derive(Clone, Copy, Debug)]
struct Counts {
    /// Pods that name the object and wait for a node.
    pending: u32,
    /// Pods that name the object and are placed or wait for a node.
    keyed: u32,
    /// Pods that do not name the object and are placed or wait for a node.
    without_key: u32,
    /// True if a pod was placed, now or before.
    placed: bool,
    /// Pods that name the object, or may be created with it; `u32::MAX` if the size is unknown.
    ceiling: u32,
}

/// Decides what to do about the object of a gang.
#[must_use]
pub fn decide(gang: &GangSnapshot<'_>) -> Decision {
    let size = match gang.job {
        JobState::Active(size) => Some(size),
        JobState::Unknown | JobState::Gone => None,
        JobState::Suspended => return release_object(gang.group, DeletionCause::JobSuspended),
        JobState::Ended => return release_object(gang.group, DeletionCause::JobEnded),
    };
    let counts = Counts::new(gang.members, size);
    if counts.keyed == 0 {
        return without_members(gang, counts);
    }
    match gang.group {
        GroupState::Foreign => wait(None, WaitReason::ForeignGroup),
        GroupState::Missing if gang.api.has_mutable_minimum() => create_early(gang, size, counts),
        GroupState::Missing => create_last(gang, size, counts),
        GroupState::Own { minimum: None, .. } => wait(None, WaitReason::UpToDate),
        GroupState::Own { minimum: Some(minimum), .. } if gang.api.has_mutable_minimum() => {
            adjust(gang, size, counts, minimum)
        }
        GroupState::Own { minimum: Some(minimum), .. } => replace_if_stuck(gang, counts, minimum),
    }
}

/// Deletes the object of a gang of which no pod exists any more: that of a job that has restarted, for example, whose new
/// pods name another object.
fn without_members(gang: &GangSnapshot<'_>, counts: Counts) -> Decision {
    if counts.ceiling == 0 {
        release_object(gang.group, DeletionCause::MembersEnded)
    } else if gang.now >= deadline(gang) || gang.group == GroupState::Missing {
        release_object(gang.group, DeletionCause::MembersGone)
    } else {
        wait(Some(deadline(gang)), WaitReason::MembersMissing)
    }
}

/// Deletes an object of which no pod is to be scheduled any more.
fn release_object(group: GroupState, cause: DeletionCause) -> Decision {
    match group {
        GroupState::Own { deleting: false, .. } => Decision::Delete { cause, force: false },
        GroupState::Own { deleting: true, .. } => wait(None, WaitReason::BeingDeleted),
        GroupState::Missing => wait(None, WaitReason::NotNeeded),
        GroupState::Foreign => wait(None, WaitReason::ForeignGroup),
    }
}

/// Creates an object whose minimum cannot change: last, when it is certain that the pods can meet the minimum. Until
/// then the scheduler holds the pods.
fn create_last(gang: &GangSnapshot<'_>, size: Option<GangSize>, counts: Counts) -> Decision {
    let release = |cause| create(gang, size, None, Some(cause));
    let overdue = gang.now >= deadline(gang);
    let Some(GangSize { minimum, .. }) = size else {
        return if overdue {
            release(ReleaseCause::JobUnknown)
        } else {
            wait(Some(deadline(gang)), WaitReason::JobUnknown)
        };
    };
    if !has_equal_terms(gang.members) {
        release(ReleaseCause::DifferentTerms)
    } else if counts.placed {
        // A gang that is partly placed or complete cannot be placed as a whole any more.
        release(ReleaseCause::AlreadyPlaced)
    } else if counts.keyed >= minimum {
        create(gang, size, Some(minimum), None)
    } else if counts.without_key > 0 {
        release(ReleaseCause::MemberWithoutKey)
    } else if overdue {
        release(ReleaseCause::Incomplete)
    } else {
        wait(Some(deadline(gang)), WaitReason::MembersMissing)
    }
}

/// Creates an object whose minimum can change: at once, because some schedulers ignore pods without it.
fn create_early(gang: &GangSnapshot<'_>, size: Option<GangSize>, counts: Counts) -> Decision {
    if size.is_none() && gang.now < deadline(gang) {
        return wait(Some(deadline(gang)), WaitReason::JobUnknown);
    }
    let (minimum, cause) = required_minimum(gang, size, counts, u32::MAX);
    create(gang, size, Some(minimum), cause)
}

/// Follows the size of the job, and the pods that can still meet the minimum.
fn adjust(gang: &GangSnapshot<'_>, size: Option<GangSize>, counts: Counts, current: u32) -> Decision {
    let (minimum, cause) = required_minimum(gang, size, counts, current);
    // Pods of a gang that was placed are replaced one by one.
    if minimum < current || minimum > current && !counts.placed {
        Decision::SetMinimum { minimum, cause }
    } else if counts.is_short_of(current) {
        wait(Some(deadline(gang)), WaitReason::MembersMissing)
    } else {
        wait(None, WaitReason::UpToDate)
    }
}

/// Deletes an object that cannot change and holds its pods: they differ, or are fewer than its minimum. Another one, which
/// schedules its pods one by one, follows.
fn replace_if_stuck(gang: &GangSnapshot<'_>, counts: Counts, minimum: u32) -> Decision {
    let replace = |cause| Decision::Delete { cause, force: true };
    let is_short = counts.is_short_of(minimum);
    if counts.pending > 0 && !has_equal_terms(gang.members) {
        replace(DeletionCause::DifferentTerms)
    } else if is_short && (counts.ceiling < minimum || gang.now >= deadline(gang)) {
        replace(DeletionCause::Released)
    } else if is_short {
        wait(Some(deadline(gang)), WaitReason::MembersMissing)
    } else {
        wait(None, WaitReason::UpToDate)
    }
}

/// Returns the minimum that the members of a gang can meet, and why it is less than that of the job. `current` stands for
/// the minimum of a job that cannot be read.
fn required_minimum(
    gang: &GangSnapshot<'_>,
    size: Option<GangSize>,
    counts: Counts,
    current: u32,
) -> (u32, Option<ReleaseCause>) {
    if !has_equal_terms(gang.members) {
        return (1, Some(ReleaseCause::DifferentTerms));
    }
    let wanted = size.map_or(current, |size| size.minimum);
    let possible = wanted.min(counts.ceiling);
    if counts.keyed < possible && gang.now >= deadline(gang) {
        let cause = if size.is_none() { ReleaseCause::JobUnknown } else { ReleaseCause::Incomplete };
        return (counts.keyed, Some(cause));
    }
    let cause = if counts.without_key > 0 { ReleaseCause::MemberWithoutKey } else { ReleaseCause::RanksEnded };
    (possible.max(1), (possible < wanted).then_some(cause))
}

fn create(
    gang: &GangSnapshot<'_>,
    size: Option<GangSize>,
    minimum: Option<u32>,
    release: Option<ReleaseCause>,
) -> Decision {
    let priority_class = common(terms(gang.members).map(|terms| &*terms.priority_class));
    let queue = common(terms(gang.members).map(|terms| &*terms.queue));
    let topology = common_topology(terms(gang.members));
    Decision::Create(NewGroup { minimum, owned: size.is_some(), priority_class, queue, topology, release })
}

fn wait(until: Option<Timestamp>, reason: WaitReason) -> Decision {
    Decision::Wait { until, reason }
}

/// Returns the time from which missing members are no longer expected.
fn deadline(gang: &GangSnapshot<'_>) -> Timestamp {
    gang.changed.saturating_add(PATIENCE).unwrap_or(Timestamp::MAX)
}

/// Returns the terms of the pods to schedule.
fn terms(members: &[Member]) -> impl Iterator<Item = &SchedulingTerms> {
    members.iter().filter(|member| member.keyed && member.stage.is_alive()).map(|member| &*member.terms)
}

/// Returns true if the scheduler treats all pods alike. The queue and topology of a pod have no effect: those of the object count.
fn has_equal_terms(members: &[Member]) -> bool {
    let compared = |terms: &SchedulingTerms| {
        let SchedulingTerms { priority, preemption_policy, scheduler, priority_class: _, queue: _, topology: _ } =
            terms.clone();
        (priority, preemption_policy, scheduler)
    };
    let mut all = terms(members).map(compared);
    let first = all.next();
    all.all(|other| Some(&other) == first.as_ref())
}

/// Returns the text that all pods have; empty if they differ.
pub(super) fn common<'a>(mut all: impl Iterator<Item = &'a str>) -> Box<str> {
    let first = all.next().unwrap_or_default();
    if all.all(|other| other == first) { first.into() } else { Box::default() }
}

/// Returns the network topology that all pods have.
pub(super) fn common_topology<'a>(mut all: impl Iterator<Item = &'a SchedulingTerms>) -> Option<NetworkTopology> {
    let first = all.next()?.topology;
    first.filter(|_| all.all(|other| other.topology == first))
}

impl Counts {
    fn new(members: &[Member], size: Option<GangSize>) -> Self {
        let count = |selected: &dyn Fn(&Member) -> bool| {
            u32::try_from(members.iter().filter(|member| selected(member)).count()).unwrap_or(u32::MAX)
        };
        let keyed = count(&|member| member.keyed && member.stage.is_alive());
        let without_key = count(&|member| !member.keyed && member.stage.is_alive());
        let succeeded = count(&|member| member.stage == Stage::Succeeded);
        let known = keyed.saturating_add(without_key).saturating_add(succeeded);
        let ceiling = size.map_or(u32::MAX, |size| keyed.saturating_add(size.total.saturating_sub(known)));
        Self {
            pending: count(&|member| member.keyed && member.stage == Stage::Pending),
            keyed,
            without_key,
            placed: succeeded > 0 || count(&|member| member.stage == Stage::Placed) > 0,
            ceiling,
        }
    }

    /// Returns true if pods wait for members that do not exist.
    fn is_short_of(&self, minimum: u32) -> bool {
        self.pending > 0 && self.keyed < minimum
    }
}
