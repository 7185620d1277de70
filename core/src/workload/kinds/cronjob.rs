//! `batch/v1` `CronJob`: the pods of the Jobs that it creates on schedule.

use super::job;
use crate::workload::template::{Field, Owner};
use crate::workload::{Fidelity, GangTraits, Manifest, RenderError, RolePod, WorkloadKind};

/// A `CronJob`. Its pods do not refer to it, so they are identified as part of their Job.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "batch",
    versions: &["v1"],
    kind: "CronJob",
    resource: "cronjobs",
    fidelity: Fidelity::Exact,
    render,
    identify: |_| None,
    labels: &[],
    gang: GangTraits::NONE,
};

/// Placeholder for the scheduled time at the end of the Job's name: minutes since 1970, which have eight digits until
/// 2160.
const ZERO_TIME: &str = "00000000";

fn render(manifest: &Manifest<'_>) -> Result<Vec<RolePod>, RenderError> {
    let cron = Owner::from_manifest(manifest, "batch/v1", "CronJob")?;
    let owner = job::child_of(&cron, format!("{}-{ZERO_TIME}", cron.name));
    let spec = Field::root(manifest.raw).get("spec");
    let job = spec.get("jobTemplate").get("spec");
    let (template, misplaced) = (job.get("template"), spec.get("template"));
    if !template.is_present() && misplaced.is_present() {
        let problem = format!("a CronJob has no {}: move it to {}", misplaced.path(), template.path());
        return Err(template.missing_beside(&misplaced, problem));
    }
    let mut role = job::role(&job, &owner, manifest.namespace)?;
    role.notes.push(format!("the Job's name ends with its scheduled time, shown as {ZERO_TIME}"));
    if spec.get("suspend").is_true()? {
        role.notes.push("the CronJob is suspended: it creates no Jobs until it is resumed".to_owned());
    }
    Ok(vec![role])
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use crate::workload::template::testing::{check, error};

    fn cron(job: &Value) -> Value {
        json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly", "uid": "u1"}, "spec": {"jobTemplate": {"metadata": {"labels": {"of": "the Job"}}, "spec": job}}})
    }

    #[rstest]
    #[case::plain(json!({"template": {"spec": {}}}), 1, json!({
        "/metadata/generateName": "nightly-00000000-",
        "/metadata/labels/of": null,
        "/metadata/labels/job-name": "nightly-00000000",
        "/metadata/ownerReferences/0/kind": "Job",
        "/metadata/ownerReferences/0/uid": "00000000-0000-0000-0000-000000000000",
    }))]
    #[case::indexed(json!({"completionMode": "Indexed", "completions": 2, "parallelism": 2, "template": {"spec": {}}}), 2, json!({
        "/metadata/generateName": "nightly-00000000-0-",
        "/spec": {"hostname": "nightly-00000000-0"},
    }))]
    fn pods_belong_to_the_next_job(#[case] job: Value, #[case] replicas: u64, #[case] expected: Value) {
        check(&cron(&job), "Pod", replicas, &expected);
    }

    #[test]
    fn errors_contain_the_full_path() {
        assert_eq!(error(&cron(&json!({}))), "spec.jobTemplate.spec.template is missing");
        let mut of_a_job = cron(&json!({}));
        of_a_job["spec"]["template"] = json!({"spec": {}});
        let expected = "spec.jobTemplate.spec.template is missing: a CronJob has no spec.template: move it to \
                        spec.jobTemplate.spec.template";
        assert_eq!(error(&of_a_job), expected);
    }
}
