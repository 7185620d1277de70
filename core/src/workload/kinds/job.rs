//! `batch/v1` Job, and code shared with the kinds that create Jobs.
//!
//! Follows the Job controller and the Job registry strategy of Kubernetes 1.36.

#[cfg(test)]
mod tests;

use crate::pod::Pod;
use crate::workload::gang::owner_uid;
use crate::workload::identity::{controller_name, numeric_label};
use crate::workload::template::{Draft, Field, Owner, all_containers, ensure_env, env_from_field, truncate};
use crate::workload::{
    Fidelity, GangRole, GangShape, GangTraits, Manifest, PodCreation, PodIdentity, RenderError, RolePod, SOLE_ROLE,
    WorkloadKind,
};

/// A Job: pods that run to completion.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "batch",
    versions: &["v1"],
    kind: "Job",
    resource: "jobs",
    fidelity: Fidelity::Exact,
    render,
    identify,
    labels: &[COMPLETION_INDEX, JOB_NAME],
    gang: GangTraits {
        id: |pod, member| owner_uid(pod).filter(|_| member.training),
        creation: Some(PodCreation::RolesInOrder),
        shape: Some(gang_shape),
        ..GangTraits::NONE
    },
};

/// Label and annotation that contain the completion index of a pod.
pub(super) const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";

const JOB_NAME: &str = "batch.kubernetes.io/job-name";
const FINALIZER: &str = "batch.kubernetes.io/job-tracking";
/// Default value of `managedBy`.
const JOB_CONTROLLER: &str = "kubernetes.io/job-controller";
/// Why a Job needs completions whose completion mode is the default.
const INDEXED_BY_DEFAULT: &str = "the completion mode is Indexed by default here: set completions to the value of parallelism, or \
                                  completionMode to NonIndexed";
/// Maximum length of the `generateName` that the Job controller sets on an indexed pod.
const MAX_PREFIX_LENGTH: usize = 58;

/// Completion mode of a Job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CompletionMode {
    /// The pods have no index.
    #[default]
    NonIndexed,
    /// The pods have an index from 0 to `completions` - 1.
    Indexed,
}

/// Settings of a Job's spec that affect its pods. The default is that of a spec with only a template.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Settings {
    mode: CompletionMode,
    has_manual_selector: bool,
    has_backoff_limit_per_index: bool,
}

fn render(manifest: &Manifest<'_>) -> Result<Vec<RolePod>, RenderError> {
    let owner = Owner::from_manifest(manifest, "batch/v1", "Job")?;
    let spec = Field::root(manifest.raw).get("spec");
    Ok(vec![role(&spec, &owner, manifest.namespace)?])
}

fn identify(pod: Pod<'_>) -> Option<PodIdentity<'_>> {
    let job = controller_name(pod, "batch/v1", "Job").or_else(|| pod.label(JOB_NAME))?;
    let index = numeric_label(pod, COMPLETION_INDEX);
    // Only the pods of an Indexed Job can address each other; without an index, a Job is a queue of independent pods.
    Some(PodIdentity { kind: &KIND, workload: job, role: None, index, training: index.is_some() })
}

/// Reads the gang of an Indexed Job: the pods that run at the same time.
fn gang_shape(manifest: &Manifest<'_>) -> Result<GangShape, RenderError> {
    let spec = Field::root(manifest.raw).get("spec");
    let pods = Settings::read(&spec, CompletionMode::NonIndexed)?.concurrent_pods(&spec)?;
    let mut shape = GangShape::new(vec![GangRole::new(SOLE_ROLE, pods, &spec.get("template"))]);
    shape.suspended = spec.get("suspend").is_true()?;
    Ok(shape)
}

/// Returns the Job `name` that another workload creates.
pub(super) fn child_of<'a>(workload: &Owner<'a>, name: String) -> Owner<'a> {
    workload.child("batch/v1", "Job", name)
}

/// Renders the only role of a Job with this `spec`.
pub(super) fn role(spec: &Field<'_>, owner: &Owner<'_>, namespace: &str) -> Result<RolePod, RenderError> {
    let settings = Settings::read(spec, CompletionMode::NonIndexed)?;
    let pods = settings.concurrent_pods(spec)?;
    let mut draft = Draft::new(&spec.get("template"), owner, namespace)?;
    settings.apply(&mut draft, owner);
    if spec.get("suspend").is_true()? {
        draft.add_note("the Job is suspended: its pods are created when it is resumed");
    }
    if let Some(manager) = spec.get("managedBy").text()?.filter(|manager| *manager != JOB_CONTROLLER) {
        draft.add_note(format!("the Job is managed by {manager} (spec.managedBy), which may create different pods"));
    }
    if let Some(completions) = spec.get("completions").count()?.filter(|completions| *completions > pods) {
        draft.add_note(format!("the Job runs {completions} pods in total, {pods} at a time"));
    }
    Ok(draft.into_role(SOLE_ROLE, pods))
}

impl Settings {
    /// Reads the settings of a Job's spec; `default` is the completion mode if absent.
    pub(super) fn read(spec: &Field<'_>, default: CompletionMode) -> Result<Self, RenderError> {
        let mode = match spec.get("completionMode").text()? {
            None => default,
            Some("Indexed") => CompletionMode::Indexed,
            Some(_) => CompletionMode::NonIndexed,
        };
        Ok(Self {
            mode,
            has_manual_selector: spec.get("manualSelector").is_true()?,
            has_backoff_limit_per_index: spec.get("backoffLimitPerIndex").is_present(),
        })
    }

    /// Returns the number of pods of the Job that run at the same time.
    pub(super) fn concurrent_pods(self, spec: &Field<'_>) -> Result<u64, RenderError> {
        let parallelism = spec.get("parallelism").count()?;
        let completions = spec.get("completions").count()?;
        if self.mode == CompletionMode::Indexed && completions.is_none() && parallelism.is_some() {
            let completions = spec.get("completions");
            if spec.get("completionMode").is_present() {
                return Err(completions.missing());
            }
            return Err(completions.missing_beside(&spec.get("parallelism"), INDEXED_BY_DEFAULT));
        }
        let parallelism = parallelism.unwrap_or(1);
        Ok(completions.map_or(parallelism, |completions| completions.min(parallelism)))
    }

    /// Adds the fields that the Job registry and the Job controller set on a pod; for an Indexed Job, on that of index
    /// 0.
    pub(super) fn apply(self, draft: &mut Draft, owner: &Owner<'_>) {
        if !self.has_manual_selector {
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
            all_containers(&mut draft.spec).for_each(|container| ensure_env(container, index.clone()));
            draft.label_and_annotate(COMPLETION_INDEX, "0");
            if self.has_backoff_limit_per_index {
                draft.annotate("batch.kubernetes.io/job-index-failure-count", "0");
            }
            draft.set("hostname", format!("{}-0", owner.name));
            draft.generate_name = Some(format!("{}-0-", truncate(&owner.name, MAX_PREFIX_LENGTH - "-0-".len())));
        }
    }
}
