//! Values of another type than that of their field in a kind of Kubernetes, outside the specifications of pods. The apiserver rejects
//! the object.

use k8s_openapi::api::batch::v1::JobTemplateSpec;
use serde_json::Value;

use super::InvalidField;
use super::components;
use super::invalid_field::{expected_name, expected_type};
use super::operator_fields::POD_SPEC;
use super::unknown_fields::search_of;
use crate::json;
use crate::known_fields::{Mistyped, Searched, search_except};
use crate::step::Step;
use crate::workload::RenderError;

/// Group of the kind whose objects contain templates of Jobs.
const JOB_SET_GROUP: &str = "jobset.x-k8s.io/";

/// Fails if a field of `object`, or of an object in an `AppWrapper`, has a value of another type.
pub(super) fn require(object: &Value) -> Result<(), RenderError> {
    components::objects(object).into_iter().try_for_each(|(path, object)| {
        require_in_object(object).map_err(|error| if path.is_empty() { error } else { error.below(&path) })
    })
}

fn require_in_object(object: &Value) -> Result<(), RenderError> {
    let text = |key: &str| json::text(object, key).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if let Some(search) = search_of(api_version, kind) {
        return require_none(&search(object, POD_SPEC), &[]);
    }
    if kind != "JobSet" || !api_version.starts_with(JOB_SET_GROUP) {
        return Ok(());
    }
    let jobs = object.get("spec").into_iter().flat_map(|spec| json::items(spec, "replicatedJobs"));
    for (index, template) in jobs.enumerate().filter_map(|(index, job)| Some((index, job.get("template")?))) {
        let path = [Step::Key("spec"), Step::Key("replicatedJobs"), Step::Index(index), Step::Key("template")];
        require_none(&search_except::<JobTemplateSpec>(template, POD_SPEC), &path)?;
    }
    Ok(())
}

/// Fails at the first value of a wrong type that no other check reports. `root` is the path of the value that was searched.
fn require_none(searched: &Searched<'_>, root: &[Step<'_>]) -> Result<(), RenderError> {
    let Some(Mistyped { path, value, message }) = searched.mistyped.iter().find(|found| is_error(found)) else {
        return Ok(());
    };
    let expected = expected_type(message);
    let is_unquoted = expected == "a string" && (value.is_number() || value.is_boolean());
    let InvalidField { path, found, .. } = InvalidField::new(&[root, path.as_slice()].concat(), value, expected);
    Err(RenderError::Invalid {
        path: path.trim_start_matches('.').to_owned(),
        found,
        expected: if is_unquoted { format!("{expected}; quote it") } else { expected.to_owned() }.into(),
    })
}

/// Returns true for a value that the apiserver rejects and of which FP049 has no finding. The apiserver treats null as absent.
fn is_error(Mistyped { path, value, message }: &Mistyped<'_>) -> bool {
    let is_of_pods = expected_name(message) == POD_SPEC;
    let metadata = path.iter().position(|step| *step == Step::Key("metadata"));
    let is_label =
        metadata.is_some_and(|at| matches!(path.get(at + 1), None | Some(Step::Key("labels" | "annotations"))));
    !value.is_null() && !is_of_pods && !is_label
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn check(api_version: &str, kind: &str, spec: &Value) -> Option<String> {
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": spec});
        let wrapper = json!({"kind": "AppWrapper", "spec": {"components": [{}, {"template": object}]}});
        let found = require(&object).err().map(|error| error.to_string());
        let in_a_wrapper = found.as_ref().map(|error| format!("spec.components[1].template.{error}"));
        assert_eq!(require(&wrapper).err().map(|error| error.to_string()), in_a_wrapper);
        found
    }

    #[rstest]
    #[case::integer("batch/v1", "Job", json!({"backoffLimit": "3"}), "spec.backoffLimit is \"3\": expected an integer; remove the quotes")]
    #[case::range("batch/v1", "Job", json!({"backoffLimit": 3_000_000_000_u64}), "spec.backoffLimit is 3000000000: expected an integer")]
    #[case::fraction("batch/v1", "Job", json!({"ttlSecondsAfterFinished": 1.5}), "spec.ttlSecondsAfterFinished is 1.5: expected an integer")]
    #[case::boolean("batch/v1", "Job", json!({"manualSelector": "true"}), "spec.manualSelector is \"true\": expected a boolean; remove the quotes")]
    #[case::string("batch/v1", "CronJob", json!({"schedule": 5}), "spec.schedule is 5: expected a string; quote it")]
    #[case::mapping("batch/v1", "Job", json!({"podFailurePolicy": []}), "spec.podFailurePolicy is a list: expected a mapping")]
    #[case::list("batch/v1", "Job", json!({"podFailurePolicy": {"rules": {}}}), "spec.podFailurePolicy.rules is a mapping: expected a list")]
    #[case::item(
        "batch/v1", "Job", json!({"podFailurePolicy": {"rules": [{"onExitCodes": {"values": [1, "2"]}}]}}),
        "spec.podFailurePolicy.rules[0].onExitCodes.values[1] is \"2\": expected an integer; remove the quotes"
    )]
    #[case::cron_job(
        "batch/v1", "CronJob", json!({"jobTemplate": {"spec": {"activeDeadlineSeconds": "1h"}}}),
        "spec.jobTemplate.spec.activeDeadlineSeconds is \"1h\": expected an integer"
    )]
    #[case::strategy(
        "apps/v1", "Deployment", json!({"strategy": {"rollingUpdate": {"maxSurge": []}}}),
        "spec.strategy.rollingUpdate.maxSurge is a list: expected an integer or a string"
    )]
    #[case::name_of_a_template("batch/v1", "Job", json!({"template": {"metadata": {"name": 5}}}), "spec.template.metadata.name is 5: expected a string; quote it")]
    #[case::job_set(
        "jobset.x-k8s.io/v1alpha2", "JobSet", json!({"replicatedJobs": [{}, {"template": {"spec": {"backoffLimit": true}}}]}),
        "spec.replicatedJobs[1].template.spec.backoffLimit is true: expected an integer"
    )]
    fn values_of_wrong_types_are_errors(
        #[case] api_version: &str,
        #[case] kind: &str,
        #[case] spec: Value,
        #[case] expected: &str,
    ) {
        assert_eq!(check(api_version, kind, &spec).as_deref(), Some(expected));
    }

    #[rstest]
    #[case::right("batch/v1", "Job", json!({"backoffLimit": 3, "suspend": false, "podFailurePolicy": {"rules": [{"onExitCodes": {"values": [1]}}]}}))]
    #[case::null("batch/v1", "Job", json!({"backoffLimit": null, "selector": {"matchLabels": {"a": null}}, "podFailurePolicy": {"rules": [null]}}))]
    #[case::integer_or_string("apps/v1", "Deployment", json!({"strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}}))]
    #[case::pods("batch/v1", "Job", json!({"template": {"spec": {"activeDeadlineSeconds": "3", "containers": 5}}}))]
    #[case::spec_of_pods("batch/v1", "Job", json!({"template": {"spec": 5}}))]
    #[case::labels_of_pods("batch/v1", "Job", json!({"template": {"metadata": {"labels": {"a": 5}, "annotations": []}}}))]
    #[case::metadata_of_pods("batch/v1", "Job", json!({"template": {"metadata": 5}}))]
    #[case::unknown_field("batch/v1", "Job", json!({"surprise": "3"}))]
    #[case::another_group("batch.volcano.sh/v1alpha1", "Job", json!({"ttlSecondsAfterFinished": "3"}))]
    #[case::quantity("apps/v1", "StatefulSet", json!({"volumeClaimTemplates": [{"spec": {"resources": {"requests": {"storage": 5}}}}]}))]
    #[case::pods_of_a_job_set("jobset.x-k8s.io/v1alpha2", "JobSet", json!({"replicatedJobs": [{"template": {"spec": {"template": {"spec": {"containers": 5}}}}}]}))]
    fn other_values_are_accepted(#[case] api_version: &str, #[case] kind: &str, #[case] spec: Value) {
        assert_eq!(check(api_version, kind, &spec), None);
    }

    #[test]
    fn labels_and_times_of_the_object_are_accepted() {
        let metadata =
            json!({"name": "a", "labels": {"a": 5}, "creationTimestamp": "2026-01-31T00:00:00Z", "generation": 1});
        let object = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {}});
        assert_eq!(require(&object), Ok(()));
    }
}
