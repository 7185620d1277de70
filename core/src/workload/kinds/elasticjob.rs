//! `elastic.iml.github.io` `ElasticJob` of DLRover.
//!
//! Follows intelligent-machine-learning/dlrover at 7c3e964 (2026-08-21): the operator creates the job's master
//! (`go/elasticjob/pkg/controllers/master.go`), and the master creates all other pods
//! (`dlrover/python/master/scaler/pod_scaler.py`).

mod master;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::pod::Pod;
use crate::workload::identity::numeric_label;
use crate::workload::template::{Draft, Field, Owner, containers, env, env_from_field, list_mut, text};
use crate::workload::{Fidelity, GangTraits, Manifest, PodIdentity, RenderError, RolePod, WorkloadKind};

/// An `ElasticJob`: workers, optional parameter servers, a chief and evaluators, and a master that manages them.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "elastic.iml.github.io",
    versions: &["v1alpha1"],
    kind: "ElasticJob",
    resource: "elasticjobs",
    fidelity: Fidelity::Documented,
    render,
    identify,
    labels: &[JOB, ROLE, RANK],
    gang: GangTraits { auxiliary_roles: &[MASTER, "evaluator"], ..GangTraits::BY_NAME },
};

const API_VERSION: &str = "elastic.iml.github.io/v1alpha1";

/// Label that contains the name of a pod's job.
const JOB: &str = "elasticjob.dlrover/name";
/// Label that contains the role of a pod.
const ROLE: &str = "elasticjob.dlrover/replica-type";
/// Label that contains the rank of a pod in its role; a pod that replaces it gets the same rank.
const RANK: &str = "elasticjob.dlrover/rank-index";

const REPLICA_INDEX: &str = "elasticjob.dlrover/replica-index";

/// Role of the job's master, which takes no part in the training.
const MASTER: &str = "dlrover-master";
const WORKER: &str = "worker";

/// An `ElasticJob`, from which its pods are rendered.
struct Job<'a> {
    owner: Owner<'a>,
    namespace: &'a str,
    metadata: Field<'a>,
    spec: Field<'a>,
    /// Number of workers; 0 if DLRover determines it.
    workers: u64,
}

fn render(manifest: &Manifest<'_>) -> Result<Vec<RolePod>, RenderError> {
    let root = Field::root(manifest.raw);
    let (metadata, spec) = (root.get("metadata"), root.get("spec"));
    let replica_specs = spec.get("replicaSpecs");
    let worker = replica_specs.get(WORKER);
    worker.object()?.ok_or_else(|| replica_specs.missing_field(WORKER, "replicaSpecs"))?;
    let workers = worker.get("replicas").count()?.unwrap_or(0);
    let owner = Owner::from_manifest(manifest, API_VERSION, KIND.kind)?;
    let job = Job { owner, namespace: manifest.namespace, metadata, spec, workers };
    let mut roles = vec![job.master(&replica_specs.get(MASTER).get("template"))?];
    for (name, replica_spec) in replica_specs.entries()?.into_iter().filter(|(name, _)| *name != MASTER) {
        roles.push(job.role(name, &replica_spec)?);
    }
    Ok(roles)
}

fn identify(pod: Pod<'_>) -> Option<PodIdentity<'_>> {
    let (job, role) = (pod.label(JOB)?, pod.label(ROLE)?);
    Some(PodIdentity { kind: &KIND, workload: job, role: Some(role), index: numeric_label(pod, RANK), training: true })
}

impl Job<'_> {
    /// Renders the pod that the master creates for rank 0 of a role.
    fn role(&self, name: &str, replica_spec: &Field<'_>) -> Result<RolePod, RenderError> {
        let replicas = replica_spec.get("replicas").count()?.unwrap_or(0);
        let mut draft = Draft::new(&replica_spec.get("template"), &self.owner, self.namespace)?;
        draft.set_name(format!("{}-edljob-{name}-0", self.owner.name));
        for (key, value) in [("app", "dlrover"), (JOB, &self.owner.name), (ROLE, name)] {
            draft.label(key, value);
        }
        for key in [REPLICA_INDEX, RANK, "elasticjob.dlrover/relaunch-count"] {
            draft.label(key, "0");
        }
        draft.set("restartPolicy", "Never");
        draft.spec.remove("terminationGracePeriodSeconds");
        draft.spec.remove("priorityClassName");
        if let Some(priority @ ("high" | "low")) = replica_spec.get("priority").text()? {
            draft.set("priorityClassName", priority);
        }
        let variables = self.variables(name, replicas)?;
        complete_main_container(&mut draft, &replica_spec.get("template"), variables)?;
        draft.add_note("the job's master sets cpu and memory of the main container, and may change them");
        if replica_spec.get("autoScale").boolean()? != Some(false) {
            draft.add_note("the job's master may change the number of pods");
        }
        if self.spec.get("suspend").is_true()? {
            draft.add_note("the ElasticJob is suspended: its master creates the pods when it is resumed");
        }
        let mut role = draft.into_role(name, replicas);
        // DLRover's master sets an owner reference without the field `controller`.
        if let Some(owner) = role.pod.pointer_mut("/metadata/ownerReferences/0").and_then(Value::as_object_mut) {
            owner.remove("controller");
        }
        Ok(role)
    }

    /// Returns the variables of the main container.
    fn variables(&self, role: &str, replicas: u64) -> Result<Vec<Value>, RenderError> {
        let count = if self.workers > 0 { self.workers } else { replicas }.to_string();
        let mut variables = vec![
            env_from_field("POD_IP", "status.podIP"),
            env_from_field("NODE_IP", "status.hostIP"),
            env("ELASTIC_JOB_NAME", self.owner.name.as_str()),
            env("JOB_UID", self.owner.uid),
            env("GRPC_ENABLE_FORK_SUPPORT", "false"),
            env("NODE_TYPE", role),
            env("NODE_ID", "0"),
            env("NODE_NUM", count.as_str()),
            env("NODE_RANK", "0"),
        ];
        if self.spec.get("distributionStrategy").text()? == Some("AllreduceStrategy") {
            variables.extend([env("WORLD_SIZE", count.as_str()), env("RANK", "0")]);
        }
        variables.extend([
            env("DLROVER_MASTER_ADDR", format!("elasticjob-{}-{MASTER}:{}", self.owner.name, master::PORT)),
            env("DLROVER_MASTER_SERVICE_TYPE", "grpc"),
            env("DLROVER_TRAINING_ELASTIC_MODE", "base"),
            env_from_field("POD_NAME", "metadata.name"),
            // Without a value unless the master has an argument for it.
            env("DLROVER_EXTENSION_DYNAMIC_FAILOVER", ""),
            env("WORKER_TYPE", role),
            env("WORKER_ID", "0"),
            env("WORKER_NUM", count),
            env("WORKER_RANK", "0"),
        ]);
        Ok(variables)
    }
}

/// Adds `variables` to the main container (the only one, or the one named `main`) and removes its lifecycle hooks, as
/// DLRover does.
fn complete_main_container(draft: &mut Draft, template: &Field<'_>, variables: Vec<Value>) -> Result<(), RenderError> {
    let is_only = containers(&mut draft.spec).count() == 1;
    let main = containers(&mut draft.spec).find(|container| is_only || text(container, "name") == "main");
    let Some(main) = main else {
        return Err(template.get("spec").get("containers").missing_container("main"));
    };
    main.remove("lifecycle");
    if let Some(list) = list_mut(main, "env") {
        list.extend(variables);
    }
    // The master adds this variable to the first container, even if another one is the main container.
    if let Some(list) = containers(&mut draft.spec).next().and_then(|container| list_mut(container, "env")) {
        list.push(env("MONITOR_ENABLED", "true"));
    }
    Ok(())
}
