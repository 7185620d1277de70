//! The workload that an object creates, where the pods belong to that one.

use serde_json::{Value, json};

use super::WorkloadKind;
use super::kinds::find;
use crate::json::text;

/// Returns the manifest of the only workload with pods that `manifest` creates, and its kind: the Job of a `CronJob`, or the
/// component of an `AppWrapper`. The webhook reads this object. `None` for other kinds, and for several components.
#[must_use]
pub fn created_workload(manifest: &Value) -> Option<(&'static WorkloadKind, Value)> {
    let with_kind = |manifest: &Value| find(text(manifest, "apiVersion")?, text(manifest, "kind")?);
    match text(manifest, "kind")? {
        "CronJob" => {
            let template = manifest.pointer("/spec/jobTemplate")?;
            let job = json!({
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": template.get("metadata"), "spec": template.get("spec"),
            });
            Some((with_kind(&job)?, job))
        }
        "AppWrapper" => {
            let components = manifest.pointer("/spec/components")?.as_array()?;
            let templates = components.iter().filter_map(|component| component.get("template"));
            let mut workloads = templates.filter_map(|template| Some((with_kind(template)?, template)));
            let (kind, template) = workloads.next()?;
            workloads.next().is_none().then(|| (kind, template.clone()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn components(kinds: &[(&str, &str)]) -> Value {
        let template =
            |(api_version, kind): &(&str, &str)| json!({"template": {"apiVersion": api_version, "kind": kind}});
        let components: Vec<Value> = kinds.iter().map(template).collect();
        json!({"kind": "AppWrapper", "spec": {"components": components}})
    }

    #[rstest]
    #[case::cron(json!({"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"parallelism": 2}}}}), Some("Job"))]
    #[case::component(components(&[("v1", "ConfigMap"), ("batch/v1", "Job")]), Some("Job"))]
    #[case::several(components(&[("batch/v1", "Job"), ("kubeflow.org/v1", "PyTorchJob")]), None)]
    #[case::unknown(components(&[("example.com/v1", "Train")]), None)]
    #[case::job(json!({"kind": "Job", "spec": {}}), None)]
    fn the_only_workload_is_found(#[case] manifest: Value, #[case] expected: Option<&str>) {
        assert_eq!(created_workload(&manifest).map(|(kind, _)| kind.kind), expected);
    }
}
