//! Unit that Kueue counts.

use serde_json::Value;

use crate::workload;

/// Kinds whose pods Kueue admits individually (kubernetes-sigs/kueue, `pkg/controller/jobs/{pod,deployment,statefulset,
/// leaderworkerset}`, ff69552e79, 2026-08-22).
const ADMITTED_AS_PODS: [&str; 5] = ["Pod", "Deployment", "ReplicaSet", "StatefulSet", "LeaderWorkerSet"];

/// Unit that Kueue counts for a workload in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuotaUnit {
    /// The pod templates, before the pods exist.
    Template,
    /// The pods, after admission webhooks have changed them.
    Pod,
}

impl QuotaUnit {
    /// Returns the unit that Kueue counts for `workload`; `None` if it is not in a queue.
    pub(super) fn of_workload(workload: &Value) -> Option<Self> {
        workload::kueue_queue(workload)?;
        let kind = workload.get("kind").and_then(Value::as_str).unwrap_or_default();
        Some(if ADMITTED_AS_PODS.contains(&kind) { Self::Pod } else { Self::Template })
    }
}
