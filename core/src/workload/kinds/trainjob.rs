//! `trainer.kubeflow.org/v1alpha1` `TrainJob` (Kubeflow Trainer v2.3): a runtime's `JobSet`, filled in.
//!
//! Three controllers stand in a row: Trainer fills in the runtime's template ([`runtime`], [`policy`]),
//! [`jobset`] makes a Job of each part, and the Job controller makes the pods. Trainer's optional status reporting, off
//! by default, is not rendered.

mod merge;
mod policy;
mod resources;
mod runtime;
#[cfg(test)]
mod tests;

use runtime::Runtime;

use super::mpi::HOSTFILE_VARIABLE;
use super::pytorchjob::NODES_VARIABLE;
use super::{job, jobset};
use crate::pod::Pod;
use crate::workload::member::label_number;
use crate::workload::template::{Field, Owner};
use crate::workload::{Fidelity, GangTraits, Kind, Manifest, Member, RenderError, Role, SizeSource};

/// A training job on a runtime, which must be in the same input.
pub(super) static KIND: Kind = Kind {
    group: "trainer.kubeflow.org",
    versions: &["v1alpha1"],
    kind: "TrainJob",
    resource: "trainjobs",
    fidelity: Fidelity::Exact,
    render,
    identify,
    gang: GangTraits {
        size: &[SizeSource::Env(NODES_VARIABLE), SizeSource::EnvOfPeers(HOSTFILE_VARIABLE)],
        auxiliary_roles: &[DATASET_INITIALIZER, MODEL_INITIALIZER, LAUNCHER],
        ..jobset::GANG
    },
};

const API_VERSION: &str = "trainer.kubeflow.org/v1alpha1";

/// Label that ties a part of the runtime to a step of the `TrainJob`.
pub(in crate::workload) const ANCESTOR: &str = "trainer.kubeflow.org/trainjob-ancestor-step";

/// The step that trains, in [`ANCESTOR`].
const TRAINER: &str = "trainer";

/// The container that trains, and the part of a runtime that is numbered from rank 0.
const NODE: &str = "node";

/// The parts of a runtime that fetch what the trainer needs.
const DATASET_INITIALIZER: &str = "dataset-initializer";
const MODEL_INITIALIZER: &str = "model-initializer";
/// The part of a runtime that starts the ranks of an MPI job.
const LAUNCHER: &str = "launcher";

fn render(manifest: &Manifest<'_>) -> Result<Vec<Role>, RenderError> {
    let owner = Owner::of(manifest, API_VERSION, KIND.kind)?;
    let mut runtime = Runtime::resolve(manifest)?;
    let note = policy::enforce(&owner.name, &mut runtime)?;
    runtime.fill_in()?;
    let (place, job_set) = runtime.into_job_set(&owner.name)?;
    let job_set = Field::named(&job_set, place);
    let (annotations, spec) = (job_set.get("metadata").get("annotations"), job_set.get("spec"));
    let job_set = jobset::Set::read(jobset::made_by(&owner), manifest.namespace, annotations, spec)?;
    let mut roles = job_set.roles()?;
    for role in &mut roles {
        role.notes.extend(note.clone());
    }
    Ok(roles)
}

/// Trainer marks the Jobs; their pods carry the mark only where the runtime repeats it in the pod's template. Without
/// it a pod shows no more than its `JobSet`.
fn identify(pod: Pod<'_>) -> Option<Member<'_>> {
    pod.label(ANCESTOR)?;
    Some(Member {
        kind: &KIND,
        job: pod.label(jobset::NAME)?,
        role: pod.label(jobset::ROLE),
        index: label_number(pod, job::COMPLETION_INDEX),
        training: true,
    })
}
