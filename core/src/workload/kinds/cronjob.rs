//! `batch/v1` `CronJob`: the pods of the Job that it creates at each tick.

use super::job;
use crate::workload::template::{Field, Owner};
use crate::workload::{Fidelity, GangTraits, Kind, Manifest, RenderError, Role};

/// A `CronJob`. Its pods carry no trace of it: they are recognised as their Job's.
pub(super) static KIND: Kind = Kind {
    group: "batch",
    versions: &["v1"],
    kind: "CronJob",
    resource: "cronjobs",
    fidelity: Fidelity::Exact,
    render,
    identify: |_| None,
    gang: GangTraits::NONE,
};

/// Stands for the time of the tick, which ends the Job's name: minutes since 1970, of eight digits until 2160.
const ZERO_TICK: &str = "00000000";

fn render(manifest: &Manifest<'_>) -> Result<Vec<Role>, RenderError> {
    let cron = Owner::of(manifest, "batch/v1", "CronJob")?;
    let owner = job::made_by(&cron, format!("{}-{ZERO_TICK}", cron.name));
    let spec = Field::root(manifest.raw).get("spec");
    let mut role = job::role(&spec.get("jobTemplate").get("spec"), &owner, manifest.namespace)?;
    role.notes.push(format!("the Job's name ends with the time of its tick: {ZERO_TICK} stands for it"));
    if spec.get("suspend").is_true()? {
        role.notes.push("the CronJob is suspended: it starts no Job until it is resumed".to_owned());
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
    fn pods(#[case] job: Value, #[case] replicas: u64, #[case] expected: Value) {
        check(&cron(&job), "Pod", replicas, &expected);
    }

    #[test]
    fn errors_name_the_whole_path() {
        assert_eq!(error(&cron(&json!({}))), "spec.jobTemplate.spec.template is missing");
    }
}
