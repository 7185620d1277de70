//! Code shared by the kinds of Kubeflow's training-operator (v1.9): replica specs, defaults, names and labels.
//!
//! The operator appends environment variables without checking for existing ones: of duplicates, the last one takes
//! effect.

#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use crate::pod::Pod;
use crate::workload::identity::numeric_label;
use crate::workload::template::{Draft, Field, Owner, append, container_named, containers, require_containers};
use crate::workload::{
    Fidelity, GangRole, GangShape, GangTraits, Manifest, PodCreation, PodIdentity, RenderError, RolePod, WorkloadKind,
};

/// Label that contains the name of the controller that created a pod.
pub(super) const OPERATOR_NAME: &str = "training.kubeflow.org/operator-name";
/// Label that contains the name of the job.
pub(super) const JOB_NAME: &str = "training.kubeflow.org/job-name";
/// Label that contains the role in lower case.
pub(super) const REPLICA_TYPE: &str = "training.kubeflow.org/replica-type";
/// Label that contains the index within the role.
pub(super) const REPLICA_INDEX: &str = "training.kubeflow.org/replica-index";
/// Label of the pod that determines the job's status.
pub(super) const JOB_ROLE: &str = "training.kubeflow.org/job-role";
/// `apiVersion` of every kind of this operator.
pub(super) const API_VERSION: &str = "kubeflow.org/v1";

/// Maximum number of pods of a job in which every pod lists all others. With more, that list alone exceeds the 1.5 MiB
/// limit of an object in etcd.
const MAX_LISTED_PODS: u64 = 50_000;

/// Properties in which the kinds differ.
#[derive(Debug)]
pub(super) struct Framework {
    /// Kind of the job.
    pub(super) kind: &'static str,
    /// Plural resource name.
    pub(super) resource: &'static str,
    /// Name of the controller.
    pub(super) controller: &'static str,
    /// Field of `spec` that contains the replica specs.
    pub(super) specs: &'static str,
    /// Replica types that the operator accepts.
    pub(super) roles: ReplicaTypes,
    /// Name of the main container.
    pub(super) container: &'static str,
    /// Name and number of the port that the operator adds to the main container.
    pub(super) port: (&'static str, u64),
    /// Default restart policy of a replica.
    pub(super) restart_policy: &'static str,
    /// Returns true if replica 0 of a type is the job's master.
    pub(super) is_master: fn(&Job<'_>, &ReplicaSpec) -> bool,
    /// Adds the fields that the framework needs for discovery of its peers.
    pub(super) set_cluster_spec: fn(&Job<'_>, &ReplicaSpec, &mut Draft) -> Result<(), RenderError>,
    /// Gang properties of the pods.
    pub(super) gang: GangTraits,
}

/// Replica types of a kind.
#[derive(Debug)]
pub(super) enum ReplicaTypes {
    /// The operator rejects other types; the second value lists the accepted types for the error.
    Fixed(&'static [&'static str], &'static str),
    /// The operator matches these types case-insensitively, and accepts any other.
    Open(&'static [&'static str]),
}

/// A job with the operator's defaults applied.
#[derive(Debug)]
pub(super) struct Job<'a> {
    /// Job as the owner of its pods.
    pub(super) owner: Owner<'a>,
    /// Namespace of the job.
    pub(super) namespace: &'a str,
    /// `spec`.
    pub(super) spec: Field<'a>,
    /// Field that contains the replica specs.
    pub(super) specs: Field<'a>,
    /// Replica types in the order of the manifest.
    pub(super) replicas: Vec<ReplicaSpec>,
}

/// A replica type with the operator's defaults applied.
#[derive(Clone, Debug)]
pub(super) struct ReplicaSpec {
    /// Replica type as the operator spells it.
    pub(super) role: String,
    /// Number of pods.
    pub(super) count: u64,
    /// Number of the framework's port.
    pub(super) port: u64,
    restart_policy: String,
    draft: Draft,
}

impl Framework {
    /// Returns the [`WorkloadKind`] of this framework.
    pub(super) const fn kind(
        &self,
        render: fn(&Manifest<'_>) -> Result<Vec<RolePod>, RenderError>,
        identify: for<'a> fn(Pod<'a>) -> Option<PodIdentity<'a>>,
    ) -> WorkloadKind {
        WorkloadKind {
            group: "kubeflow.org",
            versions: &["v1"],
            kind: self.kind,
            resource: self.resource,
            fidelity: Fidelity::Exact,
            render,
            identify,
            labels: &[OPERATOR_NAME, JOB_NAME, REPLICA_TYPE, REPLICA_INDEX],
            gang: GangTraits {
                shape: if self.gang.shape.is_some() { self.gang.shape } else { Some(gang_shape) },
                creation: Some(PodCreation::AllAtOnce),
                ..self.gang
            },
        }
    }

    /// Renders replica 0 of every replica type.
    pub(super) fn render(&self, manifest: &Manifest<'_>) -> Result<Vec<RolePod>, RenderError> {
        let job = self.read(manifest)?;
        job.replicas.iter().map(|replica| self.render_replica(&job, replica)).collect()
    }

    /// Identifies a pod of `kind`, the kind of this framework, by its labels.
    pub(super) fn identify<'a>(&self, kind: &'static WorkloadKind, pod: Pod<'a>) -> Option<PodIdentity<'a>> {
        identify_by_labels(kind, self.controller, REPLICA_TYPE, pod)
    }

    fn read<'a>(&self, manifest: &Manifest<'a>) -> Result<Job<'a>, RenderError> {
        let owner = Owner::from_manifest(manifest, API_VERSION, self.kind)?;
        let spec = Field::root(manifest.raw).get("spec");
        let specs = spec.get(self.specs);
        let mut replicas = Vec::new();
        for (role, spec) in specs.entries()? {
            let role = self.roles.canonicalize(role, &spec)?;
            let template = spec.get("template");
            require_containers(&template)?;
            replicas.push(self.replica(role, &spec, Draft::new(&template, &owner, manifest.namespace)?)?);
        }
        if replicas.is_empty() {
            return Err(specs.missing());
        }
        Ok(Job { owner, namespace: manifest.namespace, spec, specs, replicas })
    }

    fn replica(&self, role: &str, spec: &Field<'_>, mut draft: Draft) -> Result<ReplicaSpec, RenderError> {
        let containers = || spec.get("template").get("spec").get("containers");
        let port = self.ensure_port(&mut draft).ok_or_else(|| containers().missing_container(self.container))?;
        Ok(ReplicaSpec {
            role: role.to_owned(),
            count: spec.get("replicas").count()?.unwrap_or(1),
            port,
            restart_policy: spec.get("restartPolicy").text()?.unwrap_or(self.restart_policy).to_owned(),
            draft,
        })
    }

    /// Returns the number of the framework's port, which is added to the main container if absent.
    fn ensure_port(&self, draft: &mut Draft) -> Option<u64> {
        let container = container_named(&mut draft.spec, self.container)?;
        let (name, number) = self.port;
        let ports = container.get("ports").and_then(Value::as_array);
        if let Some(port) = ports.and_then(|ports| ports.iter().find(|port| port["name"] == name)) {
            return Some(port["containerPort"].as_u64().unwrap_or_default());
        }
        append(container, "ports", [json!({"name": name, "containerPort": number})]);
        Some(number)
    }

    fn render_replica(&self, job: &Job<'_>, replica: &ReplicaSpec) -> Result<RolePod, RenderError> {
        let mut draft = replica.draft.clone();
        draft.label(OPERATOR_NAME, self.controller);
        draft.label(JOB_NAME, job.owner.name.as_str());
        draft.label(REPLICA_TYPE, replica.role.to_lowercase());
        draft.label(REPLICA_INDEX, "0");
        if (self.is_master)(job, replica) {
            draft.label(JOB_ROLE, "master");
        }
        (self.set_cluster_spec)(job, replica, &mut draft)?;
        draft.set("restartPolicy", pod_restart_policy(&replica.restart_policy));
        draft.set_name(job.pod_name(&replica.role, 0));
        Ok(draft.into_role(replica.role.as_str(), replica.count))
    }
}

impl ReplicaTypes {
    /// Returns the replica type as the operator spells it.
    fn canonicalize<'a>(&self, role: &'a str, spec: &Field<'_>) -> Result<&'a str, RenderError> {
        match self {
            Self::Fixed(roles, expected) => {
                let known = roles.iter().find(|known| **known == role);
                known.copied().ok_or_else(|| unknown_replica_type(spec, expected))
            }
            Self::Open(roles) => {
                Ok(roles.iter().find(|known| known.eq_ignore_ascii_case(role)).copied().unwrap_or(role))
            }
        }
    }
}

impl Job<'_> {
    /// Returns the replica type of this name.
    pub(super) fn replica(&self, role: &str) -> Option<&ReplicaSpec> {
        self.replicas.iter().find(|replica| replica.role == role)
    }

    /// Returns a replica type that the framework requires.
    pub(super) fn required_replica(&self, role: &str) -> Result<&ReplicaSpec, RenderError> {
        self.replica(role).ok_or_else(|| self.specs.get(role).missing())
    }

    /// Returns the number of pods of all types.
    pub(super) fn total(&self) -> u64 {
        self.replicas.iter().map(|replica| replica.count).sum()
    }

    /// Returns [`Job::total`] of a framework in which every pod lists all others, or an error if it exceeds the limit.
    pub(super) fn listed_total(&self) -> Result<u64, RenderError> {
        let total = self.total();
        if total <= MAX_LISTED_PODS {
            return Ok(total);
        }
        let path = format!("the sum of replicas in {}", self.specs.path());
        Err(RenderError::Invalid {
            path,
            found: total.to_string(),
            expected: "at most 50000, because every pod lists all others".into(),
        })
    }

    /// Returns the name of a pod and of its Service.
    pub(super) fn pod_name(&self, role: &str, index: u64) -> String {
        format!("{}-{}-{index}", self.owner.name, role.to_lowercase())
    }
}

/// Reads the gang of a job of any kind of this operator: all replicas start together. `minAvailable` of the scheduling
/// policy takes precedence over the minimum of an elastic job.
pub(super) fn gang_shape(manifest: &Manifest<'_>) -> Result<GangShape, RenderError> {
    let spec = Field::root(manifest.raw).get("spec");
    let is_replica_specs = |(key, _): &(&str, Field<'_>)| key.ends_with("ReplicaSpecs");
    let specs = spec.entries()?.into_iter().find(is_replica_specs).map(|(_, specs)| specs);
    let mut shape = GangShape::new(Vec::new());
    let mut masters: u64 = 0;
    for (role, replica) in specs.ok_or_else(|| spec.missing())?.entries()? {
        let size = replica.get("replicas").count()?.unwrap_or(1);
        masters += if role == "Worker" { 0 } else { size };
        shape.roles.extend((size > 0).then(|| GangRole::new(role.to_lowercase(), size, &replica.get("template"))));
    }
    let elastic = spec.get("elasticPolicy").get("minReplicas").count()?.map(|workers| workers.saturating_add(masters));
    let policy = spec.get("runPolicy");
    shape.min_members = policy.get("schedulingPolicy").get("minAvailable").count()?.or(elastic);
    shape.suspended = policy.get("suspend").is_true()?;
    Ok(shape)
}

/// Adds environment variables to every container.
pub(super) fn add_env(draft: &mut Draft, variables: &[Value]) {
    containers(&mut draft.spec).for_each(|container| append(container, "env", variables.iter().cloned()));
}

/// Returns the pod's restart policy for that of a replica spec. With `ExitCode`, which only the operator supports, the
/// operator evaluates the exit code, so the kubelet must not restart the container.
pub(super) fn pod_restart_policy(policy: &str) -> &str {
    if policy == "ExitCode" { "Never" } else { policy }
}

/// Returns the error for a replica type that the operator rejects.
pub(super) fn unknown_replica_type(spec: &Field<'_>, expected: &'static str) -> RenderError {
    let found = "an unknown replica type".to_owned();
    RenderError::Invalid { path: spec.path().to_owned(), found, expected: expected.into() }
}

/// Identifies a pod by the labels that Kubeflow's operators share.
pub(super) fn identify_by_labels<'a>(
    kind: &'static WorkloadKind,
    operator: &str,
    role_label: &str,
    pod: Pod<'a>,
) -> Option<PodIdentity<'a>> {
    pod.label(OPERATOR_NAME).filter(|name| *name == operator)?;
    Some(PodIdentity {
        kind,
        workload: pod.label(JOB_NAME)?,
        role: pod.label(role_label),
        index: numeric_label(pod, REPLICA_INDEX),
        training: true,
    })
}
