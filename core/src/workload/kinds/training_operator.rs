//! What the kinds of Kubeflow's training-operator (v1.9) have in common: replica specs, defaults, names and labels.
//!
//! The operator appends to the environment of a container without a look at what is there: names can stand twice,
//! and then the last one counts.

#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use crate::pod::Pod;
use crate::workload::member::label_number;
use crate::workload::template::{Draft, Field, Owner, append, container_named, containers, require_containers};
use crate::workload::{Fidelity, GangTraits, Kind, Manifest, Member, RenderError, Role};

/// Label with the name of the controller that made a pod.
pub(in crate::workload) const OPERATOR_NAME: &str = "training.kubeflow.org/operator-name";
/// Label with the name of the job.
pub(in crate::workload) const JOB_NAME: &str = "training.kubeflow.org/job-name";
/// Label with the role in small letters.
pub(in crate::workload) const REPLICA_TYPE: &str = "training.kubeflow.org/replica-type";
/// Label with the index in the role.
pub(in crate::workload) const REPLICA_INDEX: &str = "training.kubeflow.org/replica-index";
/// Label of the pod that decides the job's fate.
pub(in crate::workload) const JOB_ROLE: &str = "training.kubeflow.org/job-role";
/// The API version of every kind of this operator.
pub(super) const API_VERSION: &str = "kubeflow.org/v1";

/// Most pods of a job whose every pod lists all the others. With more, that list alone exceeds the 1.5 MiB that the
/// apiserver stores for one pod.
const MOST_LISTED: u64 = 50_000;

/// What tells one kind from another.
#[derive(Debug)]
pub(super) struct Framework {
    /// The kind.
    pub(super) kind: &'static str,
    /// Its resource.
    pub(super) resource: &'static str,
    /// Name of its controller.
    pub(super) controller: &'static str,
    /// The field of `spec` that holds the replica specs.
    pub(super) specs: &'static str,
    /// The replica types that exist.
    pub(super) roles: Roles,
    /// The container that trains.
    pub(super) container: &'static str,
    /// Name and number of the port that it gets.
    pub(super) port: (&'static str, u64),
    /// The restart policy of a replica that names none.
    pub(super) restart_policy: &'static str,
    /// Whether replica 0 of a type is the job's master.
    pub(super) is_master: fn(&Job<'_>, &Replica) -> bool,
    /// Adds what the framework needs to find its peers.
    pub(super) connect: fn(&Job<'_>, &Replica, &mut Draft) -> Result<(), RenderError>,
    /// What its pods have in common as a gang.
    pub(super) gang: GangTraits,
}

/// The replica types of a kind.
#[derive(Debug)]
pub(super) enum Roles {
    /// The operator refuses any other; with these words.
    Only(&'static [&'static str], &'static str),
    /// The operator knows these in any case of letters, and takes others as they come.
    Any(&'static [&'static str]),
}

/// A job after the operator's defaults.
#[derive(Debug)]
pub(super) struct Job<'a> {
    /// The job as its pods refer to it.
    pub(super) owner: Owner<'a>,
    /// Its namespace.
    pub(super) namespace: &'a str,
    /// `spec`.
    pub(super) spec: Field<'a>,
    /// The field with the replica specs.
    pub(super) specs: Field<'a>,
    /// The replica types in the order of the manifest.
    pub(super) replicas: Vec<Replica>,
}

/// A replica type after the operator's defaults.
#[derive(Clone, Debug)]
pub(super) struct Replica {
    /// The type as the operator spells it.
    pub(super) role: String,
    /// How many pods.
    pub(super) count: u64,
    /// The number of the framework's port.
    pub(super) port: u64,
    restart_policy: String,
    draft: Draft,
}

impl Framework {
    /// The entry of this framework's kind.
    pub(super) const fn kind(
        &self,
        render: fn(&Manifest<'_>) -> Result<Vec<Role>, RenderError>,
        identify: for<'a> fn(Pod<'a>) -> Option<Member<'a>>,
    ) -> Kind {
        Kind {
            group: "kubeflow.org",
            versions: &["v1"],
            kind: self.kind,
            resource: self.resource,
            fidelity: Fidelity::Exact,
            render,
            identify,
            gang: self.gang,
        }
    }

    /// Renders the first pod of every replica type.
    pub(super) fn render(&self, manifest: &Manifest<'_>) -> Result<Vec<Role>, RenderError> {
        let job = self.read(manifest)?;
        job.replicas.iter().map(|replica| self.role(&job, replica)).collect()
    }

    /// Recognises a pod of `kind`, this framework's, by its labels.
    pub(super) fn identify<'a>(&self, kind: &'static Kind, pod: Pod<'a>) -> Option<Member<'a>> {
        member(kind, self.controller, REPLICA_TYPE, pod)
    }

    fn read<'a>(&self, manifest: &Manifest<'a>) -> Result<Job<'a>, RenderError> {
        let owner = Owner::of(manifest, API_VERSION, self.kind)?;
        let spec = Field::root(manifest.raw).get("spec");
        let specs = spec.get(self.specs);
        let mut replicas = Vec::new();
        for (role, spec) in specs.entries()? {
            let role = self.roles.spelling(role, &spec)?;
            let template = spec.get("template");
            require_containers(&template)?;
            replicas.push(self.replica(role, &spec, Draft::new(&template, &owner, manifest.namespace)?)?);
        }
        if replicas.is_empty() {
            return Err(specs.missing());
        }
        Ok(Job { owner, namespace: manifest.namespace, spec, specs, replicas })
    }

    fn replica(&self, role: &str, spec: &Field<'_>, mut draft: Draft) -> Result<Replica, RenderError> {
        let port = self.port(&mut draft).ok_or_else(|| {
            let containers = spec.get("template").get("spec").get("containers");
            RenderError::Missing(format!("a container named {} in {}", self.container, containers.path()))
        })?;
        Ok(Replica {
            role: role.to_owned(),
            count: spec.get("replicas").count()?.unwrap_or(1),
            port,
            restart_policy: spec.get("restartPolicy").text()?.unwrap_or(self.restart_policy).to_owned(),
            draft,
        })
    }

    /// Finds the framework's port, or adds it to the container that trains.
    fn port(&self, draft: &mut Draft) -> Option<u64> {
        let container = container_named(&mut draft.spec, self.container)?;
        let (name, number) = self.port;
        let ports = container.get("ports").and_then(Value::as_array);
        if let Some(port) = ports.and_then(|ports| ports.iter().find(|port| port["name"] == name)) {
            return Some(port["containerPort"].as_u64().unwrap_or_default());
        }
        append(container, "ports", [json!({"name": name, "containerPort": number})]);
        Some(number)
    }

    fn role(&self, job: &Job<'_>, replica: &Replica) -> Result<Role, RenderError> {
        let mut draft = replica.draft.clone();
        draft.label(OPERATOR_NAME, self.controller);
        draft.label(JOB_NAME, job.owner.name.as_str());
        draft.label(REPLICA_TYPE, replica.role.to_lowercase());
        draft.label(REPLICA_INDEX, "0");
        if (self.is_master)(job, replica) {
            draft.label(JOB_ROLE, "master");
        }
        (self.connect)(job, replica, &mut draft)?;
        draft.set("restartPolicy", kubelet_policy(&replica.restart_policy));
        draft.rename(job.pod_name(&replica.role, 0));
        Ok(draft.into_role(replica.role.as_str(), replica.count))
    }
}

impl Roles {
    fn spelling<'a>(&self, role: &'a str, spec: &Field<'_>) -> Result<&'a str, RenderError> {
        match self {
            Self::Only(roles, expected) => {
                let known = roles.iter().find(|known| **known == role);
                known.copied().ok_or_else(|| unknown_role(spec, expected))
            }
            Self::Any(roles) => {
                Ok(roles.iter().find(|known| known.eq_ignore_ascii_case(role)).copied().unwrap_or(role))
            }
        }
    }
}

impl Job<'_> {
    /// The replica type of this name.
    pub(super) fn replica(&self, role: &str) -> Option<&Replica> {
        self.replicas.iter().find(|replica| replica.role == role)
    }

    /// The replica type that the framework cannot do without.
    pub(super) fn required(&self, role: &str) -> Result<&Replica, RenderError> {
        self.replica(role).ok_or_else(|| self.specs.get(role).missing())
    }

    /// Pods of all types together.
    pub(super) fn total(&self) -> u64 {
        self.replicas.iter().map(|replica| replica.count).sum()
    }

    /// As [`Job::total`], where every pod lists all the others.
    pub(super) fn listed_total(&self) -> Result<u64, RenderError> {
        let total = self.total();
        if total <= MOST_LISTED {
            return Ok(total);
        }
        let path = format!("the sum of replicas in {}", self.specs.path());
        Err(RenderError::Invalid {
            path,
            found: total.to_string(),
            expected: "at most 50000, as each pod lists all others",
        })
    }

    /// The name of a pod, and of its Service.
    pub(super) fn pod_name(&self, role: &str, index: u64) -> String {
        format!("{}-{}-{index}", self.owner.name, role.to_lowercase())
    }
}

/// Adds the same variables to every container.
pub(super) fn add_env(draft: &mut Draft, variables: &[Value]) {
    containers(&mut draft.spec).for_each(|container| append(container, "env", variables.iter().cloned()));
}

/// The pod's restart policy for that of a replica spec. `ExitCode` is the operators' own word: they judge the exit
/// code, the kubelet must not restart.
pub(super) fn kubelet_policy(policy: &str) -> &str {
    if policy == "ExitCode" { "Never" } else { policy }
}

/// The error for a replica type that its operator refuses.
pub(super) fn unknown_role(spec: &Field<'_>, expected: &'static str) -> RenderError {
    let found = "an unknown replica type".to_owned();
    RenderError::Invalid { path: spec.path().to_owned(), found, expected }
}

/// Recognises a pod by the labels that Kubeflow's operators share.
pub(super) fn member<'a>(kind: &'static Kind, operator: &str, role: &str, pod: Pod<'a>) -> Option<Member<'a>> {
    pod.label(OPERATOR_NAME).filter(|name| *name == operator)?;
    Some(Member {
        kind,
        job: pod.label(JOB_NAME)?,
        role: pod.label(role),
        index: label_number(pod, REPLICA_INDEX),
        training: true,
    })
}
