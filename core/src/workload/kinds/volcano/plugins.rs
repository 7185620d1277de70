//! Changes to the pods of a Volcano Job by the plugins in `spec.plugins`.

use serde_json::{Value, json};

use super::{Job, Task};
use crate::hint::nearest;
use crate::workload::RenderError;
use crate::workload::template::{Draft, Field, all_containers, append, containers, env, has_entry};

/// Supported plugins; for other plugins a note is added.
const SUPPORTED_PLUGINS: [&str; 4] = ["env", "svc", "ssh", "pytorch"];
/// Plugins for which Volcano's webhook enables the `svc` plugin, because they need its DNS names.
const PLUGINS_REQUIRING_SVC: [&str; 4] = ["tensorflow", "mpi", "pytorch", "ray"];
const RENDEZVOUS_PORT: u64 = 23456;
const SSH_DIRECTORY: &str = "/root/.ssh";
const SSH_FILES: [&str; 4] = ["id_rsa", "id_rsa.pub", "authorized_keys", "config"];

/// Applies the Job's plugins.
pub(super) fn apply(draft: &mut Draft, job: &Job<'_>, task: &Task<'_>) -> Result<(), RenderError> {
    let plugins = job.spec.get("plugins").cloned_object()?;
    let has = |name: &str| plugins.contains_key(name);
    if has("env") {
        let index = [env("VK_TASK_INDEX", "0"), env("VC_TASK_INDEX", "0")];
        append_to_all_containers(draft, "env", &index);
    }
    if has("svc") || PLUGINS_REQUIRING_SVC.into_iter().any(has) {
        apply_svc(draft, job, argument(&job.spec, "svc", "inject-hosts-env")? != Some("false"));
    }
    if has("ssh") || has("mpi") {
        let directory = argument(&job.spec, "ssh", "ssh-key-file-path")?;
        apply_ssh(draft, &job.owner.name, directory.unwrap_or(SSH_DIRECTORY));
    }
    if has("pytorch") {
        apply_pytorch(draft, job, task)?;
    }
    let known = [SUPPORTED_PLUGINS, PLUGINS_REQUIRING_SVC].concat();
    // A misspelled plugin, which FP049 reports, changes nothing.
    let exists = |name: &str| known.contains(&name) || nearest(name, &known).is_none();
    for name in plugins.keys().filter(|name| !SUPPORTED_PLUGINS.contains(&name.as_str()) && exists(name.as_str())) {
        draft.add_note(format!("changes by Volcano's {name} plugin are not shown"));
    }
    Ok(())
}

/// Applies `svc`: DNS names, and the hosts of every task as files and, with `add_env`, as environment variables.
fn apply_svc(draft: &mut Draft, job: &Job<'_>, add_env: bool) {
    let name = &job.owner.name;
    draft.set_default("hostname", draft.name.clone().unwrap_or_default());
    draft.set_default("subdomain", name.as_str());
    let hosts = format!("{name}-svc");
    if add_env {
        let tasks = job.tasks.iter().map(|task| task.name.replace('-', "_").to_uppercase());
        let variables = tasks.flat_map(|task| [format!("VC_{task}_HOSTS"), format!("VC_{task}_NUM")]);
        let variables = variables.map(
            |variable| json!({"name": variable, "valueFrom": {"configMapKeyRef": {"name": hosts, "key": variable}}}),
        );
        append_to_all_containers(draft, "env", &variables.collect::<Vec<_>>());
    }
    append(&mut draft.spec, "volumes", [json!({"name": hosts, "configMap": {"name": hosts}})]);
    append_to_all_containers(draft, "volumeMounts", &[json!({"name": hosts, "mountPath": "/etc/volcano"})]);
}

/// Applies `ssh`: one key pair for all pods of the Job.
fn apply_ssh(draft: &mut Draft, job: &str, directory: &str) {
    let secret = format!("{job}-ssh");
    let items: Vec<Value> =
        SSH_FILES.into_iter().map(|file| json!({"key": file, "path": format!(".ssh/{file}")})).collect();
    // Only root reads keys in its home directory; elsewhere every user must be able to read them.
    let mode = if directory == SSH_DIRECTORY { 0o600 } else { 0o644 };
    let source = json!({"secretName": secret, "items": items, "defaultMode": mode});
    append(&mut draft.spec, "volumes", [json!({"name": secret, "secret": source})]);
    let mount = json!({"name": secret, "mountPath": directory, "subPath": ".ssh"});
    append_to_all_containers(draft, "volumeMounts", &[mount]);
}

/// Applies `pytorch`: the rendezvous of master and workers.
fn apply_pytorch(draft: &mut Draft, job: &Job<'_>, task: &Task<'_>) -> Result<(), RenderError> {
    let option = |name| argument(&job.spec, "pytorch", name);
    let (master, worker) = (option("master")?.unwrap_or("master"), option("worker")?.unwrap_or("worker"));
    let Some(leader) = job.tasks.iter().find(|task| task.name == master) else {
        draft.add_note(format!("Volcano's pytorch plugin has no effect: there is no task {master}"));
        return Ok(());
    };
    let port = option("port")?.and_then(|port| port.parse().ok()).unwrap_or(RENDEZVOUS_PORT);
    let spec = leader.field.get("template").get("spec");
    let host = spec.get("hostname").text()?.map_or_else(|| format!("{}-{master}-0", job.owner.name), str::to_owned);
    let address = format!("{host}.{}", spec.get("subdomain").text()?.unwrap_or(&job.owner.name));
    let members = job.tasks.iter().filter(|task| task.name == master || task.name == worker);
    let mut variables = vec![
        env("MASTER_ADDR", address),
        env("MASTER_PORT", port.to_string()),
        env("WORLD_SIZE", members.map(|task| task.replicas).sum::<u64>().to_string()),
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
        draft.add_note("init container wait-for-master, which Volcano adds, is not shown");
    }
    Ok(())
}

fn append_to_all_containers(draft: &mut Draft, list: &str, items: &[Value]) {
    all_containers(&mut draft.spec).for_each(|container| append(container, list, items.iter().cloned()));
}

/// Returns the value of the argument `--name=value` of a plugin.
fn argument<'a>(spec: &Field<'a>, plugin: &str, name: &str) -> Result<Option<&'a str>, RenderError> {
    for argument in spec.get("plugins").get(plugin).items()? {
        let flag = argument.text()?.unwrap_or_default().trim_start_matches('-');
        if let Some(value) = flag.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')) {
            return Ok(Some(value));
        }
    }
    Ok(None)
}
