//! `ray.io` `RayCluster`, and code shared with the kinds that create Ray clusters.
//!
//! Follows the `RayCluster` controller of KubeRay 1.7 with default settings.

mod node;
#[cfg(test)]
mod tests;

use crate::json;
use crate::pod::{Container, ContainerKind, Pod};
use crate::workload::identity::numeric_label;
use crate::workload::template::{Draft, Field, Owner, ZERO_SUFFIX, truncate};
use crate::workload::{
    Fidelity, GangRole, GangShape, GangTraits, Manifest, MemberPort, PodIdentity, RenderError, RolePod, WorkloadKind,
};

/// A `RayCluster`: a head and groups of workers.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "ray.io",
    versions: &["v1", "v1alpha1"],
    kind: "RayCluster",
    resource: "rayclusters",
    fidelity: Fidelity::Documented,
    render,
    identify,
    labels: &[IS_RAY_NODE, CLUSTER, NODE_TYPE, GROUP, SERVE, REPLICA_INDEX, HOST_INDEX],
    gang: GangTraits { shape: Some(|manifest| gang_shape(&Field::root(manifest.raw).get("spec"))), ..GANG },
};

/// Gang properties of the pods of a Ray cluster. The names of the ports are those of Ray's manifests.
pub(super) const GANG: GangTraits = GangTraits {
    member_ports: &[
        MemberPort::Named("gcs"),
        MemberPort::Named("gcs-server"),
        MemberPort::Named("node-manager"),
        MemberPort::Named("object-manager"),
        MemberPort::Env("RAY_PORT"),
        MemberPort::Env("RAY_ADDRESS"),
    ],
    service_ports: undeclared_service_ports,
    ..GangTraits::BY_OWNER
};

/// `apiVersion` that KubeRay writes into owner references, regardless of the manifest's version.
pub(super) const API_VERSION: &str = "ray.io/v1";
/// Label of every pod that KubeRay creates.
pub(super) const CREATED_BY: &str = "app.kubernetes.io/created-by";
/// Name of the autoscaler container, which KubeRay appends last to the head's containers.
pub(super) const AUTOSCALER: &str = "autoscaler";

/// Note for a cluster that another workload creates, whose name ends with `ZERO_SUFFIX`.
pub(super) const RANDOM_NAME_NOTE: &str = "the RayCluster's name has a random suffix, shown as 00000";

const IS_RAY_NODE: &str = "ray.io/is-ray-node";
const CLUSTER: &str = "ray.io/cluster";
const NODE_TYPE: &str = "ray.io/node-type";
const GROUP: &str = "ray.io/group";
const SERVE: &str = "ray.io/serve";
const REPLICA_INDEX: &str = "ray.io/worker-group-replica-index";
const HOST_INDEX: &str = "ray.io/replica-host-index";
/// Ports of the Service of a head whose Ray container declares none: dashboard, client and Serve (KubeRay 1.7,
/// `common/service.go`). Its other ports are that of GCS, on which the pods of the cluster communicate, and that of metrics,
/// which KubeRay adds to the container. Parameters of `ray start` do not change them.
const SERVICE_PORTS: [u16; 3] = [8265, 10_001, 8000];
/// Maximum length of the prefix of a pod's name that is taken from the names of the cluster and the group.
const MAX_PREFIX_LENGTH: usize = 50;

/// A Ray cluster, from which its pods are rendered.
pub(super) struct Cluster<'a> {
    /// `RayCluster` that owns the pods.
    pub(super) owner: Owner<'a>,
    /// Namespace of the cluster.
    pub(super) namespace: &'a str,
    /// Annotations of the manifest, which the cluster inherits.
    pub(super) annotations: Field<'a>,
    /// Spec of the cluster.
    pub(super) spec: Field<'a>,
    /// True if the cluster belongs to a `RayService`.
    pub(super) is_ray_service: bool,
}

fn render(manifest: &Manifest<'_>) -> Result<Vec<RolePod>, RenderError> {
    let root = Field::root(manifest.raw);
    let cluster = Cluster {
        owner: Owner::from_manifest(manifest, API_VERSION, "RayCluster")?,
        namespace: manifest.namespace,
        annotations: root.get("metadata").get("annotations"),
        spec: root.get("spec"),
        is_ray_service: false,
    };
    let mut roles = cluster.roles()?;
    if root.get("spec").get("suspend").is_true()? {
        for role in &mut roles {
            role.notes.push("the RayCluster is suspended: its pods are created when it is resumed".to_owned());
        }
    }
    Ok(roles)
}

fn identify(pod: Pod<'_>) -> Option<PodIdentity<'_>> {
    if pod.label(IS_RAY_NODE) != Some("yes") {
        return None;
    }
    let job = pod.label(CLUSTER)?;
    let head = pod.label(NODE_TYPE) == Some("head");
    // With multiple hosts per replica, the labels do not contain the index of the pod within the group.
    let index = match pod.label(HOST_INDEX) {
        _ if head => Some(0),
        Some(_) => None,
        None => numeric_label(pod, REPLICA_INDEX),
    };
    let role = if head { Some("head") } else { pod.label(GROUP) };
    Some(PodIdentity { kind: &KIND, workload: job, role, index, training: pod.label(SERVE).is_none() })
}

/// Returns the ports of the Service of the head that `pod` does not declare: if its Ray container declares a port of its
/// own, the Service has only the declared ones.
fn undeclared_service_ports(pod: Pod<'_>) -> &'static [u16] {
    if pod.label(NODE_TYPE) != Some("head") {
        return &[];
    }
    let is_app = |container: &Container<'_>| container.kind == ContainerKind::App && !container.is_proxy();
    let Some(ray) = pod.containers().find(is_app) else { return &[] };
    let is_declared = |port| json::text(port, "name") != Some(node::METRICS_PORT_NAME);
    if json::items(ray.raw(), "ports").any(is_declared) { &[] } else { &SERVICE_PORTS }
}

/// Reads the gang of a cluster with this `spec`: the head and all workers. With the autoscaler, the cluster runs with the
/// minimum of each group.
pub(super) fn gang_shape(spec: &Field<'_>) -> Result<GangShape, RenderError> {
    let autoscales = spec.get("enableInTreeAutoscaling").is_true()?;
    let head_group = spec.get("headGroupSpec");
    let template = head_group.get("template");
    let mut head = GangRole::new("head", 1, &template);
    head.add_labels(&head_group.get("labels"));
    if autoscales {
        head.add_container(&template, "containers", (AUTOSCALER, node::autoscaler_resources(spec)));
    }
    let mut roles = vec![head];
    let mut min: u64 = 1;
    for group in spec.get("workerGroupSpecs").items()? {
        let (replicas, hosts) = group_size(&group)?;
        let size = replicas.saturating_mul(hosts);
        let lowest = group.get("minReplicas").count()?.unwrap_or(0).saturating_mul(hosts);
        min = min.saturating_add(if autoscales { lowest.min(size) } else { size });
        let template = group.get("template");
        let mut workers = GangRole::new(group.get("groupName").required_text()?, size, &template);
        workers.add_container(&template, "initContainers", (node::WAIT_CONTAINER, node::wait_resources()));
        workers.add_labels(&group.get("labels"));
        roles.push(workers);
    }
    let mut shape = GangShape::new(roles);
    shape.min_members = Some(min);
    shape.suspended = spec.get("suspend").is_true()?;
    Ok(shape)
}

impl<'a> Cluster<'a> {
    /// Renders the head, then each worker group.
    pub(super) fn roles(&self) -> Result<Vec<RolePod>, RenderError> {
        let mut roles = vec![self.head()?.into_role("head", 1)];
        for group in self.spec.get("workerGroupSpecs").items()? {
            let name = group.get("groupName").required_text()?;
            let (replicas, hosts) = group_size(&group)?;
            roles.push(self.worker(&group, name, hosts)?.into_role(name, replicas * hosts));
        }
        Ok(roles)
    }

    /// Returns the DNS name of the head's Service, whose name users can configure.
    pub(super) fn head_service(&self) -> Result<String, RenderError> {
        let named = self.spec.get("headGroupSpec").get("headService").get("metadata").get("name").text()?;
        let name = named.map_or_else(|| format!("{}-head-svc", self.owner.name), str::to_owned);
        Ok(format!("{name}.{}.svc.cluster.local", self.namespace))
    }

    fn head(&self) -> Result<Draft, RenderError> {
        let group = self.spec.get("headGroupSpec");
        group.object()?.ok_or_else(|| self.spec.missing_field("headGroupSpec", "RayClusterSpec"))?;
        let mut draft = self.pod(&group, &self.owner.name, "head")?;
        self.add_labels(&mut draft, &group, "head", "headgroup")?;
        if self.is_ray_service {
            draft.label(SERVE, "false");
        }
        node::complete_head(&mut draft, self, &group)?;
        Ok(draft)
    }

    fn worker(&self, group: &Field<'a>, name: &str, hosts: u64) -> Result<Draft, RenderError> {
        let mut draft = self.pod(group, &format!("{}-{name}", self.owner.name), "worker")?;
        self.add_labels(&mut draft, group, "worker", name)?;
        draft.label(REPLICA_INDEX, "0");
        if hosts > 1 {
            draft.label("ray.io/worker-group-replica-name", format!("{name}-{ZERO_SUFFIX}"));
            draft.label(HOST_INDEX, "0");
        }
        if self.is_ray_service {
            draft.label(SERVE, "true");
        }
        node::complete_worker(&mut draft, self, group)?;
        Ok(draft)
    }

    fn pod(&self, group: &Field<'a>, prefix: &str, node_type: &str) -> Result<Draft, RenderError> {
        let mut draft = Draft::new(&group.get("template"), &self.owner, self.namespace)?;
        let prefix = truncate(prefix, MAX_PREFIX_LENGTH).to_lowercase();
        draft.generate_name = Some(format!("{prefix}-{node_type}-"));
        Ok(draft)
    }

    /// Adds KubeRay's labels. User labels take precedence, except over those that identify the pod within the cluster.
    fn add_labels(
        &self,
        draft: &mut Draft,
        group: &Field<'a>,
        node_type: &str,
        group_name: &str,
    ) -> Result<(), RenderError> {
        let cluster = self.owner.name.as_str();
        draft.labels.extend(group.get("labels").cloned_object()?);
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

/// Returns the number of replicas of a group, within its bounds, and the number of hosts of each replica.
fn group_size(group: &Field<'_>) -> Result<(u64, u64), RenderError> {
    let count = |key| group.get(key).count();
    let min = count("minReplicas")?.unwrap_or(0);
    let max = count("maxReplicas")?.unwrap_or(u64::MAX);
    let replicas = count("replicas")?.unwrap_or(0);
    let hosts = count("numOfHosts")?.unwrap_or(1);
    let replicas = if replicas < min { min } else { replicas.min(max) };
    Ok((if group.get("suspend").is_true()? { 0 } else { replicas }, hosts))
}

/// Returns the end of a text, truncated to the maximum length of a label value.
fn truncate_start(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(63))..]
}
