//! Simulates a job, its operator, the webhook, the scheduler, the garbage collector and the controller, each of which can
//! act between any two steps of the others, or not at all for a while.
//!
//! Invariants: a pod never names an object that is missing and that no actor will create; the minimum of an object never
//! stays above the number of pods that can meet it; the object of a job that has ended or is suspended is deleted. And
//! once all actors run again and there is capacity, every pod of an active job is placed.
//!
//! `PROPTEST_CASES` sets a number of runs above [`RUNS`].

mod world;

use proptest::prelude::*;

use super::GroupApi;
use world::World;

/// Number of runs, which take some seconds. Rare interleavings need thousands.
const RUNS: u32 = 10_000;

/// An event of the simulation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The controller decides, and remembers its next action.
    Decide,
    /// The controller carries out the action that it remembers.
    Act,
    /// The controller restarts without what it remembers.
    Restart,
    /// The controller stops, and its Lease expires; or it starts again.
    Outage,
    /// The Lease looks fresh to the webhook, or expired.
    Lease,
    /// The webhook becomes unavailable, or available again.
    WebhookOutage,
    /// The operator creates the next pod of the job, or deletes a pod of a job that is suspended or ended.
    Operate,
    /// A quota prevents the operator from creating pods, or no longer does.
    Quota,
    /// The scheduler places pods.
    Schedule,
    /// Nodes are full, or have capacity.
    Capacity,
    /// A pod succeeds, fails or is deleted.
    Succeed(usize),
    /// See [`Event::Succeed`].
    Fail(usize),
    /// See [`Event::Succeed`].
    DeletePod(usize),
    /// The job is created under its name.
    CreateJob(u32, u32),
    /// The job is deleted.
    DeleteJob,
    /// The job is suspended or resumed.
    Suspend,
    /// The job completes or fails.
    End,
    /// The job is scaled.
    Scale(u32),
    /// The operator restarts the job: it deletes all pods, and new ones name another object.
    RestartJob,
    /// A user deletes the object.
    DeleteObject,
    /// The apiserver removes objects whose deletion has completed and those without owner.
    Collect,
    /// The job cannot be read, or can be read again.
    Forbid,
    /// Time passes, in seconds.
    Pass(i64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        20 => Just(Event::Decide),
        20 => Just(Event::Act),
        30 => Just(Event::Operate),
        12 => Just(Event::Schedule),
        10 => Just(Event::Collect),
        10 => prop_oneof![3 => 1..5i64, 1 => Just(61)].prop_map(Event::Pass),
        4 => Just(Event::Capacity),
        2 => Just(Event::Quota),
        2 => Just(Event::Restart),
        2 => Just(Event::Outage),
        2 => Just(Event::Lease),
        3 => Just(Event::WebhookOutage),
        3 => any::<usize>().prop_map(Event::Succeed),
        3 => any::<usize>().prop_map(Event::Fail),
        3 => any::<usize>().prop_map(Event::DeletePod),
        6 => (1..6u32, 1..6u32).prop_map(|(total, minimum)| Event::CreateJob(total, minimum.min(total))),
        2 => Just(Event::DeleteJob),
        3 => Just(Event::Suspend),
        2 => Just(Event::End),
        3 => (1..6u32).prop_map(Event::Scale),
        2 => Just(Event::RestartJob),
        2 => Just(Event::DeleteObject),
        1 => Just(Event::Forbid),
    ]
}

fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: default.cases.max(RUNS), failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_pod_waits_forever_and_no_ended_job_keeps_its_object(
        api in prop::sample::select(GroupApi::ALL.to_vec()),
        events in prop::collection::vec(event(), 0..200),
    ) {
        let mut world = World::new(api);
        for event in events {
            world.apply(event);
            prop_assert_eq!(world.violation(), None, "after {:?}: {:#?}", event, world);
        }
        let before = format!("{world:#?}");
        world.settle();
        prop_assert_eq!(world.unsettled(), None, "{:#?}\nbefore: {}", world, before);
    }
}
