//! `grove.io` `PodCliqueSet`: cliques of pods that are scheduled as gangs.
//!
//! Follows ai-dynamo/grove at fcc3b3b (2026-08-19): `operator/internal/controller` (`podcliqueset`, `podcliquescalinggroup` and
//! `podclique`), `operator/internal/webhook/admission/pcs/defaulting` and `operator/internal/scheduler`. Not rendered: shared
//! resource claims, and the claims of its `ComputeDomains` (`grove.io/mnnvl-group`).

mod clique;
mod startup;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::pod::Pod;
use crate::workload::identity::numeric_label;
use crate::workload::template::{Field, Owner};
use crate::workload::{Fidelity, GangTraits, Manifest, PodIdentity, RenderError, RolePod, WorkloadKind};

use clique::Clique;

/// A `PodCliqueSet`: one role for each clique.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "grove.io",
    versions: &["v1alpha1"],
    kind: "PodCliqueSet",
    resource: "podcliquesets",
    fidelity: Fidelity::Documented,
    render,
    identify,
    labels: &[SET, SET_REPLICA, CLIQUE, GANG, POD_INDEX, SCALING_GROUP, SCALING_GROUP_REPLICA],
    gang: GangTraits { id: |pod, _| pod.label(GANG).map(Cow::Borrowed), ..GangTraits::NONE },
};

const API_VERSION: &str = "grove.io/v1alpha1";

/// Label that contains the name of a pod's `PodCliqueSet`.
const SET: &str = "app.kubernetes.io/part-of";
/// Label that contains the index of a pod's replica of the `PodCliqueSet`.
const SET_REPLICA: &str = "grove.io/podcliqueset-replica-index";
/// Label that contains the name of a pod's `PodClique`: the name of its set or scaling group, a replica index and the
/// name of the clique, joined by dashes.
const CLIQUE: &str = "grove.io/podclique";
/// Label that contains the name of a pod's gang.
const GANG: &str = "grove.io/podgang";
/// Label that contains the index of a pod in its `PodClique`.
const POD_INDEX: &str = "grove.io/podclique-pod-index";
/// Label that contains the name of a pod's scaling group.
const SCALING_GROUP: &str = "grove.io/podcliquescalinggroup";
/// Label that contains the index of a pod's replica of its scaling group.
const SCALING_GROUP_REPLICA: &str = "grove.io/podcliquescalinggroup-replica-index";

/// A `PodCliqueSet`, from which its pods are rendered.
struct Set<'a> {
    owner: Owner<'a>,
    namespace: &'a str,
    annotations: Field<'a>,
    template: Field<'a>,
    replicas: u64,
    cliques: Vec<Clique<'a>>,
    groups: Vec<ScalingGroup<'a>>,
}

/// Cliques that are scaled together.
struct ScalingGroup<'a> {
    name: &'a str,
    cliques: Vec<&'a str>,
    replicas: u64,
    min_available: u64,
    shares_resources: bool,
}

fn render(manifest: &Manifest<'_>) -> Result<Vec<RolePod>, RenderError> {
    let set = Set::read(manifest)?;
    (0..set.cliques.len()).map(|index| set.role(index)).collect()
}

fn identify(pod: Pod<'_>) -> Option<PodIdentity<'_>> {
    let (name, job) = (pod.label(CLIQUE)?, pod.label(SET)?);
    let (owner, replica) = match pod.label(SCALING_GROUP) {
        Some(group) => (group, pod.label(SCALING_GROUP_REPLICA)?),
        None => (job, pod.label(SET_REPLICA)?),
    };
    let role = [owner, "-", replica, "-"].iter().try_fold(name, |rest, part| rest.strip_prefix(part));
    let index = numeric_label(pod, POD_INDEX);
    // Sets are used for both serving and training, and the pods do not indicate which.
    Some(PodIdentity { kind: &KIND, workload: job, role, index, training: false })
}

impl<'a> Set<'a> {
    fn read(manifest: &Manifest<'a>) -> Result<Self, RenderError> {
        let root = Field::root(manifest.raw);
        let spec = root.get("spec");
        let template = spec.get("template");
        let cliques = template.get("cliques").required_items()?;
        let groups = template.get("podCliqueScalingGroups").items()?;
        Ok(Self {
            owner: Owner::from_manifest(manifest, API_VERSION, KIND.kind)?,
            namespace: manifest.namespace,
            annotations: root.get("metadata").get("annotations"),
            replicas: spec.get("replicas").count()?.unwrap_or(0),
            cliques: cliques.into_iter().map(Clique::read).collect::<Result<_, _>>()?,
            groups: groups.iter().map(ScalingGroup::read).collect::<Result<_, _>>()?,
            template,
        })
    }

    /// Returns the scaling group of the clique `name`.
    fn group_of(&self, name: &str) -> Option<&ScalingGroup<'a>> {
        self.groups.iter().find(|group| group.cliques.contains(&name))
    }

    /// Returns the name of replica 0, which is also that of its service and of its first gang.
    fn replica_name(&self) -> String {
        format!("{}-0", self.owner.name)
    }

    /// Returns the name of a scaling group of replica 0.
    fn group_name(&self, group: &ScalingGroup<'_>) -> String {
        format!("{}-{}", self.replica_name(), group.name)
    }
}

impl<'a> ScalingGroup<'a> {
    fn read(field: &Field<'a>) -> Result<Self, RenderError> {
        let mut cliques = Vec::new();
        for name in field.get("cliqueNames").required_items()? {
            cliques.push(name.required_text()?);
        }
        Ok(Self {
            name: field.get("name").required_text()?,
            cliques,
            replicas: field.get("replicas").count()?.unwrap_or(1),
            min_available: field.get("minAvailable").count()?.unwrap_or(1),
            shares_resources: field.get("resourceSharing").is_present(),
        })
    }

    /// Returns the number of pods of one replica of the group.
    fn pods(&self, cliques: &[Clique<'_>]) -> u64 {
        let members = cliques.iter().filter(|clique| self.cliques.contains(&clique.name));
        members.map(|clique| clique.replicas).fold(0, u64::saturating_add)
    }
}
