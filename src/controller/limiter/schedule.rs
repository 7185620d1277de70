//! Who is next: no clock, no runtime.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::limits::{
    ACTIONS, FULL, LINE, PER_NODE, PROBED, PROBES, RATE, REMEMBERED, SLOW, SLOW_PART, SLOW_PER_NODE, TAKEN, TURNS,
    UNPROVEN, UNPROVEN_PER_NODE, WAITING,
};
use super::namespace::{Class, Namespace};
use super::node::{Health, Node};
use crate::bucket::Bucket;
use trainmesh_core::lifecycle::AttemptResult;

/// Lines of pods, the places that they wait for, and whose turn it is. `T` is how a waiting pod is called.
pub(super) struct Schedule<T> {
    bucket: Bucket,
    nodes: HashMap<Box<str>, Node>,
    namespaces: HashMap<Box<str>, Namespace<T>>,
    /// The namespaces with a line, the next one first.
    order: VecDeque<Box<str>>,
    waiting: usize,
    turns: usize,
    running: usize,
    unproven: usize,
    slow: usize,
    probes: usize,
}

/// What one pod takes.
#[derive(Debug)]
pub(super) struct Claim {
    namespace: Box<str>,
    node: Box<str>,
    stage: Stage,
}

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The pod is read again.
    Turn,
    /// An action runs.
    Running(Class),
    /// The pod is read again, and then acted on, on a node that did not answer: apart from all others.
    Probe,
}

/// What to do for those in line.
#[derive(Debug)]
pub(super) enum Next<T> {
    /// Call this one: it may go.
    Go(T, Claim),
    /// Call this one: it has to try again later.
    Refuse(T, Duration),
    /// Look again at this time.
    At(Instant),
    /// Nobody can go before something is given back.
    Nobody,
}

/// What can be done for a pod in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Go,
    /// To find out whether the node answers.
    Probe,
    Refuse(Duration),
}

impl<T> Schedule<T> {
    pub(super) fn new() -> Self {
        let (rate, burst) = RATE;
        Self {
            bucket: Bucket::new(rate, burst),
            nodes: HashMap::new(),
            namespaces: HashMap::new(),
            order: VecDeque::new(),
            waiting: 0,
            turns: 0,
            running: 0,
            unproven: 0,
            slow: 0,
            probes: 0,
        }
    }

    /// Puts a pod into the line of its namespace. `Err` says when to try again.
    pub(super) fn enqueue(&mut self, namespace: &str, node: &str, waiter: T, now: Instant) -> Result<(), Duration> {
        if let Some(Health::Paused(wait)) = self.nodes.get(node).map(|node| node.health(now)) {
            return Err(wait);
        }
        if self.namespaces.len() >= REMEMBERED && !self.namespaces.contains_key(namespace) {
            self.namespaces.retain(|_, namespace| !namespace.is_forgotten(now));
        }
        let line = &mut self.namespaces.entry(namespace.into()).or_insert_with(|| Namespace::new(now)).line;
        // Whatever others do, every namespace may have one pod in line.
        if line.len() >= LINE || self.waiting >= WAITING && !line.is_empty() {
            return Err(FULL);
        }
        if line.is_empty() {
            self.order.push_back(namespace.into());
        }
        line.push_back((node.into(), waiter));
        self.waiting += 1;
        Ok(())
    }

    /// Who is to be called next. Namespaces take turns; in each, the first pod goes whose node has a place for it.
    pub(super) fn next(&mut self, now: Instant) -> Next<T> {
        for index in 0..self.order.len() {
            let Some((position, verdict)) = self.first_of(index, now) else { continue };
            if matches!(verdict, Verdict::Go | Verdict::Probe)
                && let Err(time) = self.bucket.try_take_at(now)
            {
                return Next::At(time);
            }
            let Some(name) = self.order.remove(index) else { continue };
            let Some(namespace) = self.namespaces.get_mut(&name) else { continue };
            let Some((node, waiter)) = namespace.line.remove(position) else { continue };
            self.waiting -= 1;
            if !namespace.line.is_empty() {
                self.order.push_back(name.clone());
            }
            let stage = match verdict {
                Verdict::Refuse(wait) => return Next::Refuse(waiter, wait),
                Verdict::Go => {
                    self.turns += 1;
                    namespace.take(&node, now);
                    Stage::Turn
                }
                Verdict::Probe => {
                    self.probes += 1;
                    self.node(&node, now).probe(now);
                    Stage::Probe
                }
            };
            return Next::Go(waiter, Claim { namespace: name, node, stage });
        }
        Next::Nobody
    }

    /// Takes a place for the action of a turn. The turn is over either way; `Err` says when to try again.
    pub(super) fn start(&mut self, mut claim: Claim, now: Instant) -> Result<Claim, Duration> {
        if claim.stage != Stage::Turn {
            return Ok(claim);
        }
        let class = self.namespaces.get(&claim.namespace).map_or(Class::New, |namespace| namespace.class(now));
        let on_node = self.nodes.get(&claim.node).is_none_or(|node| has_place_on(node, class));
        if !on_node || !self.has_place(class) {
            self.give_up(&claim);
            return Err(TAKEN);
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

    /// Takes back a turn without an action.
    pub(super) fn give_up(&mut self, claim: &Claim) {
        match claim.stage {
            Stage::Turn => {
                self.turns -= 1;
                self.give_back(claim);
            }
            Stage::Probe | Stage::Running(_) => self.release(claim),
        }
    }

    /// Takes back the place of an action of which nothing is known.
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
            self.give_back(claim);
        } else {
            self.probes -= 1;
        }
        // Nodes come and go.
        if self.nodes.get(&claim.node).is_some_and(Node::is_idle) {
            self.nodes.remove(&claim.node);
        }
    }

    /// Takes back the place of an action that `lasted` so long, of at most `limit`, and notes what came of it.
    pub(super) fn finish(
        &mut self,
        claim: &Claim,
        result: AttemptResult,
        lasted: Duration,
        limit: Duration,
        now: Instant,
    ) {
        let node = &*claim.node;
        if result == AttemptResult::Unreachable {
            // No fault of the namespace.
            if let Some(failures) = self.node(node, now).failed(now) {
                tracing::warn!(node, failures, "the kubelet does not answer");
            }
        } else {
            if self.nodes.get_mut(node).is_some_and(Node::answered) {
                tracing::info!(node, "the kubelet answers again");
            }
            let namespace = self.namespaces.entry(claim.namespace.clone()).or_insert_with(|| Namespace::new(now));
            if result == AttemptResult::TimedOut || lasted > limit / SLOW_PART {
                namespace.took_long(lasted, now);
            } else {
                namespace.ended(now);
            }
        }
        self.release(claim);
    }

    /// Everything that is taken.
    #[cfg(test)]
    pub(super) fn in_use(&self) -> usize {
        self.turns + self.running + self.unproven + self.slow + self.probes
    }

    /// The first pod in the line of the namespace at `index` for which something can be done, and what.
    fn first_of(&self, index: usize, now: Instant) -> Option<(usize, Verdict)> {
        let namespace = self.namespaces.get(self.order.get(index)?)?;
        let class = namespace.class(now);
        // Most lines stand still for this reason: then nobody looks along them.
        if self.turns >= TURNS || !self.has_place(class) || !namespace.has_share(now) {
            return None;
        }
        namespace.line.iter().enumerate().find_map(|(position, (node, _))| {
            let known = self.nodes.get(node);
            let verdict = match known.map_or(Health::Answers, |node| node.health(now)) {
                Health::Paused(wait) => Verdict::Refuse(wait),
                Health::ProbeDue if self.probes < PROBES => Verdict::Probe,
                Health::ProbeDue => Verdict::Refuse(PROBED),
                Health::Answers => {
                    let room = namespace.has_share_of(node, now) && known.is_none_or(|node| has_place_on(node, class));
                    return room.then_some((position, Verdict::Go));
                }
            };
            Some((position, verdict))
        })
    }

    /// Whether an action of a namespace of this class could run on some node.
    fn has_place(&self, class: Class) -> bool {
        self.running < ACTIONS
            && (class == Class::Proven || self.unproven < UNPROVEN)
            && (class != Class::Slow || self.slow < SLOW)
    }

    fn give_back(&mut self, claim: &Claim) {
        if let Some(namespace) = self.namespaces.get_mut(&claim.namespace) {
            namespace.give_back(&claim.node);
        }
    }

    fn node(&mut self, name: &str, now: Instant) -> &mut Node {
        self.nodes.entry(name.into()).or_insert_with(|| Node::new(now))
    }
}

/// Whether an action of a namespace of this class could run on this node.
fn has_place_on(node: &Node, class: Class) -> bool {
    node.running < PER_NODE
        && (class == Class::Proven || node.unproven < UNPROVEN_PER_NODE)
        && (class != Class::Slow || node.slow < SLOW_PER_NODE)
}
