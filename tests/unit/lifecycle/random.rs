//! Random lives of pods under a controller that gets old views of them, gets some twice, and misses some.
//!
//! Never an action while the payload may run again; always one once it may not; never two at a time; what cannot be
//! ended is tried ever more rarely; the memory stays small.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use rstest::rstest;
use trainmesh_core::config::{Configuration, Termination};
use trainmesh_core::lifecycle::{
    Attempt, AttemptResult, Catalogue, Decision, History, Method, PodFacts, ReportCode, Situation, Step, Target, decide,
};
use trainmesh_core::scope::Mode;

use super::chance;
use super::kubelet::{Life, Node, Part, after, below};
use super::pod::at;
use trainmesh_testing::dice::Dice;

const LIVES: u64 = 10_000;
/// The lives are split, so that the tests run side by side.
const SHARES: u64 = 10;
/// How long after the payload's end a life is followed: beyond giving up, and a rare try.
const FOLLOWED: SignedDuration = SignedDuration::from_mins(100);
/// How long after it the kubelet still has news of no interest.
const BUSY: SignedDuration = SignedDuration::from_mins(5);
/// A controller resyncs after so many seconds, whatever it has missed.
const RESYNC: i64 = 300;
const LADDER: [Method; 3] = [Method::EnvoyAdmin, Method::StatusPort, Method::StatusForward];

/// What is found in a thousand lives. That the payload was started again after an action is not among it.
const FOUND: [ReportCode; 9] = [
    ReportCode::ProxyEnded,
    ReportCode::ProxyEndFailed,
    ReportCode::ProxyDiedEarly,
    ReportCode::ProxyRestarted,
    ReportCode::ProxyCrashLoop,
    ReportCode::HelperEnded,
    ReportCode::HelperEndFailed,
    ReportCode::HelperHasNoMethod,
    ReportCode::Forbidden,
];

struct Controller<'a> {
    settings: &'a Termination,
    catalogue: &'a Catalogue,
    history: History,
    /// Under way: when it ends, and what comes of it then.
    action: Option<(Timestamp, Step, Target, AttemptResult)>,
    tries: Vec<(Timestamp, Target)>,
    found: Vec<ReportCode>,
    wake: Option<Timestamp>,
}

impl Controller<'_> {
    fn decide(&mut self, facts: &PodFacts, now: Timestamp) -> Decision {
        loop {
            let decision = decide(&Situation {
                facts,
                mode: Ok(Mode::Enabled),
                settings: self.settings,
                catalogue: self.catalogue,
                history: &self.history,
                now,
            });
            let Decision::Report(report) = decision else { return decision };
            assert!(!self.history.told(&report), "told twice: {report:?}");
            self.history.tell(&report);
            self.found.push(report.code);
        }
    }

    /// Looks at a view of the pod, which may be old, and acts on the pod as it is.
    fn look(&mut self, view: &PodFacts, node: &mut Node, dice: &mut Dice) {
        let now = node.now;
        self.wake = None;
        let decision = self.decide(view, now);
        match decision {
            Decision::End { ref step, ref target } => {
                assert!(self.action.is_none(), "two actions at a time");
                if self.decide(&node.facts(), now) == decision {
                    assert!(!node.payload_may_run(), "{target:?} is ended while the payload may run");
                    self.act(step, target, node, dice);
                } else {
                    self.wake = Some(after(now, 1));
                }
            }
            Decision::Wait { until, .. } => self.wake = until,
            Decision::Skip(_) | Decision::Report(_) => {}
        }
    }

    fn act(&mut self, step: &Step, target: &Target, node: &mut Node, dice: &mut Dice) {
        let now = node.now;
        let container = node.containers.iter().find(|container| *container.name == *target.container).unwrap();
        assert!(matches!(container.life, Life::Runs { .. }), "{target:?} does not run");
        let reaction = container.reactions[&step.method];
        let reached = now >= reaction.from;
        let result = if reached { reaction.result } else { AttemptResult::Unreachable };
        let lasts = if result == AttemptResult::TimedOut { 10 } else { below(dice, 3) };
        if let Some((seconds, code)) = reaction.ends.filter(|_| reached) {
            node.quit(&target.container, seconds, code);
        }
        self.history.begin(after(now, 20));
        self.tries.push((now, target.clone()));
        self.action = Some((after(now, lasts), step.clone(), target.clone(), result));
    }

    fn finish(&mut self, now: Timestamp, dice: &mut Dice) {
        let Some((_, step, target, result)) = self.action.take_if(|(at, ..)| *at <= now) else { return };
        let jitter = f64::from(u32::try_from(dice.below(1_000)).unwrap()) / 1_000.0;
        self.history.record(&target, &step, Attempt { result, detail: "x".repeat(1_000) }, jitter, now);
    }
}

/// One life, from the pod's birth to some hours after its payload's end, and what was found in it.
fn live(seed: u64, settings: &Termination, catalogue: &Catalogue) -> Vec<ReportCode> {
    let mut dice = Dice::new(!seed);
    let mut node = chance::node(seed, at(0));
    let mut controller = Controller {
        settings,
        catalogue,
        history: History::default(),
        action: None,
        tries: Vec::new(),
        found: Vec::new(),
        wake: None,
    };
    let mut old = node.facts();
    let mut resync = after(at(0), RESYNC);
    let mut final_at = None;
    while final_at.is_none_or(|end: Timestamp| node.now < end + FOLLOWED) {
        let action = controller.action.as_ref().map(|(at, ..)| *at);
        let busy = final_at.is_none_or(|end| node.now < end + BUSY);
        let spurious = (busy && dice.once_in(4)).then(|| after(node.now, 1 + below(&mut dice, 20)));
        let [event, wake] = [node.next(), controller.wake].map(|at| at.filter(|at| *at > node.now));
        let next = [event, wake, action, spurious].into_iter().flatten().min().unwrap_or(resync).min(resync);
        node.advance(next.max(node.now));
        controller.finish(node.now, &mut dice);
        assert!(final_at.is_none() || !node.payload_may_run(), "the payload runs again");
        if final_at.is_none() && !node.payload_may_run() {
            final_at = Some(node.now);
        }
        let resyncs = node.now >= resync;
        if resyncs {
            resync = after(node.now, RESYNC);
        }
        let woken = resyncs || wake.is_some_and(|wake| wake <= node.now);
        match dice.below(10) {
            // Missed.
            0 if !woken => {}
            // Twice.
            1 => {
                let view = node.facts();
                controller.look(&view, &mut node, &mut dice);
                controller.look(&view, &mut node, &mut dice);
                old = view;
            }
            2 | 3 if !woken => controller.look(&old, &mut node, &mut dice),
            _ => controller.look(&node.facts(), &mut node, &mut dice),
        }
    }
    judge(&node, &controller, final_at.unwrap());
    controller.found
}

/// What must hold at the end of a life.
fn judge(node: &Node, controller: &Controller<'_>, final_at: Timestamp) {
    let Controller { history, tries, found, .. } = controller;
    assert!(!found.contains(&ReportCode::PrematureEnd));
    assert!(format!("{history:?}").len() < 6_000, "{history:?}");
    for container in &node.containers {
        let methods: &[Method] = match container.part {
            Part::Payload | Part::Bystander => &[],
            Part::Proxy => &LADDER,
            Part::Helper => &[Method::HelperPost],
        };
        let ended = matches!(container.life, Life::Ended { again: None, .. });
        let times: Vec<Timestamp> =
            tries.iter().filter(|(_, target)| *target.container == *container.name).map(|(at, _)| *at).collect();
        assert!(
            ended || !container.obeys(methods),
            "{} was never ended: {times:?} {:?} {:?}",
            container.name,
            container.reactions,
            container.policy
        );
        assert!(!methods.is_empty() || times.is_empty(), "{} was told to end", container.name);
        assert!(methods.is_empty() || ended || !times.is_empty(), "{} was never told to end", container.name);
        // Ten rounds and the rare ones, and a few more where it comes back; half a minute apart where nothing is reached.
        let reached = |method: &Method| {
            let reaction = container.reactions[method];
            reaction.from <= at(0)
                && !matches!(reaction.result, AttemptResult::Unreachable | AttemptResult::ContainerGone)
        };
        let bound = if methods.iter().all(reached) { 12 * methods.len() + 10 } else { 2 * 100 + 20 };
        assert!(times.len() <= bound, "{} was told to end {} times", container.name, times.len());
        // Pauses are half fixed: the fifth round begins after 7.5 s at the soonest, the sixth after 15.5 s.
        let crowd = times.windows(16).filter(|window| window[15].duration_since(window[0]).as_secs() < 15).count();
        assert_eq!(crowd, 0, "{} was told to end again and again: {times:?}", container.name);
    }
    if let Some((first, _)) = tries.first() {
        assert!(first.duration_since(final_at).as_secs() <= RESYNC + 31, "first told to end at {first}");
    }
}

#[rstest]
fn of_ten_thousand_lives_none_is_cut_short_and_none_is_left_hanging(
    #[values(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)] share: u64,
) {
    // With every method: a life is judged by all of them.
    let settings = Termination { port_forward: true, ..Configuration::embedded().termination };
    let catalogue = Catalogue::new(&settings);
    let mut found = BTreeSet::new();
    for seed in (0..LIVES).filter(|seed| seed % SHARES == share) {
        let life = std::panic::catch_unwind(|| live(seed, &settings, &catalogue));
        found.extend(life.unwrap_or_else(|_| panic!("in life {seed}")));
    }
    // The lives are as different as they are meant to be.
    assert_eq!(found, FOUND.into_iter().collect());
}
