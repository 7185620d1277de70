//! Simulates two concurrent leaders that crash between reads and writes, other clients that wipe and restore objects, a
//! clock that jumps, and delayed apiservers and replicas. Invariant: every certificate that a replica may serve is
//! trusted by every `caBundle` that an apiserver may use.

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

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_call_fails_and_the_rotation_converges(events in prop::collection::vec(event(), 0..600)) {
        let mut world = World::default();
        for event in events {
            match event {
                Event::Turn(leader) => world.turn(leader),
                Event::Crash(leader) => world.crash(leader),
                Event::Pass(seconds) => world.pass(seconds),
                // Only one jump at a time has to be tolerated.
                Event::Jump(seconds) if world.converged() => world.jump(seconds),
                Event::Jump(_) => {}
                Event::External(change) => world.apply_external(change),
            }
            prop_assert_eq!(world.untrusted_certificate(), None);
        }
        world.install();
        for _ in 0..100 {
            world.turn(0);
            world.turn(1);
            world.pass(3);
            prop_assert_eq!(world.untrusted_certificate(), None);
        }
        let converged = (0..2000).any(|_| {
            world.turn(0);
            world.pass(1);
            world.converged()
        });
        prop_assert!(converged, "{world:?}");
    }
}
