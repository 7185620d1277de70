//! `batch/v1` Job, and what every kind that makes Jobs shares with it.
//!
//! Source of the rules: the Job controller and the Job's registry strategy of Kubernetes 1.36.

use serde_json::{Map, Value};

use super::super::{Fidelity, Kind, Manifest, Member, RenderError, Role};
use super::controller::{
    Draft, Field, Owner, env_from_field, has_env, label_number, objects_mut, owned_by, push, truncate,
};
use crate::pod::Pod;

/// A Job: pods that run to completion.
pub(super) static KIND: Kind =
    Kind { group: "batch", versions: &["v1"], kind: "Job", fidelity: Fidelity::Exact, render, identify };

const JOB_NAME: &str = "batch.kubernetes.io/job-name";
/// The label, and annotation, with the index of a pod in its Job.
pub(super) const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";
const FINALIZER: &str = "batch.kubernetes.io/job-tracking";
/// The controller that runs a Job whose `managedBy` names no other.
const JOB_CONTROLLER: &str = "kubernetes.io/job-controller";
/// The longest `generateName` that the Job controller writes for a pod with an index.
const LONGEST_PREFIX: usize = 58;

/// How the pods of a Job are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompletionMode {
    /// They are not.
    NonIndexed,
    /// By an index from 0 to `completions` - 1.
    Indexed,
}

impl CompletionMode {
    /// The mode that a Job's spec names, else `default`.
    pub(super) fn read(spec: &Field<'_>, default: Self) -> Self {
        match spec.get("completionMode").text() {
            None => default,
            Some("Indexed") => Self::Indexed,
            Some(_) => Self::NonIndexed,
        }
    }
}

fn render(manifest: &Manifest<'_>) -> Result<Vec<Role>, RenderError> {
    let owner = Owner::of(manifest, "batch/v1", "Job")?;
    let spec = Field::root(manifest.raw).get("spec");
    Ok(vec![role(&spec, &owner, manifest.namespace)?])
}

fn identify(pod: Pod<'_>) -> Option<Member<'_>> {
    let job = owned_by(pod, "batch/v1", "Job").or_else(|| pod.label(JOB_NAME))?;
    let index = label_number(pod, COMPLETION_INDEX);
    // An index is the sign of pods that know each other; without one a Job is a queue of single pods.
    Some(Member { kind: KIND.kind, job, role: None, index, training: index.is_some() })
}

/// The one role of a Job with this `spec`.
pub(super) fn role(spec: &Field<'_>, owner: &Owner<'_>, namespace: &str) -> Result<Role, RenderError> {
    let mode = CompletionMode::read(spec, CompletionMode::NonIndexed);
    let pods = at_once(spec, mode)?;
    let mut draft = Draft::new(&spec.get("template"), owner, namespace)?;
    finish(&mut draft, spec, owner, mode);
    if spec.get("suspend").is_true() {
        draft.note("the Job is suspended: its pods are created when it is resumed");
    }
    if let Some(manager) = spec.get("managedBy").text().filter(|manager| *manager != JOB_CONTROLLER) {
        draft.note(format!("spec.managedBy hands this Job to {manager}, which may make other pods"));
    }
    if let Some(completions) = spec.get("completions").count()?.filter(|completions| *completions > pods) {
        draft.note(format!("{completions} pods run in all, {pods} at a time"));
    }
    Ok(draft.into_role("Pod", pods))
}

/// How many pods of a Job run at once.
pub(super) fn at_once(spec: &Field<'_>, mode: CompletionMode) -> Result<u64, RenderError> {
    let parallelism = spec.get("parallelism").count()?;
    let completions = spec.get("completions").count()?;
    if mode == CompletionMode::Indexed && completions.is_none() && parallelism.is_some() {
        return Err(spec.get("completions").missing());
    }
    let parallelism = parallelism.unwrap_or(1);
    Ok(completions.map_or(parallelism, |completions| completions.min(parallelism)))
}

/// What the Job's registry and its controller add to a pod; for an indexed Job it is the pod of index 0.
pub(super) fn finish(draft: &mut Draft, spec: &Field<'_>, owner: &Owner<'_>, mode: CompletionMode) {
    if !spec.get("manualSelector").is_true() {
        for key in ["job-name", JOB_NAME] {
            draft.labels.entry(key).or_insert_with(|| owner.name.clone().into());
        }
        for key in ["controller-uid", "batch.kubernetes.io/controller-uid"] {
            draft.labels.entry(key).or_insert_with(|| owner.uid.into());
        }
    }
    if !draft.finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
        draft.finalizers.push(FINALIZER.into());
    }
    if mode == CompletionMode::Indexed {
        for list in ["initContainers", "containers"] {
            objects_mut(&mut draft.spec, list).for_each(tell_index);
        }
        draft.mark(COMPLETION_INDEX, "0");
        if spec.get("backoffLimitPerIndex").value().is_some() {
            draft.annotate("batch.kubernetes.io/job-index-failure-count", "0");
        }
        draft.set("hostname", format!("{}-0", owner.name));
        draft.generate_name = Some(format!("{}-0-", truncate(&owner.name, LONGEST_PREFIX - "-0-".len())));
    }
}

fn tell_index(container: &mut Map<String, Value>) {
    if !has_env(container, INDEX_VARIABLE) {
        push(container, "env", env_from_field(INDEX_VARIABLE, &format!("metadata.labels['{COMPLETION_INDEX}']")));
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::controller::testing::{check, error};
    use super::*;

    fn job(spec: &Value) -> Value {
        let template = json!({"metadata": {"labels": {"app": "llama"}}, "spec": {"containers": [{"name": "train"}]}});
        let mut raw = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "llama"}, "spec": {"template": template}});
        raw["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        raw
    }

    #[rstest]
    #[case::plain(json!({}), 1, json!({
        "/apiVersion": "v1", "/kind": "Pod",
        "/metadata": {
            "generateName": "llama-",
            "namespace": "team",
            "labels": {
                "app": "llama",
                "job-name": "llama",
                "batch.kubernetes.io/job-name": "llama",
                "controller-uid": "00000000-0000-0000-0000-000000000000",
                "batch.kubernetes.io/controller-uid": "00000000-0000-0000-0000-000000000000",
            },
            "ownerReferences": [{
                "apiVersion": "batch/v1", "kind": "Job", "name": "llama",
                "uid": "00000000-0000-0000-0000-000000000000", "controller": true, "blockOwnerDeletion": true,
            }],
            "finalizers": ["batch.kubernetes.io/job-tracking"],
        },
        "/spec": {"containers": [{"name": "train"}]},
    }))]
    #[case::indexed(json!({"completionMode": "Indexed", "completions": 8, "parallelism": 4, "backoffLimitPerIndex": 1}), 4, json!({
        "/metadata/generateName": "llama-0-",
        "/metadata/labels/batch.kubernetes.io~1job-completion-index": "0",
        "/metadata/annotations": {"batch.kubernetes.io/job-completion-index": "0", "batch.kubernetes.io/job-index-failure-count": "0"},
        "/spec/hostname": "llama-0",
        "/spec/containers/0/env": [{"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']"}}}],
    }))]
    #[case::own_index_variable(
        json!({"completionMode": "Indexed", "template": {"spec": {"initContainers": [{"env": null}], "containers": [{"env": [{"name": "JOB_COMPLETION_INDEX", "value": "7"}]}]}}}), 1,
        json!({
            "/spec/containers/0/env": [{"name": "JOB_COMPLETION_INDEX", "value": "7"}],
            "/spec/initContainers/0/env/0/name": "JOB_COMPLETION_INDEX",
        })
    )]
    #[case::own_selector(json!({"manualSelector": true}), 1, json!({"/metadata/labels": {"app": "llama"}}))]
    #[case::fewer_completions(json!({"completions": 2, "parallelism": 5}), 2, json!({}))]
    #[case::work_queue(json!({"parallelism": 5}), 5, json!({"/metadata/generateName": "llama-"}))]
    #[case::paused(json!({"parallelism": 0}), 0, json!({"/metadata/generateName": "llama-"}))]
    #[case::containers_are_null(json!({"completionMode": "Indexed", "template": {"spec": {"containers": null}}}), 1, json!({"/spec": {"containers": null, "hostname": "llama-0"}}))]
    #[case::containers_are_odd(json!({"completionMode": "Indexed", "template": {"metadata": [], "spec": {"containers": ["a", {"env": "x"}]}}}), 1, json!({"/spec/containers": ["a", {"env": "x"}]}))]
    fn pods(#[case] spec: Value, #[case] replicas: u64, #[case] expected: Value) {
        check(&job(&spec), "Pod", replicas, &expected);
    }

    #[rstest]
    #[case::short(40, format!("{}-0-", "j".repeat(40)))]
    #[case::longest(55, format!("{}-0-", "j".repeat(55)))]
    #[case::too_long(63, format!("{}-0-", "j".repeat(55)))]
    fn a_long_name_keeps_its_index(#[case] length: usize, #[case] expected: String) {
        let mut raw = job(&json!({"completionMode": "Indexed"}));
        raw["metadata"]["name"] = "j".repeat(length).into();
        check(&raw, "Pod", 1, &json!({"/metadata/generateName": expected}));
    }

    #[test]
    fn a_generated_name_ends_in_zeros() {
        let mut raw = job(&json!({}));
        raw["metadata"] = json!({"generateName": "llama-", "uid": "u1"});
        check(
            &raw,
            "Pod",
            1,
            &json!({
                "/metadata/generateName": "llama-00000-",
                "/metadata/labels/job-name": "llama-00000",
                "/metadata/ownerReferences/0/uid": "u1",
            }),
        );
    }

    #[rstest]
    #[case::negative(json!({"parallelism": -1}), "spec.parallelism is -1: expected a whole number from 0 to 2147483647")]
    #[case::no_completions(json!({"completionMode": "Indexed", "parallelism": 2}), "spec.completions is missing")]
    #[case::no_template(json!({"template": null}), "spec.template is missing")]
    #[case::template_is_text(json!({"template": "x"}), "spec.template is \"x\": expected an object")]
    #[case::no_spec(json!({"template": {}}), "spec.template.spec is missing")]
    fn errors(#[case] spec: Value, #[case] expected: &str) {
        assert_eq!(error(&job(&spec)), expected);
    }

    #[rstest]
    #[case::indexed(json!({"labels": {"batch.kubernetes.io/job-name": "a", "batch.kubernetes.io/job-completion-index": "3"}}), Some(("a", Some(3), true)))]
    #[case::plain(json!({"labels": {"batch.kubernetes.io/job-name": "a"}}), Some(("a", None, false)))]
    #[case::owner_alone(json!({"ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "b", "controller": true}]}), Some(("b", None, false)))]
    #[case::another_job(json!({"ownerReferences": [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "b", "controller": true}]}), None)]
    fn membership(#[case] metadata: Value, #[case] expected: Option<(&str, Option<u64>, bool)>) {
        let raw = json!({"metadata": metadata});
        let found = identify(Pod::new(&raw));
        assert_eq!(found.map(|member| (member.job, member.index, member.training)), expected);
    }
}
