//! What Trainer's plugins add for each machine learning framework.

use serde_json::{Value, json};

use super::resources::{self, PerNode};
use super::runtime::{Part, Runtime};
use super::{HOSTFILE_VARIABLE, LAUNCHER, NODE, NODES_VARIABLE};
use crate::workload::RenderError;
use crate::workload::template::{append, container_named, env, env_from_field, init_containers, text, upsert};

/// The port where a job's nodes meet.
const PORT: u64 = 29500;

/// Field of a pod of an Indexed Job that numbers the nodes.
const RANK: &str = "metadata.annotations['batch.kubernetes.io/job-completion-index']";

/// What a reader must know of a Flux runtime.
const FLUX: &str = "what the runtime's flux policy adds (an installer, volumes, a wrapped command) is not shown";

/// What a reader must know of torchtune.
const TORCHTUNE: &str = "the recipe and configuration that Trainer adds to the command of torchtune are not shown";

/// Applies the runtime's policy, and says what of it is not shown.
pub(super) fn enforce(job: &str, runtime: &mut Runtime<'_>) -> Result<Option<String>, RenderError> {
    resources::merge(runtime)?;
    let policy = runtime.policy.clone();
    let is_mpi = policy.get("mpi").is_present();
    if !is_mpi {
        let nodes = runtime.job.get("trainer").get("numNodes").count()?;
        if let (Some(nodes), Some(part)) = (nodes, runtime.trainer()) {
            part.nodes = nodes;
        }
    }
    let known = ["torch", "mpi", "jax", "xgboost", "flux"];
    match known.into_iter().find(|framework| policy.get(framework).is_present()) {
        Some("torch") => return torch(job, runtime),
        Some("mpi") => mpi(job, runtime)?,
        Some("jax") => jax(job, runtime)?,
        Some("xgboost") => xgboost(job, runtime)?,
        Some(_) => return Ok(Some(FLUX.to_owned())),
        None => {}
    }
    Ok(None)
}

/// The first node of the job, where the others meet.
fn first_node(job: &str) -> String {
    format!("{job}-{NODE}-0-0.{job}")
}

fn torch(job: &str, runtime: &mut Runtime<'_>) -> Result<Option<String>, RenderError> {
    let trainer = runtime.job.get("trainer");
    let node = PerNode::read(runtime)?;
    let processes = match trainer.get("numProcPerNode").count()? {
        Some(count) => count.to_string(),
        None if node.gpus() == 0 => node.cpus().max(1).to_string(),
        None => "auto".to_owned(),
    };
    let nodes = runtime.trainer().map_or(1, |part| part.nodes);
    let shape = [
        env(NODES_VARIABLE, nodes.to_string()),
        env("PET_NPROC_PER_NODE", processes),
        env_from_field("PET_NODE_RANK", RANK),
    ];
    let master = [env("PET_MASTER_ADDR", first_node(job)), env("PET_MASTER_PORT", PORT.to_string())];
    let is_torchtune = trainer.get("command").value() == Some(&json!(["tune", "run"]));
    if let (true, Some(part)) = (trainer.is_present(), runtime.trainer()) {
        part.trainer_env()?;
        part.set_env(NODE, shape.clone());
        if !is_torchtune {
            part.set_env(NODE, master.clone());
        }
        open_port(part);
    }
    for target in runtime.policy.get("torch").get("envInjection").get("targets").items()? {
        let name = target.get("jobName").text()?;
        for container in target.get("containerNames").items()? {
            let container = container.text()?.unwrap_or_default();
            if let Some(part) = runtime.parts.iter_mut().find(|part| Some(part.name.as_str()) == name) {
                inject(part, container, shape.iter().chain(&master));
            }
        }
    }
    Ok(is_torchtune.then(|| TORCHTUNE.to_owned()))
}

/// Sets variables of a container, or else of the init container of that name.
fn inject<'a>(part: &mut Part<'_>, name: &str, variables: impl Iterator<Item = &'a Value>) {
    let is_init = container_named(&mut part.pod, name).is_none();
    let container = if is_init {
        init_containers(&mut part.pod).find(|container| text(container, "name") == name)
    } else {
        container_named(&mut part.pod, name)
    };
    if let Some(container) = container {
        variables.for_each(|variable| upsert(container, "env", "name", variable.clone()));
    }
}

fn jax(job: &str, runtime: &mut Runtime<'_>) -> Result<(), RenderError> {
    let is_filled_in = runtime.job.get("trainer").object()?.is_some();
    if let (true, Some(part)) = (is_filled_in, runtime.trainer()) {
        let variables = [
            env("JAX_NUM_PROCESSES", part.nodes.to_string()),
            env_from_field("JAX_PROCESS_ID", RANK),
            env("JAX_COORDINATOR_ADDRESS", format!("{}:{PORT}", first_node(job))),
        ];
        part.set_env(NODE, variables);
        open_port(part);
    }
    Ok(())
}

fn xgboost(job: &str, runtime: &mut Runtime<'_>) -> Result<(), RenderError> {
    let is_filled_in = runtime.job.get("trainer").object()?.is_some();
    let workers = PerNode::read(runtime)?.gpus().max(1);
    if let (true, Some(part)) = (is_filled_in, runtime.trainer()) {
        // Trainer runs two plugins here, in no fixed order; the variables may also come first.
        part.trainer_env()?;
        let variables = [
            env("DMLC_TRACKER_URI", first_node(job)),
            env("DMLC_TRACKER_PORT", PORT.to_string()),
            env_from_field("DMLC_TASK_ID", RANK),
            env("DMLC_NUM_WORKER", part.nodes.saturating_mul(workers).to_string()),
        ];
        part.set_env(NODE, variables);
        open_port(part);
    }
    Ok(())
}

/// Opens [`PORT`]. Trainer takes two ports without a name for the same one.
fn open_port(part: &mut Part<'_>) {
    let Some(container) = container_named(&mut part.pod, NODE) else { return };
    let ours = json!({"containerPort": PORT});
    let ports = container.get_mut("ports").and_then(Value::as_array_mut);
    let same = |port: &&mut Value| port["containerPort"] == PORT || port.get("name").is_none();
    match ports.and_then(|ports| ports.iter_mut().find(same)) {
        Some(present) => *present = ours,
        None => append(container, "ports", [ours]),
    }
}

fn mpi(job: &str, runtime: &mut Runtime<'_>) -> Result<(), RenderError> {
    let (policy, trainer) = (runtime.policy.get("mpi"), runtime.job.get("trainer"));
    if !matches!(policy.get("mpiImplementation").text_as_given()?, None | Some("OpenMPI")) {
        return Err(policy.get("mpiImplementation").invalid("OpenMPI"));
    }
    let ssh_path = policy.get("sshAuthMountPath").text_as_given()?.unwrap_or("/root/.ssh");
    let of_runtime = policy.get("numProcPerNode").count()?.unwrap_or(1);
    let slots = match trainer.get("numProcPerNode").count()? {
        Some(count) => count,
        None if of_runtime == 1 => PerNode::read(runtime)?.gpus().max(1),
        None => of_runtime,
    };
    let launcher_works = runtime.launcher_works()?;
    let nodes = trainer.get("numNodes").count()?;
    for part in &mut runtime.parts {
        match (part.name.as_str(), nodes) {
            (NODE, Some(nodes)) => part.nodes = if launcher_works { nodes.saturating_sub(1).max(1) } else { nodes },
            (NODE | LAUNCHER, _) => {}
            _ => continue,
        }
        let is_launcher = part.name == LAUNCHER;
        upsert(&mut part.pod, "volumes", "name", keys(job));
        if is_launcher {
            upsert(&mut part.pod, "volumes", "name", hosts(job));
        }
        let Some(container) = container_named(&mut part.pod, NODE) else { continue };
        upsert(container, "volumeMounts", "mountPath", json!({"name": "mpi-ssh-auth", "mountPath": ssh_path}));
        if is_launcher {
            upsert(container, "volumeMounts", "mountPath", json!({"name": "mpi-hostfile", "mountPath": "/etc/mpi"}));
            part.set_env(
                NODE,
                [
                    env(HOSTFILE_VARIABLE, "/etc/mpi/hostfile"),
                    env("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
                    env("OMPI_MCA_orte_set_default_slots", slots.to_string()),
                    env("OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10"),
                ],
            );
        }
    }
    Ok(())
}

fn keys(job: &str) -> Value {
    json!({"name": "mpi-ssh-auth", "secret": {
        "secretName": format!("{job}-mpi-ssh-auth"),
        "items": [
            {"key": "ssh-privatekey", "path": "id_rsa", "mode": 0o640},
            {"key": "ssh-publickey", "path": "id_rsa.pub", "mode": 0o644},
            {"key": "ssh-publickey", "path": "authorized_keys", "mode": 0o644},
        ],
        "defaultMode": 0o400,
    }})
}

fn hosts(job: &str) -> Value {
    json!({"name": "mpi-hostfile", "configMap": {
        "name": format!("{job}-mpi-hostfile"),
        "items": [{"key": "hostfile", "path": "hostfile", "mode": 0o444}],
    }})
}
