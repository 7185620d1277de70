//! `trainer.kubeflow.org/v1alpha1` `TrainJob` (Kubeflow Trainer v2.3): the `JobSet` that its training runtime defines,
//! completed with the fields of the job.
//!
//! Three controllers are involved: Trainer completes the runtime's template ([`runtime`], [`policy`]), [`jobset`]
//! creates the Jobs, and the Job controller creates the pods. Trainer's status reporting, disabled by default, is not
//! rendered.

mod dropped;
mod lookup;
mod merge;
mod overrides;
mod policy;
mod resources;
mod runtime;
mod schema;
mod stock;
#[cfg(test)]
mod tests;

pub(crate) use dropped::dropped_fields;

use runtime::Runtime;

use super::mpi::HOSTFILE_VARIABLE;
use super::pytorchjob::NODES_VARIABLE;
use super::{job, jobset};
use crate::pod::Pod;
use crate::workload::identity::numeric_label;
use crate::workload::template::{Field, Owner};
use crate::workload::{
    Fidelity, GangShape, GangTraits, Manifest, MemberPort, PodIdentity, RenderError, RolePod, SizeSource, WorkloadKind,
};

/// A `TrainJob`, whose runtime is in the input, or else assumed.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "trainer.kubeflow.org",
    versions: &["v1alpha1"],
    kind: "TrainJob",
    resource: "trainjobs",
    fidelity: Fidelity::Exact,
    render,
    identify,
    labels: &[ANCESTOR, jobset::NAME, jobset::UID, jobset::ROLE, jobset::RESTART_ATTEMPT, job::COMPLETION_INDEX],
    gang: GangTraits {
        size_sources: &[SizeSource::Env(NODES_VARIABLE), SizeSource::EnvWithPeers(HOSTFILE_VARIABLE)],
        member_ports: &[
            MemberPort::Env("JAX_COORDINATOR_ADDRESS"),
            MemberPort::Env("DMLC_TRACKER_PORT"),
            MemberPort::Numbered(22),
            MemberPort::Numbered(2222),
        ],
        auxiliary_roles: &[DATASET_INITIALIZER, MODEL_INITIALIZER, LAUNCHER],
        one_group: true,
        object: Some(&jobset::KIND),
        shape: Some(gang_shape),
        ..jobset::GANG
    },
};

const API_VERSION: &str = "trainer.kubeflow.org/v1alpha1";

/// Label that maps a replicated job of the runtime to a step of the `TrainJob`.
const ANCESTOR: &str = "trainer.kubeflow.org/trainjob-ancestor-step";

/// Value of [`ANCESTOR`] for the training step.
const TRAINER: &str = "trainer";

/// Name of the main container, and of the replicated job that contains rank 0.
const NODE: &str = "node";

/// Field with the number of processes of a node.
const PROCESSES: &str = "numProcPerNode";

/// Replicated job that downloads the data set.
const DATASET_INITIALIZER: &str = "dataset-initializer";
/// Replicated job that downloads the model.
const MODEL_INITIALIZER: &str = "model-initializer";
/// Replicated job that launches the ranks of an MPI job.
const LAUNCHER: &str = "launcher";

fn render(manifest: &Manifest<'_>) -> Result<Vec<RolePod>, RenderError> {
    let owner = Owner::from_manifest(manifest, API_VERSION, KIND.kind)?;
    let mut runtime = Runtime::resolve(manifest)?;
    let (assumed, document) = (runtime.assumed.take(), runtime.document.take());
    let note = policy::enforce(&owner.name, &mut runtime)?;
    runtime.apply_steps()?;
    let (path, job_set) = runtime.into_job_set(&owner.name)?;
    let job_set = Field::with_path(&job_set, path);
    let (annotations, spec) = (job_set.get("metadata").get("annotations"), job_set.get("spec"));
    let job_set = jobset::JobSet::read(jobset::child_of(&owner), manifest.namespace, annotations, spec)?;
    let mut roles = job_set.roles()?;
    for role in &mut roles {
        role.notes.extend(note.clone());
        role.assumed_runtime.clone_from(&assumed);
        role.runtime.clone_from(&document);
    }
    Ok(roles)
}

/// Reads the gangs of the `JobSet` that Trainer creates. Initializers, on which the training step depends, are none of its
/// gang.
fn gang_shape(manifest: &Manifest<'_>) -> Result<GangShape, RenderError> {
    let owner = Owner::from_manifest(manifest, API_VERSION, KIND.kind)?;
    let mut runtime = Runtime::resolve(manifest)?;
    policy::enforce(&owner.name, &mut runtime)?;
    runtime.apply_steps()?;
    let (path, job_set) = runtime.into_job_set(&owner.name)?;
    let mut shape = jobset::gang_shape(&Field::with_path(&job_set, path))?;
    shape.suspended |= Field::root(manifest.raw).get("spec").get("suspend").is_true()?;
    Ok(shape)
}

/// Identifies a pod by its labels. Trainer labels the Jobs, but their pods have the label only if the runtime also sets
/// it in the pod template. Without it, a pod is identified as part of its `JobSet`.
fn identify(pod: Pod<'_>) -> Option<PodIdentity<'_>> {
    pod.label(ANCESTOR)?;
    Some(PodIdentity {
        kind: &KIND,
        workload: pod.label(jobset::NAME)?,
        role: pod.label(jobset::ROLE),
        index: numeric_label(pod, job::COMPLETION_INDEX),
        training: true,
    })
}
