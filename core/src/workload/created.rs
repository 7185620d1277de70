//! The workload that an object creates, where the pods belong to that one: in a manifest, and in the status of an object that exists.

use serde_json::{Value, json};

use super::WorkloadKind;
use super::kinds::{appwrapper, find};
use crate::json::{get, items, text};

/// Fields of the status with which operators report the phase of an object without conditions that are final.
const PHASES: [&str; 2] = ["/status/phase", "/status/jobDeploymentStatus"];
/// Phases of a `RayJob` or an `AppWrapper` that has ended.
const FINAL_PHASES: [&str; 4] = ["Complete", "Succeeded", "Failed", "ValidationFailed"];

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

/// Returns the kind and the name of each object that the live `object` has created according to its status: the `RayCluster` of a
/// `RayJob`, the active Jobs of a `CronJob`, and the components of an `AppWrapper`. None for other kinds. The names are text of the
/// status, which may be anything.
#[must_use]
pub fn created_objects(object: &Value) -> Vec<(&'static WorkloadKind, &str)> {
    let Some(status) = get(object, "status") else { return Vec::new() };
    match text(object, "kind") {
        // A cluster that the job selects is not its own.
        Some("RayJob") if object.pointer("/spec/clusterSelector").is_none_or(is_empty) => {
            find("ray.io/v1", "RayCluster").zip(text(status, "rayClusterName")).into_iter().collect()
        }
        Some("CronJob") => {
            let jobs = items(status, "active").filter_map(|job| find("batch/v1", "Job").zip(text(job, "name")));
            jobs.collect()
        }
        Some("AppWrapper") => {
            let component = |component| {
                let kind = find(text(component, "apiVersion")?, text(component, "kind")?)?;
                Some((kind, text(component, "name")?))
            };
            items(status, "componentStatus").filter_map(component).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns true if the phase in the status of the live `object` is final.
#[must_use]
pub fn has_final_phase(object: &Value) -> bool {
    let mut phases = PHASES.into_iter().filter_map(|pointer| object.pointer(pointer)?.as_str());
    phases.any(|phase| FINAL_PHASES.contains(&phase))
}

fn is_empty(selector: &Value) -> bool {
    selector.as_object().is_none_or(serde_json::Map::is_empty)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn status(kind: &str, status: Value) -> Value {
        let mut object = json!({"kind": kind, "spec": {}});
        object["status"] = status;
        object
    }

    fn component(api_version: &str, kind: &str, name: &str) -> Value {
        json!({"apiVersion": api_version, "kind": kind, "name": name, "podSets": []})
    }

    #[rstest]
    #[case::ray_job(status("RayJob", json!({"rayClusterName": "a-x7k2p"})), &["RayCluster a-x7k2p"])]
    #[case::ray_job_without_a_cluster(status("RayJob", json!({"jobDeploymentStatus": "Initializing"})), &[])]
    #[case::selected_cluster(
        json!({"kind": "RayJob", "spec": {"clusterSelector": {"ray.io/cluster": "b"}}, "status": {"rayClusterName": "b"}}), &[]
    )]
    #[case::cron_job(
        status("CronJob", json!({"active": [{"kind": "Job", "name": "a-1"}, {"kind": "Job", "name": "a-2"}]})),
        &["Job a-1", "Job a-2"]
    )]
    #[case::app_wrapper(
        status("AppWrapper", json!({"componentStatus": [
            component("batch/v1", "Job", "a"), component("example.com/v1", "Train", "b"), component("v1", "ConfigMap", "c"),
            component("kubeflow.org/v1", "PyTorchJob", "d"), {"kind": "Job", "apiVersion": "batch/v1"},
        ]})),
        &["Job a", "PyTorchJob d"]
    )]
    #[case::invalid(status("CronJob", json!({"active": {"name": "a"}})), &[])]
    #[case::without_status(json!({"kind": "CronJob"}), &[])]
    #[case::other_kind(status("Job", json!({"active": 3, "rayClusterName": "a"})), &[])]
    fn created_objects_are_those_of_the_status(#[case] object: Value, #[case] expected: &[&str]) {
        let found = created_objects(&object).into_iter().map(|(kind, name)| format!("{} {name}", kind.kind));
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[rstest]
    #[case::ray_job(json!({"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}), true)]
    #[case::ray_job_that_retries(json!({"jobDeploymentStatus": "Retrying"}), false)]
    #[case::app_wrapper(json!({"phase": "Succeeded"}), true)]
    #[case::running(json!({"phase": "Running"}), false)]
    #[case::none(json!({}), false)]
    fn a_final_phase_is_found(#[case] found: Value, #[case] expected: bool) {
        assert_eq!(has_final_phase(&status("RayJob", found)), expected);
    }

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
