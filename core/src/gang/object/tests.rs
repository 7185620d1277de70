//! Tests of the decision and of the objects.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::gang::GangOwner;
use crate::pod::Pod;

/// Builds members from words: `p` pending, `r` placed, `s` succeeded, `l` leaving; upper case without a key; a suffix is the
/// priority.
fn members(text: &str) -> Vec<Member> {
    let member = |word: &str| {
        let (stage, priority) = word.split_at(1);
        let keyed = stage.chars().all(|letter| letter.is_ascii_lowercase());
        let stage = match stage.to_ascii_lowercase().as_str() {
            "p" => Stage::Pending,
            "r" => Stage::Placed,
            "s" => Stage::Succeeded,
            _ => Stage::Leaving,
        };
        let terms = SchedulingTerms {
            priority: priority.parse().unwrap_or_default(),
            priority_class: priority.into(),
            scheduler: "default-scheduler".into(),
            ..SchedulingTerms::default()
        };
        Member { keyed, stage, terms: Arc::new(terms) }
    };
    text.split_whitespace().map(member).collect()
}

fn active(total: u32, minimum: u32) -> JobState {
    JobState::Active(GangSize { total, minimum })
}

fn own(minimum: impl Into<Option<u32>>) -> GroupState {
    GroupState::Own { minimum: minimum.into(), deleting: false }
}

/// Describes the decision about a gang whose members last changed `age` seconds ago.
fn decision(api: GroupApi, job: JobState, pods: &str, group: GroupState, age: i64) -> String {
    let changed = Timestamp::UNIX_EPOCH;
    let now = changed + SignedDuration::from_secs(age);
    match decide(&GangSnapshot { api, job, members: &members(pods), group, changed, now }) {
        Decision::Create(NewGroup { minimum, owned, priority_class, queue: _, topology: _, release }) => {
            let kind = minimum.map_or_else(|| "basic".to_owned(), |minimum| format!("gang of {minimum}"));
            let owner = if owned { "" } else { " without owner" };
            let class = if priority_class.is_empty() { String::new() } else { format!(" of class {priority_class}") };
            let release = release.map_or_else(String::new, |cause| format!(": {}", cause.code()));
            format!("create {kind}{class}{owner}{release}")
        }
        Decision::SetMinimum { minimum, cause } => {
            format!("set {minimum}{}", cause.map_or_else(String::new, |cause| format!(": {}", cause.code())))
        }
        Decision::Delete { cause, force } => {
            format!("{} {}", if force { "replace" } else { "delete" }, cause.code())
        }
        Decision::Wait { until, reason } => {
            let time = until.map_or_else(String::new, |until| format!("{}: ", until.duration_since(now).as_secs()));
            format!("wait {time}{}", reason.code())
        }
    }
}

#[rstest]
#[case::no_pod(active(4, 4), "", GroupState::Missing, 0, "wait NotNeeded")]
#[case::first_pods(active(4, 4), "p p p", GroupState::Missing, 5, "wait 55: MembersMissing")]
#[case::last_pod(active(4, 4), "p p p p", GroupState::Missing, 0, "create gang of 4")]
#[case::priority_class(active(2, 2), "p7 p7", GroupState::Missing, 0, "create gang of 2 of class 7")]
#[case::elastic(active(4, 2), "p p", GroupState::Missing, 0, "create gang of 2")]
#[case::member_without_key(active(4, 4), "p p P", GroupState::Missing, 0, "create basic: MemberWithoutKey")]
#[case::elastic_without_key(active(3, 2), "p p P", GroupState::Missing, 0, "create gang of 2")]
#[case::incomplete(active(4, 4), "p p p", GroupState::Missing, 60, "create basic: Incomplete")]
#[case::different_priorities(active(2, 2), "p1 p2", GroupState::Missing, 0, "create basic: DifferentTerms")]
#[case::placed_before(active(4, 4), "r r r p", GroupState::Missing, 0, "create basic: AlreadyPlaced")]
#[case::ended_rank(active(4, 4), "s r r p", GroupState::Missing, 0, "create basic: AlreadyPlaced")]
#[case::replaced_before_placement(active(2, 2), "l p p", GroupState::Missing, 0, "create gang of 2")]
#[case::unknown_job(JobState::Unknown, "p p", GroupState::Missing, 5, "wait 55: JobUnknown")]
#[case::unknown_job_for_long(
    JobState::Unknown,
    "p p",
    GroupState::Missing,
    60,
    "create basic without owner: JobUnknown"
)]
#[case::orphans(JobState::Gone, "p p", GroupState::Missing, 60, "create basic without owner: JobUnknown")]
#[case::up_to_date(active(4, 4), "p p p p", own(4), 0, "wait UpToDate")]
#[case::basic(active(4, 4), "p p p", own(None), 0, "wait UpToDate")]
#[case::different_priorities_later(active(4, 2), "p1 p1 p2", own(2), 0, "replace DifferentTerms")]
#[case::replaced_with_another_priority(active(2, 2), "r1 p2", own(2), 0, "replace DifferentTerms")]
#[case::placed_with_different_priorities(active(2, 2), "r1 r2", own(2), 0, "wait UpToDate")]
#[case::basic_with_different_priorities(active(2, 2), "p1 p2", own(None), 0, "wait UpToDate")]
#[case::member_replaced(active(4, 4), "p p p", own(4), 5, "wait 55: MembersMissing")]
#[case::member_never_replaced(active(4, 4), "p p p", own(4), 60, "replace Released")]
#[case::member_replaced_without_key(active(4, 4), "p p p P", own(4), 0, "replace Released")]
#[case::rank_replaced_after_another_ended(active(4, 4), "s r r p", own(4), 0, "replace Released")]
#[case::rank_replaced(active(4, 4), "l r r r p", own(4), 0, "wait UpToDate")]
#[case::scaled_down(active(2, 2), "p p", own(4), 0, "replace Released")]
#[case::scaled_up(active(6, 6), "p p p p", own(4), 0, "wait UpToDate")]
#[case::being_deleted(active(4, 4), "p p p p", GroupState::Own { minimum: Some(4), deleting: true }, 0, "wait UpToDate")]
#[case::being_deleted_and_too_large(active(2, 2), "p p", GroupState::Own { minimum: Some(4), deleting: true }, 0, "replace Released")]
#[case::ended(JobState::Ended, "s s r", own(3), 0, "delete JobEnded")]
#[case::suspended(JobState::Suspended, "p p", own(2), 0, "delete JobSuspended")]
#[case::ended_and_being_deleted(JobState::Ended, "s r", GroupState::Own { minimum: Some(2), deleting: true }, 0, "wait BeingDeleted")]
#[case::ended_without_object(JobState::Ended, "p", GroupState::Missing, 90, "wait NotNeeded")]
#[case::all_pods_ended(active(2, 2), "s s", own(2), 0, "delete MembersEnded")]
#[case::pods_being_recreated(active(2, 2), "l l", own(2), 5, "wait 55: MembersMissing")]
#[case::pods_gone(active(2, 2), "", own(2), 60, "delete MembersGone")]
#[case::foreign(active(2, 2), "p p", GroupState::Foreign, 90, "wait ForeignGroup")]
#[case::foreign_of_an_ended_job(JobState::Ended, "p p", GroupState::Foreign, 90, "wait ForeignGroup")]
#[case::foreign_without_pods(active(2, 2), "", GroupState::Foreign, 90, "wait ForeignGroup")]
fn immutable_groups_are_created_last(
    #[case] job: JobState,
    #[case] pods: &str,
    #[case] group: GroupState,
    #[case] age: i64,
    #[case] expected: &str,
) {
    assert_eq!(decision(GroupApi::NativeV1Alpha2, job, pods, group, age), expected);
}

#[rstest]
#[case::first_pod(active(4, 4), "p", GroupState::Missing, 0, "create gang of 4")]
#[case::member_without_key(active(4, 4), "p p P", GroupState::Missing, 0, "create gang of 3: MemberWithoutKey")]
#[case::missed_later(active(4, 4), "p p P", own(4), 0, "set 3: MemberWithoutKey")]
#[case::members_missing(active(4, 4), "p p p", own(4), 5, "wait 55: MembersMissing")]
#[case::incomplete(active(4, 4), "p p p", own(4), 60, "set 3: Incomplete")]
#[case::complete_at_last(active(4, 4), "p p p p", own(3), 0, "set 4")]
#[case::complete_after_placement(active(4, 4), "r r r p", own(3), 0, "wait UpToDate")]
#[case::scaled_up(active(6, 6), "p p p p", own(4), 0, "set 6")]
#[case::scaled_down(active(2, 2), "p p", own(4), 0, "set 2")]
#[case::ended_rank(active(4, 4), "s r r p", own(4), 0, "set 3: RanksEnded")]
#[case::different_priorities(active(2, 2), "p1 p2", own(2), 0, "set 1: DifferentTerms")]
#[case::unknown_job(JobState::Unknown, "p p", own(4), 5, "wait 55: MembersMissing")]
#[case::unknown_job_for_long(JobState::Unknown, "p p", own(4), 60, "set 2: JobUnknown")]
#[case::new_and_unknown(
    JobState::Unknown,
    "p p",
    GroupState::Missing,
    60,
    "create gang of 2 without owner: JobUnknown"
)]
#[case::new_and_unknown_yet(JobState::Unknown, "p p", GroupState::Missing, 5, "wait 55: JobUnknown")]
#[case::suspended(JobState::Suspended, "l l", own(2), 0, "delete JobSuspended")]
fn mutable_groups_follow_the_members(
    #[case] job: JobState,
    #[case] pods: &str,
    #[case] group: GroupState,
    #[case] age: i64,
    #[case] expected: &str,
) {
    for api in [GroupApi::NativeV1Beta1, GroupApi::Volcano, GroupApi::Coscheduling] {
        assert_eq!(decision(api, job, pods, group, age), expected, "{api:?}");
    }
}

#[rstest]
#[case::native(GroupApi::NativeV1Alpha2, Some(4), "scheduling.k8s.io/v1alpha2",
    json!({"schedulingPolicy": {"gang": {"minCount": 4}}, "priorityClassName": "high"}))]
#[case::native_basic(GroupApi::NativeV1Alpha2, None, "scheduling.k8s.io/v1alpha2",
    json!({"schedulingPolicy": {"basic": {}}, "priorityClassName": "high"}))]
#[case::native_1_37(GroupApi::NativeV1Beta1, Some(4), "scheduling.k8s.io/v1beta1",
    json!({"schedulingPolicy": {"gang": {"minCount": 4}}, "priorityClassName": "high"}))]
#[case::volcano(GroupApi::Volcano, Some(4), "scheduling.volcano.sh/v1beta1",
    json!({"minMember": 4, "priorityClassName": "high", "queue": "research", "networkTopology": {"mode": "soft", "highestTierAllowed": 2}}))]
#[case::coscheduling(GroupApi::Coscheduling, Some(4), "scheduling.x-k8s.io/v1alpha1", json!({"minMember": 4}))]
fn objects_are_owned_but_not_controlled(
    #[case] api: GroupApi,
    #[case] minimum: Option<u32>,
    #[case] api_version: &str,
    #[case] spec: Value,
) {
    let owner = GangOwner {
        api_version: "batch/v1".to_owned(),
        kind: "Job".to_owned(),
        name: "train".to_owned(),
        uid: "u1".to_owned(),
    };
    let annotations = json!({VOLCANO_TOPOLOGY[0]: "soft", VOLCANO_TOPOLOGY[1]: "2"});
    let topology = NetworkTopology::read(Pod::new(&json!({"metadata": {"annotations": annotations}})));
    let group = NewGroup {
        minimum,
        owned: true,
        priority_class: "high".into(),
        queue: "research".into(),
        topology,
        release: None,
    };
    let object = manifest(api, GroupName { namespace: "team-a", name: "train-0123456789ab" }, &group, Some(&owner));
    let expected = json!({
        "apiVersion": api_version, "kind": "PodGroup",
        "metadata": {
            "name": "train-0123456789ab", "namespace": "team-a", "labels": {"trainmesh.dev/managed": "true"},
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u1"}],
        },
        "spec": spec,
    });
    assert_eq!(object, expected);
    assert_eq!(read_group(api, &object), own(minimum));
    if let Some(minimum) = minimum {
        let mut patched = object.clone();
        json_patch::merge(&mut patched, &minimum_patch(api, "p1", "7", minimum + 1));
        assert_eq!(read_group(api, &patched), own(minimum + 1));
        assert_eq!(patched["metadata"]["uid"], "p1");
        assert_eq!(patched["metadata"]["resourceVersion"], "7");
    }
}

#[rstest]
#[case::operator(json!({"metadata": {"labels": {"app": "x"}}, "spec": {"minMember": 2}}), GroupState::Foreign)]
#[case::no_labels(json!({"metadata": {}, "spec": {"minMember": 2}}), GroupState::Foreign)]
#[case::deleted(json!({"metadata": {"labels": {"trainmesh.dev/managed": "true"}, "deletionTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"minMember": 2}}), GroupState::Own { minimum: Some(2), deleting: true })]
fn objects_of_others_are_recognized(#[case] object: Value, #[case] expected: GroupState) {
    assert_eq!(read_group(GroupApi::Volcano, &object), expected);
}
