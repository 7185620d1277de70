//! What the Job controller makes of its pod template (Kubernetes 1.36, `pkg/controller/job`, `registry/batch/job`).

use serde_json::{Map, Value, json};

use super::{Draft, PodName, append, controlled_by, env_of_field};

/// The uid of an object that does not exist yet.
pub(in crate::workload) const NO_UID: &str = "00000000-0000-0000-0000-000000000000";

/// Longest prefix that the apiserver completes to a name of 63 characters.
const LONGEST_PREFIX: usize = 58;

/// Label, and annotation, with the index of a pod of an Indexed Job.
const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// A Job as its first pod shows it.
#[derive(Clone, Copy, Debug)]
pub(in crate::workload) struct BatchJob<'a> {
    /// The Job's name.
    pub(in crate::workload) name: &'a str,
    /// Whether `completionMode` is `Indexed`.
    pub(in crate::workload) indexed: bool,
    /// Whether `backoffLimitPerIndex` is set.
    pub(in crate::workload) counts_failures: bool,
}

impl BatchJob<'_> {
    /// The Job's first pod.
    pub(in crate::workload) fn pod(self, mut draft: Draft, namespace: &str) -> Value {
        for (key, value) in [
            ("job-name", self.name),
            ("batch.kubernetes.io/job-name", self.name),
            ("controller-uid", NO_UID),
            ("batch.kubernetes.io/controller-uid", NO_UID),
        ] {
            draft.labels.entry(key).or_insert_with(|| value.into());
        }
        let tracking = json!("batch.kubernetes.io/job-tracking");
        if !draft.finalizers.contains(&tracking) {
            draft.finalizers.push(tracking);
        }
        let mut prefix = format!("{}-", self.name);
        if self.indexed {
            prefix = self.first_of_index(&mut draft);
        }
        draft.into_pod(PodName::Generated(prefix), namespace, controlled_by("batch/v1", "Job", self.name, NO_UID))
    }

    fn first_of_index(self, draft: &mut Draft) -> String {
        draft.init_containers().for_each(add_index);
        draft.containers().for_each(add_index);
        draft.annotate(COMPLETION_INDEX, "0");
        draft.label(COMPLETION_INDEX, "0");
        if self.counts_failures {
            draft.annotate("batch.kubernetes.io/job-index-failure-count", "0");
        }
        draft.set("hostname", format!("{}-0", self.name));
        let kept: String = self.name.chars().take(LONGEST_PREFIX - "-0-".len()).collect();
        format!("{kept}-0-")
    }
}

fn add_index(container: &mut Map<String, Value>) {
    let name = "JOB_COMPLETION_INDEX";
    let env = container.get("env").and_then(Value::as_array);
    if !env.is_some_and(|env| env.iter().any(|variable| variable["name"] == name)) {
        append(container, "env", [env_of_field(name, &format!("metadata.labels['{COMPLETION_INDEX}']"))]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Field;
    use super::*;

    fn pod(job: BatchJob<'_>) -> Value {
        let template = json!({"metadata": {"labels": {"job-name": "mine"}}, "spec": {
            "initContainers": [{"name": "i"}],
            "containers": [{"name": "a", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "7"}]}],
        }});
        job.pod(Draft::read(&Field::root(&template)).unwrap(), "ml")
    }

    #[test]
    fn a_plain_job_keeps_labels_of_its_template() {
        let pod = pod(BatchJob { name: "j", indexed: false, counts_failures: false });
        assert_eq!(pod["metadata"]["generateName"], "j-");
        assert_eq!(pod["metadata"]["labels"]["job-name"], "mine");
        assert_eq!(pod["metadata"]["labels"]["batch.kubernetes.io/job-name"], "j");
        assert_eq!(pod["metadata"]["finalizers"], json!(["batch.kubernetes.io/job-tracking"]));
        assert_eq!(pod["spec"].get("hostname"), None);
        assert_eq!(pod["spec"]["initContainers"][0].get("env"), None);
    }

    #[test]
    fn an_indexed_job_numbers_its_pods() {
        let name = "n".repeat(60);
        let pod = pod(BatchJob { name: &name, indexed: true, counts_failures: true });
        assert_eq!(pod["metadata"]["generateName"], format!("{}-0-", "n".repeat(55)));
        assert_eq!(pod["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"], "0");
        assert_eq!(pod["spec"]["hostname"], format!("{name}-0"));
        assert_eq!(pod["spec"]["containers"][0]["env"], json!([{"name": "JOB_COMPLETION_INDEX", "value": "7"}]));
        let path = "metadata.labels['batch.kubernetes.io/job-completion-index']";
        assert_eq!(pod["spec"]["initContainers"][0]["env"][0]["valueFrom"]["fieldRef"]["fieldPath"], path);
    }
}
