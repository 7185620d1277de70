//! `batch/v1` Job, and what every kind that makes Jobs shares with it.
//!
//! Source of the rules: the Job controller and the Job's registry strategy of Kubernetes 1.36.

#[cfg(test)]
mod tests;

use crate::pod::Pod;
use crate::workload::gang::owner;
use crate::workload::member::{label_number, owned_by};
use crate::workload::template::{Draft, Field, Owner, ensure_env, env_from_field, every_container, truncate};
use crate::workload::{Fidelity, GangTraits, Kind, Manifest, Member, RenderError, Role, SOLE_ROLE};

/// A Job: pods that run to completion.
pub(super) static KIND: Kind = Kind {
    group: "batch",
    versions: &["v1"],
    kind: "Job",
    resource: "jobs",
    fidelity: Fidelity::Exact,
    render,
    identify,
    gang: GangTraits { id: |pod, member| owner(pod).filter(|_| member.training), ..GangTraits::NONE },
};

/// The label, and annotation, with the index of a pod in its Job.
pub(in crate::workload) const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";

pub(in crate::workload) const JOB_NAME: &str = "batch.kubernetes.io/job-name";
const FINALIZER: &str = "batch.kubernetes.io/job-tracking";
/// The controller that runs a Job whose `managedBy` names no other.
const JOB_CONTROLLER: &str = "kubernetes.io/job-controller";
/// The longest `generateName` that the Job controller writes for a pod with an index.
const LONGEST_PREFIX: usize = 58;

/// How the pods of a Job are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CompletionMode {
    /// They are not.
    #[default]
    NonIndexed,
    /// By an index from 0 to `completions` - 1.
    Indexed,
}

/// What of a Job's spec shapes its pods. The default is a Job whose spec holds a template alone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Settings {
    mode: CompletionMode,
    has_own_selector: bool,
    counts_failures_per_index: bool,
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
    Some(Member { kind: &KIND, job, role: None, index, training: index.is_some() })
}

/// The Job called `name` that another workload creates.
pub(super) fn made_by<'a>(workload: &Owner<'a>, name: String) -> Owner<'a> {
    workload.makes("batch/v1", "Job", name)
}

/// The one role of a Job with this `spec`.
pub(super) fn role(spec: &Field<'_>, owner: &Owner<'_>, namespace: &str) -> Result<Role, RenderError> {
    let settings = Settings::read(spec, CompletionMode::NonIndexed)?;
    let pods = settings.pods_at_once(spec)?;
    let mut draft = Draft::new(&spec.get("template"), owner, namespace)?;
    settings.finish(&mut draft, owner);
    if spec.get("suspend").is_true()? {
        draft.note("the Job is suspended: its pods are created when it is resumed");
    }
    if let Some(manager) = spec.get("managedBy").text()?.filter(|manager| *manager != JOB_CONTROLLER) {
        draft.note(format!("spec.managedBy hands this Job to {manager}, which may make other pods"));
    }
    if let Some(completions) = spec.get("completions").count()?.filter(|completions| *completions > pods) {
        draft.note(format!("{completions} pods run in all, {pods} at a time"));
    }
    Ok(draft.into_role(SOLE_ROLE, pods))
}

impl Settings {
    /// The settings of a Job's spec that names no completion mode but `default`.
    pub(super) fn read(spec: &Field<'_>, default: CompletionMode) -> Result<Self, RenderError> {
        let mode = match spec.get("completionMode").text()? {
            None => default,
            Some("Indexed") => CompletionMode::Indexed,
            Some(_) => CompletionMode::NonIndexed,
        };
        Ok(Self {
            mode,
            has_own_selector: spec.get("manualSelector").is_true()?,
            counts_failures_per_index: spec.get("backoffLimitPerIndex").is_present(),
        })
    }

    /// How many pods of the Job run at once.
    pub(super) fn pods_at_once(self, spec: &Field<'_>) -> Result<u64, RenderError> {
        let parallelism = spec.get("parallelism").count()?;
        let completions = spec.get("completions").count()?;
        if self.mode == CompletionMode::Indexed && completions.is_none() && parallelism.is_some() {
            return Err(spec.get("completions").missing());
        }
        let parallelism = parallelism.unwrap_or(1);
        Ok(completions.map_or(parallelism, |completions| completions.min(parallelism)))
    }

    /// What the Job's registry and its controller add to a pod; for an indexed Job it is the pod of index 0.
    pub(super) fn finish(self, draft: &mut Draft, owner: &Owner<'_>) {
        if !self.has_own_selector {
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
        if self.mode == CompletionMode::Indexed {
            let index = env_from_field("JOB_COMPLETION_INDEX", &format!("metadata.labels['{COMPLETION_INDEX}']"));
            every_container(&mut draft.spec).for_each(|container| ensure_env(container, index.clone()));
            draft.mark(COMPLETION_INDEX, "0");
            if self.counts_failures_per_index {
                draft.annotate("batch.kubernetes.io/job-index-failure-count", "0");
            }
            draft.set("hostname", format!("{}-0", owner.name));
            draft.generate_name = Some(format!("{}-0-", truncate(&owner.name, LONGEST_PREFIX - "-0-".len())));
        }
    }
}
