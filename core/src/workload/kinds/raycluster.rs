//! `ray.io` `RayCluster`, and what the kinds that make Ray clusters share with it.
//!
//! Source of the rules: the `RayCluster` controller of KubeRay 1.7 with its default settings.

mod node;
#[cfg(test)]
mod tests;

use crate::pod::Pod;
use crate::workload::member::label_number;
use crate::workload::template::{Draft, Field, Owner, ZERO_SUFFIX, truncate};
use crate::workload::{Fidelity, GangTraits, Kind, Manifest, Member, RenderError, Role};

/// A Ray cluster: a head and groups of workers.
pub(super) static KIND: Kind = Kind {
    group: "ray.io",
    versions: &["v1", "v1alpha1"],
    kind: "RayCluster",
    resource: "rayclusters",
    fidelity: Fidelity::Documented,
    render,
    identify,
    gang: GangTraits::BY_OWNER,
};

/// Group and version that KubeRay writes into owner references, whatever the manifest's version.
pub(super) const API_VERSION: &str = "ray.io/v1";
/// The label on every pod that KubeRay makes for itself.
pub(super) const CREATED_BY: &str = "app.kubernetes.io/created-by";
/// The container that scales the cluster, always the last that KubeRay adds to a head.
pub(super) const AUTOSCALER: &str = "autoscaler";

/// What a reader must know of a cluster that another workload creates: its name ends in `ZERO_SUFFIX`.
pub(super) const NAME_IS_RANDOM: &str = "the RayCluster's name ends in random characters: 00000 stands for them";

pub(in crate::workload) const IS_RAY_NODE: &str = "ray.io/is-ray-node";
pub(in crate::workload) const CLUSTER: &str = "ray.io/cluster";
pub(in crate::workload) const NODE_TYPE: &str = "ray.io/node-type";
pub(in crate::workload) const GROUP: &str = "ray.io/group";
pub(in crate::workload) const SERVE: &str = "ray.io/serve";
pub(in crate::workload) const REPLICA_INDEX: &str = "ray.io/worker-group-replica-index";
pub(in crate::workload) const HOST_INDEX: &str = "ray.io/replica-host-index";
/// The longest part of a cluster's or a group's name that a pod's name keeps.
const LONGEST_PREFIX: usize = 50;

/// A Ray cluster, as its pods are made from it.
pub(super) struct Cluster<'a> {
    /// The `RayCluster`.
    pub(super) owner: Owner<'a>,
    /// Its namespace.
    pub(super) namespace: &'a str,
    /// The annotations of the manifest, which the cluster inherits.
    pub(super) annotations: Field<'a>,
    /// The spec of the cluster.
    pub(super) spec: Field<'a>,
    /// Whether the cluster answers requests for a `RayService`.
    pub(super) serves: bool,
}

fn render(manifest: &Manifest<'_>) -> Result<Vec<Role>, RenderError> {
    let root = Field::root(manifest.raw);
    let cluster = Cluster {
        owner: Owner::of(manifest, API_VERSION, "RayCluster")?,
        namespace: manifest.namespace,
        annotations: root.get("metadata").get("annotations"),
        spec: root.get("spec"),
        serves: false,
    };
    let mut roles = cluster.roles()?;
    if root.get("spec").get("suspend").is_true()? {
        for role in &mut roles {
            role.notes.push("the RayCluster is suspended: its pods are created when it is resumed".to_owned());
        }
    }
    Ok(roles)
}

fn identify(pod: Pod<'_>) -> Option<Member<'_>> {
    if pod.label(IS_RAY_NODE) != Some("yes") {
        return None;
    }
    let job = pod.label(CLUSTER)?;
    let head = pod.label(NODE_TYPE) == Some("head");
    // With several hosts in a replica their labels do not say how many pods come before this one.
    let index = match pod.label(HOST_INDEX) {
        _ if head => Some(0),
        Some(_) => None,
        None => label_number(pod, REPLICA_INDEX),
    };
    let role = if head { Some("head") } else { pod.label(GROUP) };
    Some(Member { kind: &KIND, job, role, index, training: pod.label(SERVE).is_none() })
}

impl<'a> Cluster<'a> {
    /// The head, then each group of workers.
    pub(super) fn roles(&self) -> Result<Vec<Role>, RenderError> {
        let mut roles = vec![self.head()?.into_role("head", 1)];
        for group in self.spec.get("workerGroupSpecs").items()? {
            let name = group.get("groupName").required_text()?;
            let (replicas, hosts) = size(&group)?;
            roles.push(self.worker(&group, name, hosts)?.into_role(name, replicas * hosts));
        }
        Ok(roles)
    }

    /// The Service before the head. `RayCluster` lets its user name it.
    pub(super) fn head_service(&self) -> Result<String, RenderError> {
        let named = self.spec.get("headGroupSpec").get("headService").get("metadata").get("name").text()?;
        let name = named.map_or_else(|| format!("{}-head-svc", self.owner.name), str::to_owned);
        Ok(format!("{name}.{}.svc.cluster.local", self.namespace))
    }

    fn head(&self) -> Result<Draft, RenderError> {
        let group = self.spec.get("headGroupSpec");
        group.required_object()?;
        let mut draft = self.pod(&group, &self.owner.name, "head")?;
        self.label(&mut draft, &group, "head", "headgroup")?;
        if self.serves {
            draft.label(SERVE, "false");
        }
        node::head(&mut draft, self, &group)?;
        Ok(draft)
    }

    fn worker(&self, group: &Field<'a>, name: &str, hosts: u64) -> Result<Draft, RenderError> {
        let mut draft = self.pod(group, &format!("{}-{name}", self.owner.name), "worker")?;
        self.label(&mut draft, group, "worker", name)?;
        draft.label(REPLICA_INDEX, "0");
        if hosts > 1 {
            draft.label("ray.io/worker-group-replica-name", format!("{name}-{ZERO_SUFFIX}"));
            draft.label(HOST_INDEX, "0");
        }
        if self.serves {
            draft.label(SERVE, "true");
        }
        node::worker(&mut draft, self, group)?;
        Ok(draft)
    }

    fn pod(&self, group: &Field<'a>, prefix: &str, node_type: &str) -> Result<Draft, RenderError> {
        let mut draft = Draft::new(&group.get("template"), &self.owner, self.namespace)?;
        let prefix = truncate(prefix, LONGEST_PREFIX).to_lowercase();
        draft.generate_name = Some(format!("{prefix}-{node_type}-"));
        Ok(draft)
    }

    /// The user's labels beat KubeRay's, but for those that tell the pods of a cluster apart.
    fn label(
        &self,
        draft: &mut Draft,
        group: &Field<'a>,
        node_type: &str,
        group_name: &str,
    ) -> Result<(), RenderError> {
        let cluster = self.owner.name.as_str();
        draft.labels.extend(group.get("labels").copied_object()?);
        let identifier = format!("{cluster}-{node_type}");
        for (key, value) in [
            (IS_RAY_NODE, "yes"),
            ("ray.io/identifier", truncate_start(&identifier)),
            ("app.kubernetes.io/name", "kuberay"),
            (CREATED_BY, "kuberay-operator"),
        ] {
            draft.labels.entry(key).or_insert_with(|| value.into());
        }
        draft.label(CLUSTER, cluster);
        draft.label(NODE_TYPE, node_type);
        draft.label(GROUP, group_name);
        Ok(())
    }
}

/// The replicas of a group within its bounds, and the hosts of each.
fn size(group: &Field<'_>) -> Result<(u64, u64), RenderError> {
    let bound = |key| group.get(key).count();
    let least = bound("minReplicas")?.unwrap_or(0);
    let most = bound("maxReplicas")?.unwrap_or(u64::MAX);
    let replicas = bound("replicas")?.unwrap_or(0);
    let hosts = bound("numOfHosts")?.unwrap_or(1);
    let replicas = if replicas < least { least } else { replicas.min(most) };
    Ok((if group.get("suspend").is_true()? { 0 } else { replicas }, hosts))
}

/// The end of a text that a label can hold.
fn truncate_start(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(63))..]
}
