//! Two leaders at once, who crash between any two of their reads and writes, outsiders who wipe and restore, a clock that
//! jumps, and everybody else late: at every moment every leaf that a replica may show is trusted by every `caBundle` that
//! an apiserver may use.

mod world;

use proptest::prelude::*;

use world::{Act, World};

/// Something that happens.
#[derive(Clone, Debug)]
enum Event {
    /// A leader reads one object more, or decides and writes.
    Turn(usize),
    /// A leader ends; another one, which knows nothing, takes its place.
    Crash(usize),
    /// Seconds pass.
    Pass(i64),
    /// The clock is set.
    Jump(i64),
    /// Somebody else writes.
    Outsider(Act),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        60 => (0..2usize).prop_map(Event::Turn),
        3 => (0..2usize).prop_map(Event::Crash),
        20 => (1..40i64).prop_map(Event::Pass),
        1 => prop_oneof![Just(-7200), Just(-3000), Just(300), Just(100_000)].prop_map(Event::Jump),
        4 => prop::sample::select(Act::ALL.to_vec()).prop_map(Event::Outsider),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_call_fails_and_all_ends_well(events in prop::collection::vec(event(), 0..600)) {
        let mut world = World::default();
        for event in events {
            match event {
                Event::Turn(leader) => world.turn(leader),
                Event::Crash(leader) => world.crash(leader),
                Event::Pass(seconds) => world.pass(seconds),
                // One jump is to be survived; there and back again is no clock.
                Event::Jump(seconds) if world.settled() => world.jump(seconds),
                Event::Jump(_) => {}
                Event::Outsider(act) => world.outsider(act),
            }
            prop_assert_eq!(world.failing(), None);
        }
        world.install();
        for _ in 0..100 {
            world.turn(0);
            world.turn(1);
            world.pass(3);
            prop_assert_eq!(world.failing(), None);
        }
        let settled = (0..2000).any(|_| {
            world.turn(0);
            world.pass(1);
            world.settled()
        });
        prop_assert!(settled, "{world:?}");
    }
}
