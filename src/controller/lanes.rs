//! How much is done at once: to the cluster, to one node, and to nodes that do not answer.
//!
//! A node whose kubelet does not answer makes every call to it last as long as its time-out. So it is left alone for a
//! doubling time, in which one call probes it; and such probes have few places of their own, so that any number of dead
//! nodes never keeps the pods of the others waiting.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(super) use crate::bucket::Bucket;
use crate::lifecycle::AttemptResult;

/// Actions at once. Each holds a connection to the apiserver, and one of it to the kubelet.
const ACTIONS: usize = 64;
/// Actions at once on one node: a kubelet runs on the node's last per cent of CPU, and a node that has just died takes
/// no more than these places until its first calls have failed.
const PER_NODE: usize = 8;
/// Probes at once of nodes that did not answer.
const PROBES: usize = 4;
/// Actions a second, and how many may come at once. A read, a stream and an event each: a tenth of what an apiserver
/// does for one client without fairness queues noticing.
const RATE: (u32, u32) = (50, 100);
/// For how long a node that did not answer is left alone at first; it doubles.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// No longer: a node that is back is found within a minute.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The places for actions.
pub(super) struct Lanes {
    actions: Arc<Semaphore>,
    probes: Arc<Semaphore>,
    bucket: Bucket,
    nodes: Mutex<HashMap<Box<str>, Node>>,
}

/// A place for one action; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    /// Also that on its node.
    _permits: Vec<OwnedSemaphorePermit>,
}

/// What is known of a node.
struct Node {
    places: Arc<Semaphore>,
    /// Calls in a row that did not reach it.
    failures: u32,
    /// When the next probe is due.
    due: Instant,
    /// Whether one is under way.
    probed: bool,
}

impl Lanes {
    pub(super) fn new() -> Self {
        let (rate, burst) = RATE;
        Self {
            actions: Arc::new(Semaphore::new(ACTIONS)),
            probes: Arc::new(Semaphore::new(PROBES)),
            bucket: Bucket::new(rate, burst),
            nodes: Mutex::default(),
        }
    }

    /// Waits for a place for an action on `node`; where that node does not answer: when to ask again.
    pub(super) async fn enter(&self, node: &str) -> Result<Place, Duration> {
        let permits = match self.approach(node, Instant::now())? {
            Approach::Probe(permit) => vec![permit],
            Approach::Queue(places) => {
                // The semaphores are never closed.
                let on_node = places.acquire_owned().await.ok();
                let at_all = Arc::clone(&self.actions).acquire_owned().await.ok();
                // It may have died while we waited: then the places are for others.
                match self.approach(node, Instant::now())? {
                    Approach::Probe(permit) => vec![permit],
                    Approach::Queue(_) => on_node.into_iter().chain(at_all).collect(),
                }
            }
        };
        self.bucket.take().await;
        Ok(Place { _permits: permits })
    }

    /// Notes what came of an action on `node`.
    pub(super) fn left(&self, node: &str, result: AttemptResult, now: Instant) {
        let mut nodes = self.nodes();
        if result == AttemptResult::Unreachable {
            let state = nodes.entry(node.into()).or_insert_with(|| Node::new(now));
            // Those that were under way together failed together, and count once.
            if state.failures == 0 || state.probed {
                state.failures += 1;
                state.probed = false;
                state.due = now + pause(state.failures);
                tracing::warn!(node, failures = state.failures, "the kubelet does not answer");
            }
        } else if let Some(state) = nodes.get_mut(node) {
            if state.failures > 0 {
                tracing::info!(node, "the kubelet answers again");
                state.failures = 0;
            }
            if state.places.available_permits() == PER_NODE {
                // Nobody is there: nodes come and go.
                nodes.remove(node);
            }
        }
    }

    fn approach(&self, node: &str, now: Instant) -> Result<Approach, Duration> {
        let mut nodes = self.nodes();
        let state = nodes.entry(node.into()).or_insert_with(|| Node::new(now));
        if state.failures == 0 {
            return Ok(Approach::Queue(Arc::clone(&state.places)));
        }
        if now < state.due {
            return Err(state.due - now);
        }
        let Ok(permit) = Arc::clone(&self.probes).try_acquire_owned() else { return Err(FIRST_PAUSE) };
        // The others wait for what comes of this one.
        state.probed = true;
        state.due = now + pause(state.failures);
        Ok(Approach::Probe(permit))
    }

    fn nodes(&self) -> MutexGuard<'_, HashMap<Box<str>, Node>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How an action may come to its node.
enum Approach {
    /// As the next one to see whether it answers.
    Probe(OwnedSemaphorePermit),
    /// In line.
    Queue(Arc<Semaphore>),
}

impl Node {
    fn new(now: Instant) -> Self {
        Self { places: Arc::new(Semaphore::new(PER_NODE)), failures: 0, due: now, probed: false }
    }
}

fn pause(failures: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    /// What comes of asking now, without waiting: a place, a time to ask again, or none of them yet.
    fn ask(lanes: &Lanes, node: &str) -> Option<Result<Place, Duration>> {
        lanes.enter(node).now_or_never()
    }

    fn go(lanes: &Lanes, node: &str) -> Place {
        ask(lanes, node).expect("at once").expect("a place")
    }

    #[test]
    fn one_node_does_not_take_all_places() {
        let lanes = Lanes::new();
        let held: Vec<Place> = (0..PER_NODE).map(|_| go(&lanes, "a")).collect();
        assert!(ask(&lanes, "a").is_none(), "waits in line");
        let _other = go(&lanes, "b");
        drop(held);
        go(&lanes, "a");
    }

    #[test]
    fn all_nodes_together_have_their_limit() {
        let lanes = Lanes::new();
        let held: Vec<Place> = (0..ACTIONS).map(|number| go(&lanes, &number.to_string())).collect();
        assert!(ask(&lanes, "another").is_none());
        drop(held);
        go(&lanes, "another");
    }

    #[test]
    fn a_dead_node_is_left_alone_for_a_doubling_time() {
        let lanes = Lanes::new();
        let start = Instant::now();
        let mut now = start;
        drop(go(&lanes, "dead"));
        for expected in [1, 2, 4, 8, 16, 32, 60, 60] {
            lanes.left("dead", AttemptResult::Unreachable, now);
            lanes.left("dead", AttemptResult::Unreachable, now);
            let Err(wait) = lanes.approach("dead", now) else { panic!("it is left alone") };
            assert_eq!(wait, Duration::from_secs(expected));
            now += wait;
            assert!(matches!(lanes.approach("dead", now), Ok(Approach::Probe(_))), "one looks");
            assert!(lanes.approach("dead", now).is_err(), "the others wait for it");
            now += Duration::from_millis(10);
        }
        lanes.left("dead", AttemptResult::Refused, now);
        go(&lanes, "dead");
    }

    #[test]
    fn dead_nodes_have_few_places() {
        let lanes = Lanes::new();
        let now = Instant::now();
        let nodes: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        for node in &nodes {
            lanes.left(node, AttemptResult::Unreachable, now);
        }
        let later = now + FIRST_PAUSE;
        let probes: Vec<Approach> = nodes.iter().filter_map(|node| lanes.approach(node, later).ok()).collect();
        assert_eq!(probes.len(), PROBES);
        go(&lanes, "alive");
    }

    #[test]
    fn nodes_are_forgotten() {
        let lanes = Lanes::new();
        drop(go(&lanes, "a"));
        lanes.left("a", AttemptResult::Sent, Instant::now());
        assert!(lanes.nodes().is_empty());
    }
}
