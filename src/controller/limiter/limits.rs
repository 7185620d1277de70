//! Limits of concurrent actions, and retry delays.

use std::time::Duration;

/// Maximum number of concurrent actions. Each holds a connection to the apiserver, and from there to a kubelet.
pub(super) const MAX_ACTIONS: usize = 64;
/// Maximum per node, unless its actions are quick: a quarter of all slots, because a node that has just failed blocks its slots
/// until the first calls fail.
pub(super) const MIN_PER_NODE: usize = 16;
/// Maximum per node whose actions are quick. Half of all slots, so that one node never occupies all.
pub(super) const MAX_PER_NODE: usize = MAX_ACTIONS / 2;
/// Duration up to which an action is quick: the limit of its node increases by one. An action takes 100 ms to 200 ms, and
/// longer as soon as the node has no free CPU.
pub(super) const QUICK: Duration = Duration::from_millis(400);
/// Duration from which the limit of the node decreases by one. Between the two it stays.
pub(super) const BUSY: Duration = Duration::from_secs(1);
/// Maximum for namespaces that have not completed a timely action yet; the other half is reserved for those that have.
pub(super) const MAX_UNPROVEN: usize = MAX_ACTIONS / 2;
/// Maximum for slow namespaces, so that new ones find a slot.
pub(super) const MAX_SLOW: usize = MAX_UNPROVEN / 2;
/// The same per node.
pub(super) const MAX_SLOW_PER_NODE: usize = 2;
/// Maximum number of concurrent turns: a read takes a few milliseconds, so these keep all slots busy.
pub(super) const MAX_TURNS: usize = 32;
/// Maximum number of concurrent probes of unresponsive nodes, so that failed nodes never delay the pods of others.
pub(super) const MAX_PROBES: usize = 4;
/// Actions per second and burst. Each action costs a read, a stream and an event: the rate of requests is that of two
/// kubelets with their default limits (50 per second, burst 100), and about a fifth of what an apiserver serves one client before
/// API Priority and Fairness queues its requests.
pub(super) const RATE: (u32, u32) = (100, 200);
/// Maximum number of queued pods; each takes a few kilobytes.
pub(super) const MAX_QUEUED: usize = 1024;
/// Maximum number of queued pods per namespace: at the full rate such a queue takes longer than [`QUEUE_FULL_DELAY`] to
/// drain, so rejecting pods costs no throughput.
pub(super) const MAX_QUEUED_PER_NAMESPACE: usize = 192;
/// Retry delay if the queue is full.
pub(super) const QUEUE_FULL_DELAY: Duration = Duration::from_secs(1);
/// Retry delay if another namespace took the slot during the read.
pub(super) const SLOT_TAKEN_DELAY: Duration = Duration::from_millis(100);
/// Retry delay if all probes are in use.
pub(super) const PROBE_DELAY: Duration = Duration::from_secs(1);
/// An action that takes longer than its timeout divided by this is slow. Otherwise a pod could hold its slot for almost
/// the timeout without consequence.
pub(super) const SLOW_DIVISOR: u32 = 2;
/// Number of namespaces above which idle ones are removed.
pub(super) const MAX_NAMESPACES: usize = 1024;
