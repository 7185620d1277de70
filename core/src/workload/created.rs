//! The workload that an object creates, where the pods belong to that one.

use serde_json::{Value, json};

use super::WorkloadKind;
use super::kinds::{appwrapper, find};
use crate::json::text;

/// Returns the manifest of the workload called `name` that `manifest` creates, and its kind: the Job of a `CronJob`, or a
/// component of an `AppWrapper`. The webhook reads this object. `None` for other kinds.
#[must_use]
pub fn created_workload(manifest: &Value, name: &str) -> Option<(&'static WorkloadKind, Value)> {
    match text(manifest, "kind")? {
        "CronJob" => {
            let template = manifest.pointer("/spec/jobTemplate")?;
            let job = json!({
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": template.get("metadata"), "spec": template.get("spec"),
            });
            Some((find("batch/v1", "Job")?, job))
        }
        "AppWrapper" => appwrapper::gang_component(manifest, name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn components(kinds: &[(&str, &str, &str)]) -> Value {
        let component = |(api_version, kind, name): &(&str, &str, &str)| {
            let spec = json!({"template": {"spec": {}}});
            let template = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec});
            let sets = (json!([{"path": "template.spec.template"}]), json!([{"nodeSelector": {"of": name}}]));
            json!({"template": template, "podSets": sets.0, "podSetInfos": sets.1})
        };
        let components: Vec<Value> = kinds.iter().map(component).collect();
        json!({"kind": "AppWrapper", "metadata": {"name": "w"}, "spec": {"components": components}})
    }

    #[rstest]
    #[case::cron(json!({"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"parallelism": 2}}}}), Some("Job"))]
    #[case::component(components(&[("v1", "ConfigMap", "c"), ("batch/v1", "Job", "a")]), Some("Job"))]
    #[case::beside_a_service(components(&[("apps/v1", "Deployment", "board"), ("batch/v1", "Job", "a")]), Some("Job"))]
    #[case::several(components(&[("batch/v1", "Job", "b"), ("batch/v1", "Job", "a")]), Some("Job"))]
    #[case::other_names(components(&[("batch/v1", "Job", "b"), ("batch/v1", "Job", "c")]), None)]
    #[case::unknown(components(&[("example.com/v1", "Train", "a")]), None)]
    #[case::job(json!({"kind": "Job", "spec": {}}), None)]
    fn workloads_are_found(#[case] manifest: Value, #[case] expected: Option<&str>) {
        assert_eq!(created_workload(&manifest, "a").map(|(kind, _)| kind.kind), expected);
    }

    #[test]
    fn the_component_is_that_of_the_controller() {
        let manifest = components(&[("batch/v1", "Job", "b"), ("batch/v1", "Job", "a")]);
        let (_, job) = created_workload(&manifest, "a").unwrap();
        assert_eq!(job.pointer("/spec/template/spec/nodeSelector"), Some(&json!({"of": "a"})));
    }
}
