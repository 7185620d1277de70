//! Where the pod can run, as far as the cluster is known: FP028, FP033, FP034.

use std::collections::BTreeSet;

use serde_json::Value;

use super::facts::Facts;
use super::finding::Found;
use super::rdma;
use crate::cluster_facts::{NodeShape, Quota};

/// Labels that every node carries: to select by them narrows nothing down.
const COMMON: [&str; 2] = ["kubernetes.io/os", "kubernetes.io/arch"];

/// FP028: no node offers the adapter, or the namespace's quota has none left.
pub(super) fn unobtainable(facts: &Facts<'_>, found: &mut Found<'_>) {
    let cluster = facts.subject.cluster;
    for (adapter, count) in facts.adapters() {
        // Of a cluster without nodes nothing is known: its pools may start at nothing.
        let nodes = cluster.nodes.filter(|nodes| !nodes.shapes.is_empty());
        if nodes.is_some_and(|nodes| nodes.most(adapter) == 0) {
            found.add("/spec/containers", format!("no node offers {adapter}"));
        }
        let requested = format!("requests.{adapter}");
        // Findings become warnings, which any pod that reaches the webhook can ask for: they hold no figures.
        let is_tight = |quota: &&Quota| quota.left.get(&requested).is_some_and(|left| *left < count);
        let quotas = cluster.quotas.unwrap_or_default();
        if let Some(quota) = quotas.iter().find(is_tight) {
            let message = format!("{count} {adapter} do not fit into quota {}", quota.name);
            found.add("/spec/containers", message);
        }
    }
}

/// FP033: pods of one job may land on machines of different types.
pub(super) fn anywhere(facts: &Facts<'_>, found: &mut Found<'_>) {
    if pinned(facts) {
        return;
    }
    for (adapter, _) in facts.adapters() {
        // The adapter itself keeps the pod to nodes that offer it.
        let machines: BTreeSet<&str> = offering(facts, adapter).filter_map(|shape| shape.machine.as_deref()).collect();
        if machines.len() > 1 {
            let machines = Vec::from_iter(machines).join(", ");
            found.add("/spec/nodeSelector", format!("{adapter} on nodes of any type: {machines}"));
        }
    }
}

/// The kinds of nodes that offer `adapter`.
fn offering<'a>(facts: &Facts<'a>, adapter: &str) -> impl Iterator<Item = &'a NodeShape> {
    let shapes = facts.subject.cluster.nodes.map(|nodes| nodes.shapes.as_slice()).unwrap_or_default();
    shapes.iter().filter(move |shape| shape.allocatable.get(adapter).is_some_and(|offered| *offered > 0))
}

/// Whether the pod chooses its nodes by more than what all of them share.
fn pinned(facts: &Facts<'_>) -> bool {
    let selector = facts.spec("nodeSelector").and_then(Value::as_object);
    let selected = selector.is_some_and(|labels| labels.keys().any(|key| !COMMON.contains(&key.as_str())));
    let required = facts.spec("affinity").and_then(|affinity| {
        affinity.get("nodeAffinity")?.get("requiredDuringSchedulingIgnoredDuringExecution")?.as_object()
    });
    selected || required.is_some()
}

/// FP034: the nodes are known, and none is seen to have an adapter that `GPUDirect` could use.
pub(super) fn no_peer_memory(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in facts.containers.iter().filter(|seen| seen.gpus > 0) {
        let Some((adapter, _)) = seen.adapters.iter().find(|(adapter, _)| !rdma::is_efa(adapter)) else { continue };
        let mut shapes = offering(facts, adapter).peekable();
        if shapes.peek().is_some() && shapes.all(|shape| shape.adapter_seen == Some(false)) {
            let message = format!("{}: no sign of GPUDirect on nodes with {adapter}", seen.named());
            found.add(seen.at("/resources"), message);
        }
    }
}
