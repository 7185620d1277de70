//! Simulates many pods of slow namespaces next to a well-behaved one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::{Duration, Instant};

use super::limits::{BUSY, MAX_ACTIONS, MAX_PER_NODE};
use super::schedule::{Claim, Next, Schedule};
use trainmesh_core::lifecycle::AttemptResult;

/// Timeout of an action, as in the default configuration.
const LIMIT: Duration = Duration::from_secs(10);
/// Duration of reading a pod.
const READ: Duration = Duration::from_millis(5);
/// Duration of a successful action.
const ACTION: Duration = Duration::from_millis(150);
const WELL_BEHAVED: &str = "team-a";
const NODES: [&str; 2] = ["node-1", "node-2"];

/// An event of the pod with this index.
#[derive(Debug)]
enum Event {
    Arrival,
    Read(Claim),
    ActionCompleted(Claim),
    /// A token is available.
    Tick,
}

#[derive(Debug)]
struct Pod {
    namespace: String,
    node: &'static str,
    arrival: Instant,
    /// Duration and result of its action.
    action: (Duration, AttemptResult),
    attempts: u32,
    done: Option<Duration>,
}

struct Simulation {
    now: Instant,
    schedule: Schedule<usize>,
    pods: Vec<Pod>,
    /// By time, then in the order of insertion.
    timeline: BinaryHeap<Reverse<(Instant, u64)>>,
    events: BTreeMap<u64, (usize, Event)>,
    next: u64,
    /// Set while a tick is pending.
    tick_pending: bool,
    per_node: BTreeMap<&'static str, usize>,
}

impl Simulation {
    fn new() -> Self {
        let schedule = Schedule::new();
        Self {
            now: Instant::now(),
            schedule,
            pods: Vec::new(),
            timeline: BinaryHeap::new(),
            events: BTreeMap::new(),
            next: 0,
            tick_pending: false,
            per_node: BTreeMap::new(),
        }
    }

    /// Adds a pod whose main containers complete `after` the start.
    fn add(&mut self, namespace: &str, after: Duration, action: (Duration, AttemptResult)) {
        self.add_on(NODES[self.pods.len() % NODES.len()], namespace, after, action);
    }

    fn add_on(&mut self, node: &'static str, namespace: &str, after: Duration, action: (Duration, AttemptResult)) {
        let (index, arrival) = (self.pods.len(), self.now + after);
        self.pods.push(Pod { namespace: namespace.to_owned(), node, arrival, action, attempts: 0, done: None });
        self.after_delay(after, index, Event::Arrival);
    }

    fn after_delay(&mut self, after: Duration, pod: usize, event: Event) {
        self.timeline.push(Reverse((self.now + after, self.next)));
        self.events.insert(self.next, (pod, event));
        self.next += 1;
    }

    fn run(&mut self, until: Duration) {
        let end = self.now + until;
        while let Some(Reverse((time, key))) = self.timeline.pop().filter(|Reverse((time, _))| *time <= end) {
            self.now = time;
            let (pod, event) = self.events.remove(&key).unwrap();
            self.handle(pod, event);
            self.dispatch();
        }
    }

    fn handle(&mut self, index: usize, event: Event) {
        let pod = &mut self.pods[index];
        match event {
            Event::Tick => self.tick_pending = false,
            Event::Arrival => {
                if let Err(wait) = self.schedule.enqueue(&pod.namespace, pod.node, index, self.now) {
                    self.after_delay(wait, index, Event::Arrival);
                }
            }
            Event::Read(claim) => match self.schedule.acquire(claim, self.now) {
                Ok(claim) => {
                    let duration = pod.action.0;
                    let running = self.per_node.entry(pod.node).or_default();
                    *running += 1;
                    assert!(*running <= MAX_PER_NODE, "{running} actions on {}", pod.node);
                    assert!(self.per_node.values().sum::<usize>() <= MAX_ACTIONS);
                    self.after_delay(duration, index, Event::ActionCompleted(claim));
                }
                Err(wait) => self.after_delay(wait, index, Event::Arrival),
            },
            Event::ActionCompleted(claim) => {
                let (elapsed, result) = pod.action;
                *self.per_node.get_mut(pod.node).unwrap() -= 1;
                self.schedule.finish(&claim, result, elapsed, LIMIT, self.now);
                pod.attempts += 1;
                if result == AttemptResult::Sent {
                    pod.done = Some(self.now - pod.arrival);
                } else {
                    // Same backoff as in a pod's history.
                    let pause = Duration::from_secs(1 << (pod.attempts - 1).min(6)).min(Duration::from_mins(1));
                    self.after_delay(pause, index, Event::Arrival);
                }
            }
        }
    }

    fn dispatch(&mut self) {
        loop {
            match self.schedule.next(self.now) {
                Next::Idle => return,
                Next::WaitUntil(_) if self.tick_pending => return,
                Next::WaitUntil(time) => {
                    self.tick_pending = true;
                    return self.after_delay(time - self.now, 0, Event::Tick);
                }
                Next::Grant(pod, claim) => self.after_delay(READ, pod, Event::Read(claim)),
                Next::Reject(pod, wait) => self.after_delay(wait, pod, Event::Arrival),
            }
        }
    }

    /// Returns the 99th percentile of the time until the proxies of the well-behaved namespace have terminated.
    fn p99(&self) -> Duration {
        let well_behaved = self.pods.iter().filter(|pod| pod.namespace == WELL_BEHAVED);
        let mut delays: Vec<Duration> = well_behaved.map(|pod| pod.done.unwrap_or(Duration::MAX)).collect();
        delays.sort();
        delays[delays.len() * 99 / 100 - 1]
    }
}

/// Simulates four pods per second of a well-behaved namespace for five minutes, next to `pods_per_namespace` pods in
/// each of `namespaces` whose actions take `duration`.
fn simulate(pods_per_namespace: usize, namespaces: usize, duration: Duration) -> Simulation {
    let mut simulation = Simulation::new();
    let result = if duration >= LIMIT { AttemptResult::TimedOut } else { AttemptResult::Refused };
    for index in 0..pods_per_namespace * namespaces {
        simulation.add(&format!("slow-{}", index % namespaces), Duration::from_secs(5), (duration, result));
    }
    for number in 0..1200 {
        simulation.add(WELL_BEHAVED, Duration::from_millis(250 * number), (ACTION, AttemptResult::Sent));
    }
    simulation.run(Duration::from_mins(6));
    simulation
}

fn check(pods_per_namespace: usize, namespaces: usize, duration: Duration) {
    let undisturbed = simulate(0, 1, duration).p99();
    let simulation = simulate(pods_per_namespace, namespaces, duration);
    let disturbed = simulation.p99();
    assert!(disturbed <= 2 * undisturbed, "{disturbed:?}, undisturbed {undisturbed:?}");
    let attempted = simulation.pods.iter().filter(|pod| pod.namespace != WELL_BEHAVED && pod.attempts > 0).count();
    assert!(attempted >= 4 * namespaces, "the other namespaces progress: {attempted}");
}

#[test]
fn one_namespace_with_timeouts_delays_no_other() {
    check(220, 1, LIMIT);
}

#[test]
fn many_namespaces_with_timeouts_delay_no_other() {
    check(50, 20, LIMIT);
}

#[test]
fn actions_just_below_their_timeout_delay_no_other() {
    check(220, 3, LIMIT * 9 / 10);
}

#[test]
fn more_pods_than_the_queues_hold_delay_no_other() {
    check(1_000, 1, Duration::from_millis(10));
}

/// Returns the time after which the last of these pods of one node has terminated; they complete in the same instant.
fn together(pods: usize, duration: Duration) -> Duration {
    let mut simulation = Simulation::new();
    for _ in 0..pods {
        simulation.add_on(NODES[0], WELL_BEHAVED, Duration::ZERO, (duration, AttemptResult::Sent));
    }
    // Another namespace is not affected.
    simulation.add_on(NODES[0], "team-b", 2 * ACTION, (ACTION, AttemptResult::Sent));
    simulation.run(Duration::from_mins(1));
    let [done @ .., other] = &*simulation.pods else { return Duration::MAX };
    assert_eq!(other.done, Some(READ + ACTION));
    done.iter().map(|pod| pod.done.unwrap_or(Duration::MAX)).max().unwrap_or_default()
}

#[test]
fn pods_of_a_node_that_complete_together_terminate_together() {
    let round = READ + ACTION;
    // 4 of a new namespace, 10, 15, 1.
    assert_eq!(together(30, ACTION), 4 * round);
    // Without free CPU: 4, then 8 at a time.
    assert_eq!(together(28, BUSY), 4 * (READ + BUSY));
}

#[test]
fn many_terminations_are_spread() {
    let mut simulation = Simulation::new();
    for _ in 0..1_000 {
        simulation.add(WELL_BEHAVED, Duration::ZERO, (ACTION, AttemptResult::Sent));
    }
    simulation.run(Duration::from_mins(1));
    let last = simulation.pods.iter().map(|pod| pod.done.unwrap_or(Duration::MAX)).max();
    // 200 at once, and 100 per second.
    let expected = Duration::from_secs(8);
    assert!(last.is_some_and(|last| (expected..expected + Duration::from_secs(2)).contains(&last)), "{last:?}");
}
