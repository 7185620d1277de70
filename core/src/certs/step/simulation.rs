//! Simulates two concurrent leaders that crash between reads and writes, other clients that wipe and restore objects, a
//! clock that jumps, and delayed apiservers and replicas. Invariant: every certificate that a replica may serve is
//! trusted by every `caBundle` that an apiserver may use. It does not cover a certificate that is not yet valid, or whose CA
//! is not, because the clock was set back: it must be replaced before another client changes an object.

mod world;

use proptest::prelude::*;

use world::{ExternalChange, World};

/// An event of the simulation.
#[derive(Clone, Debug)]
enum Event {
    /// A leader reads its next object, or decides and writes.
    Turn(usize),
    /// A leader crashes; a new one without state replaces it.
    Crash(usize),
    /// Time passes, in seconds.
    Pass(i64),
    /// The clock jumps, in seconds.
    Jump(i64),
    /// Another client writes.
    External(ExternalChange),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        60 => (0..2usize).prop_map(Event::Turn),
        3 => (0..2usize).prop_map(Event::Crash),
        20 => (1..40i64).prop_map(Event::Pass),
        1 => prop_oneof![Just(-7200), Just(-3000), Just(300), Just(100_000)].prop_map(Event::Jump),
        4 => prop::sample::select(ExternalChange::ALL.to_vec()).prop_map(Event::External),
    ]
}

/// Applies `events`, and then lets the leaders work until the rotation converges. Returns the violation of the invariant, if
/// there is one.
fn run(events: &[Event]) -> Result<(), String> {
    let mut world = World::default();
    let check = |world: &World| world.untrusted_certificate().map_or(Ok(()), Err);
    for event in events {
        match *event {
            Event::Turn(leader) => world.turn(leader),
            Event::Crash(leader) => world.crash(leader),
            Event::Pass(seconds) => world.pass(seconds),
            // Only one jump at a time has to be tolerated.
            Event::Jump(seconds) if world.converged() => world.jump(seconds),
            Event::Jump(_) => {}
            Event::External(change) => world.apply_external(change),
        }
        check(&world)?;
    }
    world.install();
    for _ in 0..100 {
        world.turn(0);
        world.turn(1);
        world.pass(3);
        check(&world)?;
    }
    let converged = (0..2000).any(|_| {
        world.turn(0);
        world.pass(1);
        world.converged()
    });
    if converged { Ok(()) } else { Err(format!("no convergence: {world:?}")) }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_call_fails_and_the_rotation_converges(events in prop::collection::vec(event(), 0..600)) {
        prop_assert_eq!(run(&events), Ok(()));
    }
}

/// The clock is set back twice, by more in total than certificates are back-dated. The CA is not yet valid, but the
/// certificate is, which was issued between the jumps. Another client deletes the serving Secret, so that replicas keep the
/// certificate until it is valid again, when no `caBundle` contains its CA. This is not tolerated, so that the simulation
/// rejects the deletion.
#[test]
fn a_clock_that_is_set_back_twice() {
    let rounds = |count: usize| std::iter::repeat_n(Event::Turn(0), count * 4);
    let mut events: Vec<Event> = rounds(3).collect();
    events.extend([Event::Pass(200), Event::Jump(-3000), Event::External(ExternalChange::WipeServingSecret)]);
    events.extend(rounds(3));
    events.extend([Event::Pass(200), Event::Jump(-3000), Event::External(ExternalChange::DeleteServingSecret)]);
    events.extend(rounds(3));
    events.push(Event::Pass(2000));
    assert_eq!(run(&events), Ok(()));
}
