//! The queue of Kueue that a workload names.

use serde_json::Value;

use crate::keys::KUEUE_QUEUE;

/// Returns the queue of Kueue for the pods of `workload`; `None` if they have none. A `CronJob` passes only the labels of
/// its `jobTemplate` to the Jobs that Kueue manages (Kubernetes 1.36, `pkg/controller/cronjob/utils.go`, `getJobFromTemplate2`).
#[must_use]
pub fn kueue_queue(workload: &Value) -> Option<&str> {
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
    #[case::unset(json!({"kind": "Job", "metadata": labels("")}), None)]
    #[case::cron(json!({"kind": "CronJob", "metadata": labels("gpu")}), None)]
    #[case::of_its_jobs(json!({"kind": "CronJob", "spec": {"jobTemplate": {"metadata": labels("gpu")}}}), Some("gpu"))]
    #[case::template_of_a_job(json!({"kind": "Job", "spec": {"jobTemplate": {"metadata": labels("gpu")}}}), None)]
    fn queues(#[case] workload: Value, #[case] expected: Option<&str>) {
        assert_eq!(kueue_queue(&workload), expected);
    }
}
