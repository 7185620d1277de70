//! The queue of Kueue that a workload names.

use serde_json::Value;

use crate::keys::KUEUE_QUEUE;

/// API group of the Jobs of Volcano, for which Kueue has no integration (kubernetes-sigs/kueue 0.19, `pkg/controller/jobs`).
const VOLCANO: &str = "batch.volcano.sh/";

/// Returns true if Kueue cannot manage `workload`, whatever its labels.
#[must_use]
pub fn is_outside_kueue(workload: &Value) -> bool {
    workload.get("apiVersion").and_then(Value::as_str).is_some_and(|version| version.starts_with(VOLCANO))
}

/// Returns the queue of Kueue for the pods of `workload`; `None` if they have none. A `CronJob` passes only the labels of
/// its `jobTemplate` to the Jobs that Kueue manages (Kubernetes 1.36, `pkg/controller/cronjob/utils.go`, `getJobFromTemplate2`).
#[must_use]
pub fn kueue_queue(workload: &Value) -> Option<&str> {
    if is_outside_kueue(workload) {
        return None;
    }
    let kind = workload.get("kind").and_then(Value::as_str);
    let managed = if kind == Some("CronJob") { workload.pointer("/spec/jobTemplate")? } else { workload };
    let queue = managed.get("metadata")?.get("labels")?.get(KUEUE_QUEUE)?.as_str()?;
    Some(queue).filter(|queue| !queue.is_empty())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::kueue_queue;

    fn labels(queue: &str) -> Value {
        json!({"labels": {"kueue.x-k8s.io/queue-name": queue}})
    }

    #[rstest]
    #[case::job(json!({"kind": "Job", "metadata": labels("gpu")}), Some("gpu"))]
    #[case::job_of_volcano(json!({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": labels("gpu")}), None)]
    #[case::unset(json!({"kind": "Job", "metadata": labels("")}), None)]
    #[case::cron(json!({"kind": "CronJob", "metadata": labels("gpu")}), None)]
    #[case::of_its_jobs(json!({"kind": "CronJob", "spec": {"jobTemplate": {"metadata": labels("gpu")}}}), Some("gpu"))]
    #[case::template_of_a_job(json!({"kind": "Job", "spec": {"jobTemplate": {"metadata": labels("gpu")}}}), None)]
    fn queues(#[case] workload: Value, #[case] expected: Option<&str>) {
        assert_eq!(kueue_queue(&workload), expected);
    }
}
