//! Scheduling of queued pods, without a clock or a runtime.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::limits::{
    MAX_ACTIONS, MAX_NAMESPACES, MAX_PROBES, MAX_QUEUED, MAX_QUEUED_PER_NAMESPACE, MAX_SLOW, MAX_TURNS, MAX_UNPROVEN,
    MIN_PER_NODE, PROBE_DELAY, QUEUE_FULL_DELAY, RATE, SLOT_TAKEN_DELAY, SLOW_DIVISOR,
};
use super::namespace::{Class, Namespace};
use super::node::{Health, Node};
use crate::bucket::Bucket;
use trainmesh_core::lifecycle::AttemptResult;

/// Queues of pods, the slots that they wait for, and the order of turns. `T` is the handle of a queued pod.
pub(super) struct Schedule<T> {
    bucket: Bucket,
    nodes: HashMap<Box<str>, Node>,
    namespaces: HashMap<Box<str>, Namespace<T>>,
    /// Namespaces with a queue, the next one first.
    order: VecDeque<Box<str>>,
    queued: usize,
    turns: usize,
    running: usize,
    unproven: usize,
    slow: usize,
    probes: usize,
}

/// Resources held for one pod.
#[derive(Debug)]
pub(super) struct Claim {
    namespace: Box<str>,
    node: Box<str>,
    stage: Stage,
}

/// Stage of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The pod is being read again.
    Turn,
    /// An action is running.
    Running(Class),
    /// The pod is being read or acted upon on an unresponsive node, outside all other limits.
    Probe,
}

/// Next step for the queues.
#[derive(Debug)]
pub(super) enum Next<T> {
    /// Grant this pod a turn.
    Grant(T, Claim),
    /// Reject this pod with a retry delay.
    Reject(T, Duration),
    /// Call again at this time.
    WaitUntil(Instant),
    /// Nothing to do until a claim is released.
    Idle,
}

/// Decision about a queued pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueueDecision {
    Grant,
    /// As a probe of the node.
    Probe,
    Reject(Duration),
}

impl<T> Schedule<T> {
    pub(super) fn new() -> Self {
        let (rate, burst) = RATE;
        Self {
            bucket: Bucket::new(rate, burst),
            nodes: HashMap::new(),
            namespaces: HashMap::new(),
            order: VecDeque::new(),
            queued: 0,
            turns: 0,
            running: 0,
            unproven: 0,
            slow: 0,
            probes: 0,
        }
    }

    /// Queues a pod of `namespace`. Returns the delay before a retry if the node is paused or the queue is full.
    pub(super) fn enqueue(&mut self, namespace: &str, node: &str, waiter: T, now: Instant) -> Result<(), Duration> {
        if let Some(Health::Paused(wait)) = self.nodes.get(node).map(|node| node.health(now)) {
            return Err(wait);
        }
        if self.namespaces.len() >= MAX_NAMESPACES && !self.namespaces.contains_key(namespace) {
            self.namespaces.retain(|_, namespace| !namespace.is_expired(now));
        }
        let queue = &mut self.namespaces.entry(namespace.into()).or_insert_with(|| Namespace::new(now)).queue;
        // Each namespace may queue one pod even if the total limit is reached.
        if queue.len() >= MAX_QUEUED_PER_NAMESPACE || self.queued >= MAX_QUEUED && !queue.is_empty() {
            return Err(QUEUE_FULL_DELAY);
        }
        if queue.is_empty() {
            self.order.push_back(namespace.into());
        }
        queue.push_back((node.into(), waiter));
        self.queued += 1;
        Ok(())
    }

    /// Returns the next step. Namespaces are served round-robin; in each, the first pod whose node has a free slot is
    /// next.
    pub(super) fn next(&mut self, now: Instant) -> Next<T> {
        for index in 0..self.order.len() {
            let Some((position, admission)) = self.first_admissible(index, now) else { continue };
            if matches!(admission, QueueDecision::Grant | QueueDecision::Probe)
                && let Err(time) = self.bucket.try_take_at(now)
            {
                return Next::WaitUntil(time);
            }
            let Some(name) = self.order.remove(index) else { continue };
            let Some(namespace) = self.namespaces.get_mut(&name) else { continue };
            let Some((node, waiter)) = namespace.queue.remove(position) else { continue };
            self.queued -= 1;
            if !namespace.queue.is_empty() {
                self.order.push_back(name.clone());
            }
            let stage = match admission {
                QueueDecision::Reject(wait) => return Next::Reject(waiter, wait),
                QueueDecision::Grant => {
                    self.turns += 1;
                    namespace.charge(&node, now);
                    Stage::Turn
                }
                QueueDecision::Probe => {
                    self.probes += 1;
                    self.node(&node, now).start_probe(now);
                    Stage::Probe
                }
            };
            return Next::Grant(waiter, Claim { namespace: name, node, stage });
        }
        Next::Idle
    }

    /// Takes a slot for the action of a turn. The turn ends in any case; returns the delay before a retry if there is
    /// no slot.
    pub(super) fn acquire(&mut self, mut claim: Claim, now: Instant) -> Result<Claim, Duration> {
        if claim.stage != Stage::Turn {
            return Ok(claim);
        }
        let class = self.namespaces.get(&claim.namespace).map_or(Class::New, |namespace| namespace.class(now));
        let on_node = self.nodes.get(&claim.node).is_none_or(|node| node.has_slot(class));
        if !on_node || !self.has_slot(class) {
            self.cancel_turn(&claim);
            return Err(SLOT_TAKEN_DELAY);
        }
        self.turns -= 1;
        self.running += 1;
        let node = self.nodes.entry(claim.node.clone()).or_insert_with(|| Node::new(now));
        node.running += 1;
        if class != Class::Proven {
            self.unproven += 1;
            node.unproven += 1;
        }
        if class == Class::Slow {
            self.slow += 1;
            node.slow += 1;
        }
        claim.stage = Stage::Running(class);
        Ok(claim)
    }

    /// Cancels a turn: no action follows.
    pub(super) fn cancel_turn(&mut self, claim: &Claim) {
        match claim.stage {
            Stage::Turn => {
                self.turns -= 1;
                self.refund(claim);
            }
            Stage::Probe | Stage::Running(_) => self.release(claim),
        }
    }

    /// Releases the slot of an action without a result.
    pub(super) fn release(&mut self, claim: &Claim) {
        if let Stage::Running(class) = claim.stage {
            let (unproven, slow) = (usize::from(class != Class::Proven), usize::from(class == Class::Slow));
            self.running -= 1;
            self.unproven -= unproven;
            self.slow -= slow;
            if let Some(node) = self.nodes.get_mut(&claim.node) {
                node.running -= 1;
                node.unproven -= unproven;
                node.slow -= slow;
            }
            self.refund(claim);
        } else {
            self.probes -= 1;
        }
        // Idle entries are removed, because the nodes of a cluster change.
        if self.nodes.get(&claim.node).is_some_and(Node::is_idle) {
            self.nodes.remove(&claim.node);
        }
    }

    /// Releases the slot of an action that took `elapsed` of at most `limit`, and records its result.
    pub(super) fn finish(
        &mut self,
        claim: &Claim,
        result: AttemptResult,
        elapsed: Duration,
        limit: Duration,
        now: Instant,
    ) {
        let node = &*claim.node;
        if result == AttemptResult::Unreachable {
            // Not attributed to the namespace.
            if let Some(failures) = self.node(node, now).record_failure(now) {
                tracing::warn!(node, failures, "the kubelet does not respond");
            }
        } else {
            if let Some(known) = self.nodes.get_mut(node) {
                known.record_duration(elapsed);
                if known.record_response() {
                    tracing::info!(node, "the kubelet responds again");
                }
            }
            let namespace = self.namespaces.entry(claim.namespace.clone()).or_insert_with(|| Namespace::new(now));
            if result == AttemptResult::TimedOut || elapsed > limit / SLOW_DIVISOR {
                namespace.record_slow(elapsed, now);
            } else {
                namespace.record_timely(now);
            }
        }
        self.release(claim);
    }

    /// Returns the sum of all counters: 0 if nothing is in use.
    #[cfg(test)]
    pub(super) fn in_use(&self) -> usize {
        self.turns + self.running + self.unproven + self.slow + self.probes
    }

    /// Returns the first pod in the queue of the namespace at `index` that can be admitted or rejected.
    fn first_admissible(&self, index: usize, now: Instant) -> Option<(usize, QueueDecision)> {
        let namespace = self.namespaces.get(self.order.get(index)?)?;
        let class = namespace.class(now);
        // Checked first, because it stops most queues without a scan.
        if self.turns >= MAX_TURNS || !self.has_slot(class) || !namespace.has_capacity(now) {
            return None;
        }
        namespace.queue.iter().enumerate().find_map(|(position, (node, _))| {
            let known = self.nodes.get(node);
            let admission = match known.map_or(Health::Reachable, |node| node.health(now)) {
                Health::Paused(wait) => QueueDecision::Reject(wait),
                Health::ProbeDue if self.probes < MAX_PROBES => QueueDecision::Probe,
                Health::ProbeDue => QueueDecision::Reject(PROBE_DELAY),
                Health::Reachable => {
                    let limit = known.map_or(MIN_PER_NODE, Node::limit);
                    let is_free =
                        namespace.has_capacity_on(node, limit, now) && known.is_none_or(|node| node.has_slot(class));
                    return is_free.then_some((position, QueueDecision::Grant));
                }
            };
            Some((position, admission))
        })
    }

    /// Returns true if an action of this class could run on some node.
    fn has_slot(&self, class: Class) -> bool {
        self.running < MAX_ACTIONS
            && (class == Class::Proven || self.unproven < MAX_UNPROVEN)
            && (class != Class::Slow || self.slow < MAX_SLOW)
    }

    fn refund(&mut self, claim: &Claim) {
        if let Some(namespace) = self.namespaces.get_mut(&claim.namespace) {
            namespace.refund(&claim.node);
        }
    }

    fn node(&mut self, name: &str, now: Instant) -> &mut Node {
        self.nodes.entry(name.into()).or_insert_with(|| Node::new(now))
    }
}
