//! What the plugins that a Volcano Job names in `spec.plugins` add to its pods.

use serde_json::{Value, json};

use super::{Job, Task};
use crate::workload::RenderError;
use crate::workload::template::{Draft, Field, append, containers, env, every_container, has_entry};

/// Plugins that are followed here; what others add is said in a note.
const FOLLOWED: [&str; 4] = ["env", "svc", "ssh", "pytorch"];
/// Plugins for which Volcano's webhook adds `svc`, whose DNS names they need.
const NEED_SERVICE: [&str; 4] = ["tensorflow", "mpi", "pytorch", "ray"];
const RENDEZVOUS_PORT: u64 = 23456;
const SSH_FOLDER: &str = "/root/.ssh";
const SSH_FILES: [&str; 4] = ["id_rsa", "id_rsa.pub", "authorized_keys", "config"];

/// Lets each plugin of the Job add its part.
pub(super) fn apply(draft: &mut Draft, job: &Job<'_>, task: &Task<'_>) -> Result<(), RenderError> {
    let plugins = job.spec.get("plugins").copied_object()?;
    let has = |name: &str| plugins.contains_key(name);
    if has("env") {
        let index = [env("VK_TASK_INDEX", "0"), env("VC_TASK_INDEX", "0")];
        append_to_every_container(draft, "env", &index);
    }
    if has("svc") || NEED_SERVICE.into_iter().any(has) {
        serve(draft, job, argument(&job.spec, "svc", "inject-hosts-env")? != Some("false"));
    }
    if has("ssh") || has("mpi") {
        let folder = argument(&job.spec, "ssh", "ssh-key-file-path")?;
        mount_keys(draft, &job.owner.name, folder.unwrap_or(SSH_FOLDER));
    }
    if has("pytorch") {
        meet(draft, job, task)?;
    }
    for name in plugins.keys().filter(|name| !FOLLOWED.contains(&name.as_str())) {
        draft.note(format!("what Volcano's plugin {name} adds to the pod is not shown"));
    }
    Ok(())
}

/// `svc`: DNS names, and the hosts of every task as variables and as files.
fn serve(draft: &mut Draft, job: &Job<'_>, as_variables: bool) {
    let name = &job.owner.name;
    draft.set_default("hostname", draft.name.clone().unwrap_or_default());
    draft.set_default("subdomain", name.as_str());
    let hosts = format!("{name}-svc");
    if as_variables {
        let tasks = job.tasks.iter().map(|task| task.name.replace('-', "_").to_uppercase());
        let variables = tasks.flat_map(|task| [format!("VC_{task}_HOSTS"), format!("VC_{task}_NUM")]);
        let variables = variables.map(
            |variable| json!({"name": variable, "valueFrom": {"configMapKeyRef": {"name": hosts, "key": variable}}}),
        );
        append_to_every_container(draft, "env", &variables.collect::<Vec<_>>());
    }
    append(&mut draft.spec, "volumes", [json!({"name": hosts, "configMap": {"name": hosts}})]);
    append_to_every_container(draft, "volumeMounts", &[json!({"name": hosts, "mountPath": "/etc/volcano"})]);
}

/// `ssh`: one key pair for all pods of the Job.
fn mount_keys(draft: &mut Draft, job: &str, folder: &str) {
    let secret = format!("{job}-ssh");
    let items: Vec<Value> =
        SSH_FILES.into_iter().map(|file| json!({"key": file, "path": format!(".ssh/{file}")})).collect();
    // Only root reads a key below its own folder; elsewhere any user must be able to.
    let mode = if folder == SSH_FOLDER { 0o600 } else { 0o644 };
    let source = json!({"secretName": secret, "items": items, "defaultMode": mode});
    append(&mut draft.spec, "volumes", [json!({"name": secret, "secret": source})]);
    let mount = json!({"name": secret, "mountPath": folder, "subPath": ".ssh"});
    append_to_every_container(draft, "volumeMounts", &[mount]);
}

/// `pytorch`: the rendezvous of master and workers.
fn meet(draft: &mut Draft, job: &Job<'_>, task: &Task<'_>) -> Result<(), RenderError> {
    let option = |name| argument(&job.spec, "pytorch", name);
    let (master, worker) = (option("master")?.unwrap_or("master"), option("worker")?.unwrap_or("worker"));
    let Some(leader) = job.tasks.iter().find(|task| task.name == master) else {
        draft.note(format!("Volcano's plugin pytorch does nothing: no task is called {master}"));
        return Ok(());
    };
    let port = option("port")?.and_then(|port| port.parse().ok()).unwrap_or(RENDEZVOUS_PORT);
    let place = leader.field.get("template").get("spec");
    let host = place.get("hostname").text()?.map_or_else(|| format!("{}-{master}-0", job.owner.name), str::to_owned);
    let address = format!("{host}.{}", place.get("subdomain").text()?.unwrap_or(&job.owner.name));
    let both = job.tasks.iter().filter(|task| task.name == master || task.name == worker);
    let mut variables = vec![
        env("MASTER_ADDR", address),
        env("MASTER_PORT", port.to_string()),
        env("WORLD_SIZE", both.map(|task| task.replicas).sum::<u64>().to_string()),
    ];
    if task.name == worker {
        variables.push(env("RANK", "1"));
    } else if task.name == master {
        variables.push(env("RANK", "0"));
    }
    for container in containers(&mut draft.spec) {
        if !has_entry(container, "ports", "containerPort", &port) {
            append(container, "ports", [json!({"name": "pytorchjob-port", "containerPort": port})]);
        }
        append(container, "env", variables.iter().cloned());
    }
    if task.name == worker && option("wait-master-enabled")? == Some("true") {
        draft.note("Volcano adds the init container wait-for-master, which is not shown");
    }
    Ok(())
}

fn append_to_every_container(draft: &mut Draft, list: &str, items: &[Value]) {
    every_container(&mut draft.spec).for_each(|container| append(container, list, items.iter().cloned()));
}

/// The value of flag `name` among a plugin's arguments, each of them `--name=value`.
fn argument<'a>(spec: &Field<'a>, plugin: &str, name: &str) -> Result<Option<&'a str>, RenderError> {
    for argument in spec.get("plugins").get(plugin).items()? {
        let flag = argument.text()?.unwrap_or_default().trim_start_matches('-');
        if let Some(value) = flag.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')) {
            return Ok(Some(value));
        }
    }
    Ok(None)
}
