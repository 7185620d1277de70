//! Random pod lifecycles against a controller that receives stale views, duplicates and gaps.
//!
//! The controller never acts while a main container may run again, always acts once none can, never runs two actions at
//! a time, retries a stubborn container ever more rarely, and keeps little memory.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use rstest::rstest;
use trainmesh_core::config::{Configuration, Termination};
use trainmesh_core::lifecycle::{
    Attempt, AttemptOutcome, AttemptResult, Decision, DecisionInput, History, Method, PodFacts, PodFindingCode,
    SidecarCatalog, TerminationTarget, decide,
};
use trainmesh_core::scope::Mode;

use super::generator;
use super::kubelet::{Node, Role, RunState, after, random_below};
use super::pod::at;
use trainmesh_testing::rng::SeededRng;

const LIFECYCLES: u64 = 10_000;
/// The lifecycles are split, so that the tests run in parallel.
const SHARES: u64 = 10;
/// Time to observe after the main containers' final termination: longer than giving up and one slow retry.
const OBSERVED: SignedDuration = SignedDuration::from_mins(100);
/// Time after that for which the kubelet still sends irrelevant updates.
const BUSY: SignedDuration = SignedDuration::from_mins(5);
/// Seconds between the controller's resyncs.
const RESYNC: i64 = 300;
const PROXY_METHODS: [Method; 3] = [Method::EnvoyAdmin, Method::StatusPort, Method::StatusForward];

/// Findings that a thousand lifecycles must produce. `PrematureEnd` must not be among them.
const EXPECTED_FINDINGS: [PodFindingCode; 9] = [
    PodFindingCode::ProxyEnded,
    PodFindingCode::ProxyEndFailed,
    PodFindingCode::ProxyDiedEarly,
    PodFindingCode::ProxyRestarted,
    PodFindingCode::ProxyCrashLoop,
    PodFindingCode::HelperEnded,
    PodFindingCode::HelperEndFailed,
    PodFindingCode::HelperHasNoMethod,
    PodFindingCode::Forbidden,
];

struct Controller<'a> {
    settings: &'a Termination,
    catalog: &'a SidecarCatalog,
    history: History,
    /// Running action: its end, and its result at that time.
    action: Option<(Timestamp, Attempt, TerminationTarget, AttemptResult)>,
    attempts: Vec<(Timestamp, TerminationTarget)>,
    findings: Vec<PodFindingCode>,
    wake: Option<Timestamp>,
}

impl Controller<'_> {
    fn decide(&mut self, facts: &PodFacts, now: Timestamp) -> Decision {
        loop {
            let decision = decide(&DecisionInput {
                facts,
                mode: Ok(Mode::Enabled),
                settings: self.settings,
                catalog: self.catalog,
                history: &self.history,
                now,
            });
            let Decision::Publish(finding) = decision else { return decision };
            assert!(!self.history.is_published(&finding), "reported twice: {finding:?}");
            self.history.record_finding(&finding);
            self.findings.push(finding.code);
        }
    }

    /// Decides on a view of the pod, which may be stale, and acts on the pod's current state.
    fn observe(&mut self, view: &PodFacts, node: &mut Node, rng: &mut SeededRng) {
        let now = node.now;
        self.wake = None;
        let decision = self.decide(view, now);
        match decision {
            Decision::Terminate { ref attempt, ref target } => {
                assert!(self.action.is_none(), "two actions at a time");
                if self.decide(&node.facts(), now) == decision {
                    assert!(!node.main_container_may_run(), "{target:?} is terminated while a main container may run");
                    self.act(attempt, target, node, rng);
                } else {
                    self.wake = Some(after(now, 1));
                }
            }
            Decision::Wait { until, .. } => self.wake = until,
            Decision::Skip(_) | Decision::Publish(_) => {}
        }
    }

    fn act(&mut self, attempt: &Attempt, target: &TerminationTarget, node: &mut Node, rng: &mut SeededRng) {
        let now = node.now;
        let container = node.containers.iter().find(|container| *container.name == *target.container).unwrap();
        assert!(matches!(container.state, RunState::Running { .. }), "{target:?} does not run");
        let reaction = container.reactions[&attempt.method];
        let reached = now >= reaction.from;
        let result = if reached { reaction.result } else { AttemptResult::Unreachable };
        let lasts = if result == AttemptResult::TimedOut { 10 } else { random_below(rng, 3) };
        if let Some((seconds, code)) = reaction.ends.filter(|_| reached) {
            node.quit(&target.container, seconds, code);
        }
        self.history.begin(after(now, 20));
        self.attempts.push((now, target.clone()));
        self.action = Some((after(now, lasts), attempt.clone(), target.clone(), result));
    }

    fn finish(&mut self, now: Timestamp, rng: &mut SeededRng) {
        let Some((_, attempt, target, result)) = self.action.take_if(|(at, ..)| *at <= now) else { return };
        let jitter = f64::from(u32::try_from(rng.below(1_000)).unwrap()) / 1_000.0;
        self.history.record(&target, &attempt, AttemptOutcome { result, detail: "x".repeat(1_000) }, jitter, now);
    }
}

/// Simulates one lifecycle, from the pod's start until well after its final termination, and returns the findings.
fn simulate(seed: u64, settings: &Termination, catalog: &SidecarCatalog) -> Vec<PodFindingCode> {
    let mut rng = SeededRng::new(!seed);
    let mut node = generator::node(seed, at(0));
    let mut controller = Controller {
        settings,
        catalog,
        history: History::default(),
        action: None,
        attempts: Vec::new(),
        findings: Vec::new(),
        wake: None,
    };
    let mut stale = node.facts();
    let mut resync = after(at(0), RESYNC);
    let mut final_at = None;
    while final_at.is_none_or(|end: Timestamp| node.now < end + OBSERVED) {
        let action = controller.action.as_ref().map(|(at, ..)| *at);
        let busy = final_at.is_none_or(|end| node.now < end + BUSY);
        let spurious = (busy && rng.one_in(4)).then(|| after(node.now, 1 + random_below(&mut rng, 20)));
        let [event, wake] = [node.next(), controller.wake].map(|at| at.filter(|at| *at > node.now));
        let next = [event, wake, action, spurious].into_iter().flatten().min().unwrap_or(resync).min(resync);
        node.advance(next.max(node.now));
        controller.finish(node.now, &mut rng);
        assert!(final_at.is_none() || !node.main_container_may_run(), "a main container runs again");
        if final_at.is_none() && !node.main_container_may_run() {
            final_at = Some(node.now);
        }
        let resyncs = node.now >= resync;
        if resyncs {
            resync = after(node.now, RESYNC);
        }
        let woken = resyncs || wake.is_some_and(|wake| wake <= node.now);
        match rng.below(10) {
            // A missed update.
            0 if !woken => {}
            // A duplicate.
            1 => {
                let view = node.facts();
                controller.observe(&view, &mut node, &mut rng);
                controller.observe(&view, &mut node, &mut rng);
                stale = view;
            }
            2 | 3 if !woken => controller.observe(&stale, &mut node, &mut rng),
            _ => controller.observe(&node.facts(), &mut node, &mut rng),
        }
    }
    check_invariants(&node, &controller, final_at.unwrap());
    controller.findings
}

/// Checks the invariants at the end of a lifecycle.
fn check_invariants(node: &Node, controller: &Controller<'_>, final_at: Timestamp) {
    let Controller { history, attempts, findings, .. } = controller;
    assert!(!findings.contains(&PodFindingCode::PrematureEnd));
    assert!(format!("{history:?}").len() < 6_000, "{history:?}");
    for container in &node.containers {
        let methods: &[Method] = match container.role {
            Role::Main | Role::UnknownSidecar => &[],
            Role::Proxy => &PROXY_METHODS,
            Role::Sidecar => &[Method::SidecarPost],
        };
        let terminated = matches!(container.state, RunState::Terminated { restart_at: None, .. });
        let times: Vec<Timestamp> =
            attempts.iter().filter(|(_, target)| *target.container == *container.name).map(|(at, _)| *at).collect();
        assert!(
            terminated || !container.obeys(methods),
            "{} was never terminated: {times:?} {:?} {:?}",
            container.name,
            container.reactions,
            container.policy
        );
        assert!(!methods.is_empty() || times.is_empty(), "{} received a termination request", container.name);
        assert!(
            methods.is_empty() || terminated || !times.is_empty(),
            "{} received no termination request",
            container.name
        );
        // Ten rounds and the slow retries, a few more after restarts; every half minute while the node is unreachable.
        let reached = |method: &Method| {
            let reaction = container.reactions[method];
            reaction.from <= at(0)
                && !matches!(reaction.result, AttemptResult::Unreachable | AttemptResult::ContainerGone)
        };
        let bound = if methods.iter().all(reached) { 12 * methods.len() + 10 } else { 2 * 100 + 20 };
        assert!(times.len() <= bound, "{} received {} termination requests", container.name, times.len());
        // Half of a backoff is fixed: the fifth round starts after 7.5 s at the earliest, the sixth after 15.5 s.
        let crowd = times.windows(16).filter(|window| window[15].duration_since(window[0]).as_secs() < 15).count();
        assert_eq!(crowd, 0, "{} received too many termination requests: {times:?}", container.name);
    }
    if let Some((first, _)) = attempts.first() {
        assert!(first.duration_since(final_at).as_secs() <= RESYNC + 31, "first termination request at {first}");
    }
}

#[rstest]
fn no_lifecycle_is_cut_short_or_left_hanging(#[values(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)] share: u64) {
    // All methods are enabled: the invariants consider all of them.
    let settings = Termination { port_forward: true, ..Configuration::embedded().termination };
    let catalog = SidecarCatalog::new(&settings);
    let mut findings = BTreeSet::new();
    for seed in (0..LIFECYCLES).filter(|seed| seed % SHARES == share) {
        let lifecycle = std::panic::catch_unwind(|| simulate(seed, &settings, &catalog));
        findings.extend(lifecycle.unwrap_or_else(|_| panic!("in lifecycle {seed}")));
    }
    // The lifecycles must cover every finding.
    assert_eq!(findings, EXPECTED_FINDINGS.into_iter().collect());
}
