//! How much the controller does at once, and how soon a pod comes back that finds no place.

use std::time::Duration;

/// Actions at once. Each holds a connection to the apiserver, and one of it to the kubelet.
pub(super) const ACTIONS: usize = 64;
/// Actions at once on one node: a kubelet runs on the node's last per cent of CPU, and a node that has just died takes
/// no more than these places until its first calls have failed.
pub(super) const PER_NODE: usize = 8;
/// Actions at once of namespaces that have not shown that theirs end in good time; the other half is for those that have.
pub(super) const UNPROVEN: usize = ACTIONS / 2;
/// The same on one node.
pub(super) const UNPROVEN_PER_NODE: usize = PER_NODE / 2;
/// Actions at once of slow namespaces, so that new ones find room beside them.
pub(super) const SLOW: usize = UNPROVEN / 2;
/// The same on one node.
pub(super) const SLOW_PER_NODE: usize = UNPROVEN_PER_NODE / 2;
/// Pods that are read again at once: a read takes a few milliseconds, so that they keep all places busy.
pub(super) const TURNS: usize = 32;
/// Probes at once of nodes that did not answer, so that any number of dead nodes never delays the pods of the others.
pub(super) const PROBES: usize = 4;
/// Actions a second, and how many may come at once. A read, a stream and an event each: a tenth of what an apiserver
/// does for one client without fairness queues noticing.
pub(super) const RATE: (u32, u32) = (50, 100);
/// Pods in all lines: each keeps a few kilobytes.
pub(super) const WAITING: usize = 1024;
/// Pods in the line of one namespace: at the full rate it takes longer than [`FULL`] to empty, so that sending pods away
/// costs no throughput.
pub(super) const LINE: usize = 128;
/// When to come back to a line that was full.
pub(super) const FULL: Duration = Duration::from_secs(1);
/// When to come back where another namespace took the place during the read.
pub(super) const TAKEN: Duration = Duration::from_millis(100);
/// When to come back where all probes are under way.
pub(super) const PROBED: Duration = Duration::from_secs(1);
/// An action that takes longer than this part of its time-out is slow: without this a pod could hold its place for just
/// less than the time-out, at no cost.
pub(super) const SLOW_PART: u32 = 2;
/// Namespaces from which on idle ones are forgotten.
pub(super) const REMEMBERED: usize = 1024;
