//! Many pods of namespaces that behave badly beside one that does not, in simulated time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::{Duration, Instant};

use super::limits::{ACTIONS, PER_NODE};
use super::schedule::{Claim, Next, Schedule};
use trainmesh_core::lifecycle::AttemptResult;

/// Time-out of an action, as in the built-in configuration.
const LIMIT: Duration = Duration::from_secs(10);
/// What reading a pod takes.
const READ: Duration = Duration::from_millis(5);
/// What the action of a proxy that obeys takes.
const ACTION: Duration = Duration::from_millis(150);
const GOOD: &str = "team-a";
const NODES: [&str; 2] = ["node-1", "node-2"];

/// What happens to the pod of this index.
#[derive(Debug)]
enum Happening {
    Comes,
    WasRead(Claim),
    ActionEnds(Claim),
    /// A token is there.
    Tick,
}

#[derive(Debug)]
struct Pod {
    namespace: String,
    node: &'static str,
    arrival: Instant,
    /// How long its action lasts, and what comes of it.
    action: (Duration, AttemptResult),
    attempts: u32,
    done: Option<Duration>,
}

struct World {
    now: Instant,
    schedule: Schedule<usize>,
    pods: Vec<Pod>,
    /// By time, then in the order of happening.
    queue: BinaryHeap<Reverse<(Instant, u64)>>,
    happenings: BTreeMap<u64, (usize, Happening)>,
    next: u64,
    /// Whether a tick is to come.
    ticks: bool,
    on_nodes: BTreeMap<&'static str, usize>,
}

impl World {
    fn new() -> Self {
        let schedule = Schedule::new();
        Self {
            now: Instant::now(),
            schedule,
            pods: Vec::new(),
            queue: BinaryHeap::new(),
            happenings: BTreeMap::new(),
            next: 0,
            ticks: false,
            on_nodes: BTreeMap::new(),
        }
    }

    /// Adds a pod whose main containers have completed `after` the start.
    fn add(&mut self, namespace: &str, after: Duration, action: (Duration, AttemptResult)) {
        let index = self.pods.len();
        let (node, arrival) = (NODES[index % NODES.len()], self.now + after);
        self.pods.push(Pod { namespace: namespace.to_owned(), node, arrival, action, attempts: 0, done: None });
        self.later(after, index, Happening::Comes);
    }

    fn later(&mut self, after: Duration, pod: usize, happening: Happening) {
        self.queue.push(Reverse((self.now + after, self.next)));
        self.happenings.insert(self.next, (pod, happening));
        self.next += 1;
    }

    fn run(&mut self, until: Duration) {
        let end = self.now + until;
        while let Some(Reverse((time, key))) = self.queue.pop().filter(|Reverse((time, _))| *time <= end) {
            self.now = time;
            let (pod, happening) = self.happenings.remove(&key).unwrap();
            self.happens(pod, happening);
            self.serve();
        }
    }

    fn happens(&mut self, index: usize, happening: Happening) {
        let pod = &mut self.pods[index];
        match happening {
            Happening::Tick => self.ticks = false,
            Happening::Comes => {
                if let Err(wait) = self.schedule.enqueue(&pod.namespace, pod.node, index, self.now) {
                    self.later(wait, index, Happening::Comes);
                }
            }
            Happening::WasRead(claim) => match self.schedule.start(claim, self.now) {
                Ok(claim) => {
                    let lasts = pod.action.0;
                    let running = self.on_nodes.entry(pod.node).or_default();
                    *running += 1;
                    assert!(*running <= PER_NODE, "{running} actions on {}", pod.node);
                    assert!(self.on_nodes.values().sum::<usize>() <= ACTIONS);
                    self.later(lasts, index, Happening::ActionEnds(claim));
                }
                Err(wait) => self.later(wait, index, Happening::Comes),
            },
            Happening::ActionEnds(claim) => {
                let (lasted, result) = pod.action;
                *self.on_nodes.get_mut(pod.node).unwrap() -= 1;
                self.schedule.finish(&claim, result, lasted, LIMIT, self.now);
                pod.attempts += 1;
                if result == AttemptResult::Sent {
                    pod.done = Some(self.now - pod.arrival);
                } else {
                    // As the history of a pod has it.
                    let pause = Duration::from_secs(1 << (pod.attempts - 1).min(6)).min(Duration::from_mins(1));
                    self.later(pause, index, Happening::Comes);
                }
            }
        }
    }

    fn serve(&mut self) {
        loop {
            match self.schedule.next(self.now) {
                Next::Nobody => return,
                Next::At(_) if self.ticks => return,
                Next::At(time) => {
                    self.ticks = true;
                    return self.later(time - self.now, 0, Happening::Tick);
                }
                Next::Go(pod, claim) => self.later(READ, pod, Happening::WasRead(claim)),
                Next::Refuse(pod, wait) => self.later(wait, pod, Happening::Comes),
            }
        }
    }

    /// The 99th percentile of the time until the proxies of the well-behaved namespace have ended.
    fn p99(&self) -> Duration {
        let good = self.pods.iter().filter(|pod| pod.namespace == GOOD);
        let mut delays: Vec<Duration> = good.map(|pod| pod.done.unwrap_or(Duration::MAX)).collect();
        delays.sort();
        delays[delays.len() * 99 / 100 - 1]
    }
}

/// Four pods a second of a well-behaved namespace for five minutes, beside `hostile` pods of each of `namespaces`, whose
/// actions last so long.
fn beside(hostile: usize, namespaces: usize, lasts: Duration) -> World {
    let mut world = World::new();
    let result = if lasts >= LIMIT { AttemptResult::TimedOut } else { AttemptResult::Refused };
    for index in 0..hostile * namespaces {
        world.add(&format!("hostile-{}", index % namespaces), Duration::from_secs(5), (lasts, result));
    }
    for number in 0..1200 {
        world.add(GOOD, Duration::from_millis(250 * number), (ACTION, AttemptResult::Sent));
    }
    world.run(Duration::from_mins(6));
    world
}

fn check(hostile: usize, namespaces: usize, lasts: Duration) {
    let undisturbed = beside(0, 1, lasts).p99();
    let world = beside(hostile, namespaces, lasts);
    let disturbed = world.p99();
    assert!(disturbed <= 2 * undisturbed, "{disturbed:?}, undisturbed {undisturbed:?}");
    let tried = world.pods.iter().filter(|pod| pod.namespace != GOOD && pod.attempts > 0).count();
    assert!(tried >= 4 * namespaces, "the others have their share: {tried}");
}

#[test]
fn a_namespace_whose_actions_time_out() {
    check(220, 1, LIMIT);
}

#[test]
fn many_namespaces_whose_actions_time_out() {
    check(50, 20, LIMIT);
}

#[test]
fn actions_that_end_just_before_their_time_out() {
    check(220, 3, LIMIT * 9 / 10);
}

#[test]
fn more_pods_than_the_lines_hold() {
    check(1_000, 1, Duration::from_millis(10));
}
