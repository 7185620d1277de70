//! Changes by Trainer's plugins for each machine learning framework.

use serde_json::{Value, json};

use super::resources::{self, NodeResources};
use super::runtime::{ReplicatedJob, Runtime};
use super::{HOSTFILE_VARIABLE, LAUNCHER, NODE, NODES_VARIABLE, PROCESSES};
use crate::workload::RenderError;
use crate::workload::template::{Field, append, container_named, env, env_from_field, init_containers, text, upsert};

/// Port of the rendezvous.
const PORT: u64 = 29500;

/// Pod field that contains the node rank, in a pod of an Indexed Job.
const RANK: &str = "metadata.annotations['batch.kubernetes.io/job-completion-index']";

/// Words for a number of processes that torchrun or Trainer derives from the devices of the node.
const WORDS: [&str; 3] = [AUTO, "cpu", "gpu"];
/// Word for one process for each GPU, or else for each CPU.
const AUTO: &str = "auto";

/// Note for a Flux runtime.
const FLUX_NOTE: &str = "changes by the runtime's flux policy (an installer, volumes, a wrapped command) are not shown";

/// Note for torchtune.
const TORCHTUNE_NOTE: &str = "the recipe and configuration that Trainer adds to the torchtune command are not shown";

/// Applies the runtime's policy. Returns a note about changes that are not rendered.
pub(super) fn enforce(job: &str, runtime: &mut Runtime<'_>) -> Result<Option<String>, RenderError> {
    resources::merge(runtime)?;
    let policy = runtime.policy.clone();
    let is_mpi = policy.get("mpi").is_present();
    if !is_mpi {
        let nodes = runtime.job.get("trainer").get("numNodes").count()?;
        if let (Some(nodes), Some(replicated_job)) = (nodes, runtime.trainer()) {
            replicated_job.nodes = nodes;
        }
    }
    let known = ["torch", "mpi", "jax", "xgboost", "flux"];
    match known.into_iter().find(|framework| policy.get(framework).is_present()) {
        Some("torch") => return torch(job, runtime),
        Some("mpi") => mpi(job, runtime)?,
        Some("jax") => jax(job, runtime)?,
        Some("xgboost") => xgboost(job, runtime)?,
        Some(_) => return Ok(Some(FLUX_NOTE.to_owned())),
        None => {}
    }
    Ok(None)
}

/// Returns the address of the first node, which hosts the rendezvous.
fn master_address(job: &str) -> String {
    format!("{job}-{NODE}-0-0.{job}")
}

fn torch(job: &str, runtime: &mut Runtime<'_>) -> Result<Option<String>, RenderError> {
    let trainer = runtime.job.get("trainer");
    let node = NodeResources::read(runtime)?;
    let by_runtime = runtime.policy.get("torch").get(PROCESSES);
    let processes = match read_processes(&trainer.get(PROCESSES), runtime.has_words)? {
        None if runtime.has_words => read_processes(&by_runtime, true)?,
        by_job => by_job,
    };
    let processes = match processes.unwrap_or_else(|| AUTO.to_owned()) {
        // torchrun counts the CPUs of the node, of which the pod may have a part.
        word if word == "cpu" || word == AUTO && node.gpus() == 0 => node.cpus().max(1).to_string(),
        other => other,
    };
    let nodes = runtime.trainer().map_or(1, |replicated_job| replicated_job.nodes);
    let topology = [
        env(NODES_VARIABLE, nodes.to_string()),
        env("PET_NPROC_PER_NODE", processes),
        env_from_field("PET_NODE_RANK", RANK),
    ];
    let master = [env("PET_MASTER_ADDR", master_address(job)), env("PET_MASTER_PORT", PORT.to_string())];
    let is_torchtune = trainer.get("command").value() == Some(&json!(["tune", "run"]));
    if let (true, Some(replicated_job)) = (trainer.is_present(), runtime.trainer()) {
        replicated_job.set_trainer_env()?;
        replicated_job.set_env(NODE, topology.clone());
        if !is_torchtune {
            replicated_job.set_env(NODE, master.clone());
        }
        open_port(replicated_job);
    }
    for target in runtime.policy.get("torch").get("envInjection").get("targets").items()? {
        let name = target.get("jobName").text()?;
        for container in target.get("containerNames").items()? {
            let container = container.text()?.unwrap_or_default();
            if let Some(replicated_job) =
                runtime.replicated_jobs.iter_mut().find(|replicated_job| Some(replicated_job.name.as_str()) == name)
            {
                inject_env(replicated_job, container, topology.iter().chain(&master));
            }
        }
    }
    Ok(is_torchtune.then(|| TORCHTUNE_NOTE.to_owned()))
}

/// Returns the number of processes of a node as torchrun reads it: a number, or a word if the version of Trainer allows it.
fn read_processes(field: &Field<'_>, has_words: bool) -> Result<Option<String>, RenderError> {
    match field.value() {
        Some(Value::String(word)) if has_words && WORDS.contains(&word.as_str()) => Ok(Some(word.clone())),
        Some(Value::String(_)) if has_words => Err(field.invalid("a whole number, auto, cpu or gpu")),
        _ => Ok(field.count()?.map(|count| count.to_string())),
    }
}

/// Sets environment variables of the container with this name, or else of the init container.
fn inject_env<'a>(replicated_job: &mut ReplicatedJob<'_>, name: &str, variables: impl Iterator<Item = &'a Value>) {
    let is_init = container_named(&mut replicated_job.pod, name).is_none();
    let container = if is_init {
        init_containers(&mut replicated_job.pod).find(|container| text(container, "name") == name)
    } else {
        container_named(&mut replicated_job.pod, name)
    };
    if let Some(container) = container {
        variables.for_each(|variable| upsert(container, "env", "name", variable.clone()));
    }
}

fn jax(job: &str, runtime: &mut Runtime<'_>) -> Result<(), RenderError> {
    let has_trainer = runtime.job.get("trainer").object()?.is_some();
    if let (true, Some(replicated_job)) = (has_trainer, runtime.trainer()) {
        let variables = [
            env("JAX_NUM_PROCESSES", replicated_job.nodes.to_string()),
            env_from_field("JAX_PROCESS_ID", RANK),
            env("JAX_COORDINATOR_ADDRESS", format!("{}:{PORT}", master_address(job))),
        ];
        replicated_job.set_env(NODE, variables);
        open_port(replicated_job);
    }
    Ok(())
}

fn xgboost(job: &str, runtime: &mut Runtime<'_>) -> Result<(), RenderError> {
    let has_trainer = runtime.job.get("trainer").object()?.is_some();
    let workers = NodeResources::read(runtime)?.gpus().max(1);
    if let (true, Some(replicated_job)) = (has_trainer, runtime.trainer()) {
        // Trainer runs its plugins in random order: in a real pod, the DMLC variables may precede those of
        // `spec.trainer`.
        replicated_job.set_trainer_env()?;
        let variables = [
            env("DMLC_TRACKER_URI", master_address(job)),
            env("DMLC_TRACKER_PORT", PORT.to_string()),
            env_from_field("DMLC_TASK_ID", RANK),
            env("DMLC_NUM_WORKER", replicated_job.nodes.saturating_mul(workers).to_string()),
        ];
        replicated_job.set_env(NODE, variables);
        open_port(replicated_job);
    }
    Ok(())
}

/// Adds [`PORT`] to the main container. Trainer treats two unnamed ports as the same port.
fn open_port(replicated_job: &mut ReplicatedJob<'_>) {
    let Some(container) = container_named(&mut replicated_job.pod, NODE) else { return };
    let rendezvous = json!({"containerPort": PORT});
    let ports = container.get_mut("ports").and_then(Value::as_array_mut);
    let same = |port: &&mut Value| port["containerPort"] == PORT || port.get("name").is_none();
    match ports.and_then(|ports| ports.iter_mut().find(same)) {
        Some(present) => *present = rendezvous,
        None => append(container, "ports", [rendezvous]),
    }
}

fn mpi(job: &str, runtime: &mut Runtime<'_>) -> Result<(), RenderError> {
    let (policy, trainer) = (runtime.policy.get("mpi"), runtime.job.get("trainer"));
    if !matches!(policy.get("mpiImplementation").raw_text()?, None | Some("OpenMPI")) {
        return Err(policy.get("mpiImplementation").invalid("OpenMPI"));
    }
    let ssh_path = policy.get("sshAuthMountPath").raw_text()?.unwrap_or("/root/.ssh");
    let default_slots = policy.get(PROCESSES).count()?.unwrap_or(1);
    let slots = match trainer.get(PROCESSES).count()? {
        Some(count) => count,
        None if default_slots == 1 => NodeResources::read(runtime)?.gpus().max(1),
        None => default_slots,
    };
    let launcher_is_worker = runtime.launcher_is_worker()?;
    let nodes = trainer.get("numNodes").count()?;
    for replicated_job in &mut runtime.replicated_jobs {
        match (replicated_job.name.as_str(), nodes) {
            (NODE, Some(nodes)) => {
                replicated_job.nodes = if launcher_is_worker { nodes.saturating_sub(1).max(1) } else { nodes }
            }
            (NODE | LAUNCHER, _) => {}
            _ => continue,
        }
        let is_launcher = replicated_job.name == LAUNCHER;
        upsert(&mut replicated_job.pod, "volumes", "name", ssh_auth_volume(job));
        if is_launcher {
            upsert(&mut replicated_job.pod, "volumes", "name", hostfile_volume(job));
        }
        let Some(container) = container_named(&mut replicated_job.pod, NODE) else { continue };
        upsert(container, "volumeMounts", "mountPath", json!({"name": "mpi-ssh-auth", "mountPath": ssh_path}));
        if is_launcher {
            upsert(container, "volumeMounts", "mountPath", json!({"name": "mpi-hostfile", "mountPath": "/etc/mpi"}));
            replicated_job.set_env(
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

fn ssh_auth_volume(job: &str) -> Value {
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

fn hostfile_volume(job: &str) -> Value {
    json!({"name": "mpi-hostfile", "configMap": {
        "name": format!("{job}-mpi-hostfile"),
        "items": [{"key": "hostfile", "path": "hostfile", "mode": 0o444}],
    }})
}
