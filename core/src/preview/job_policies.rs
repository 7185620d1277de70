//! Restart policies with which the apiserver rejects a Job (kubernetes/kubernetes, `pkg/apis/batch/validation`), as far as the
//! manifest contains them.

use serde_json::Value;

use crate::json;

/// Restart policy that a Job does not support.
const ALWAYS: &str = "Always";
/// Policy in the spec of a Job.
const POLICY: &str = "template.spec.restartPolicy";
/// Maximum number of messages. More only repeat the same mistake.
const MAX_MESSAGES: usize = 10;

/// Returns the path of each such policy in `object`, and a message that starts with it.
pub(super) fn messages(api_version: &str, kind: &str, object: &Value) -> Vec<(String, String)> {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let Some(spec) = object.get("spec") else { return Vec::new() };
    let found: Vec<String> = match (group, kind) {
        ("batch", "Job") if is_rejected(spec) => vec![format!("spec.{POLICY}")],
        ("batch", "CronJob") if spec.pointer("/jobTemplate/spec").is_some_and(is_rejected) => {
            vec![format!("spec.jobTemplate.spec.{POLICY}")]
        }
        ("jobset.x-k8s.io", "JobSet") => {
            let jobs = json::items(spec, "replicatedJobs").enumerate();
            let rejected = jobs.filter(|(_, job)| job.pointer("/template/spec").is_some_and(is_rejected));
            let path = |(index, _): (usize, &Value)| format!("spec.replicatedJobs[{index}].template.spec.{POLICY}");
            rejected.map(path).take(MAX_MESSAGES).collect()
        }
        _ => Vec::new(),
    };
    let problem = format!("the apiserver rejects a Job with restartPolicy={ALWAYS}: expected OnFailure or Never");
    let message = |path: String| {
        let message = format!("{path}: {problem}");
        (path, message)
    };
    found.into_iter().map(message).collect()
}

/// Returns true if the pods of a Job with this `spec` have the policy.
fn is_rejected(spec: &Value) -> bool {
    spec.pointer("/template/spec/restartPolicy").and_then(Value::as_str) == Some(ALWAYS)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    const EXPECTED: &str = ": the apiserver rejects a Job with restartPolicy=Always: expected OnFailure or Never";

    #[rstest]
    #[case::always("Always", true)]
    #[case::never("Never", false)]
    #[case::misspelled("always", false)]
    fn policies_that_the_apiserver_rejects_are_named(#[case] policy: &str, #[case] is_named: bool) {
        let job = json!({"template": {"spec": {"restartPolicy": policy, "containers": []}}});
        let check = |api_version: &str, kind: &str, spec: Value, path: &str| {
            let found: Vec<String> =
                messages(api_version, kind, &json!({"spec": spec})).into_iter().map(|(_, message)| message).collect();
            let expected: Vec<String> = is_named.then(|| format!("{path}{EXPECTED}")).into_iter().collect();
            assert_eq!(found, expected);
        };
        check("batch/v1", "Job", job.clone(), "spec.template.spec.restartPolicy");
        let cron = json!({"jobTemplate": {"spec": job}});
        check("batch/v1", "CronJob", cron, "spec.jobTemplate.spec.template.spec.restartPolicy");
        let set = json!({"replicatedJobs": [{"name": "a"}, {"template": {"spec": job}}]});
        let path = "spec.replicatedJobs[1].template.spec.template.spec.restartPolicy";
        check("jobset.x-k8s.io/v1alpha2", "JobSet", set, path);
    }

    #[rstest]
    #[case::default(json!({"template": {"spec": {}}}))]
    #[case::of_a_container(json!({"template": {"spec": {"initContainers": [{"restartPolicy": "Always"}]}}}))]
    fn other_jobs_are_accepted(#[case] spec: Value) {
        assert!(messages("batch/v1", "Job", &json!({"spec": spec})).is_empty());
    }

    #[test]
    fn other_kinds_are_accepted() {
        let set = json!({"spec": {"template": {"spec": {"restartPolicy": "Always"}}}});
        assert!(messages("apps/v1", "Deployment", &set).is_empty());
        assert!(messages("batch.volcano.sh/v1alpha1", "Job", &set).is_empty());
    }
}
