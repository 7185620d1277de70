//! Containers that a transport needs beside the payload. They are native sidecars: a plain one would keep the job alive.

use serde_json::{Value, json};

use super::security::forbid;
use super::volumes;
use super::work::{Level, Work};
use crate::config::profile::Capability;
use crate::mutate::plan::spec;
use crate::pod::ContainerKind;

pub(super) fn plan(work: &mut Work<'_>) {
    let profile = work.profile;
    for (index, sidecar) in profile.sidecars.iter().enumerate() {
        let name = sidecar.name.as_str();
        match work.pod.containers().find(|container| container.name() == name) {
            None => {
                let mut container = json!({"name": name, "image": sidecar.image.as_str(), "restartPolicy": "Always"});
                for (field, words) in [("command", &sidecar.command), ("args", &sidecar.args)] {
                    if !words.is_empty() {
                        container[field] = words.iter().map(String::as_str).collect();
                    }
                }
                if !sidecar.capabilities.is_empty() {
                    let names: Value = sidecar.capabilities.iter().map(Capability::as_str).collect();
                    container["securityContext"] = json!({"capabilities": {"add": names}});
                }
                let env = sidecar.env.iter();
                let env: Vec<Value> = env.map(|(name, value)| json!({"name": name, "value": value})).collect();
                let mounts = sidecar.host_paths.iter().enumerate();
                let mounts: Vec<Value> = mounts
                    .map(|(path_index, path)| {
                        volumes::host_mount(work, &format!("trainmesh-sidecar-{index}-{path_index}"), path)
                    })
                    .collect();
                for (field, items) in [("env", env), ("volumeMounts", mounts)] {
                    if !items.is_empty() {
                        container[field] = items.into();
                    }
                }
                work.plan.append(spec(["initContainers"]), container);
                work.added(format!("native sidecar {name}"));
                // It says nothing of what `restricted` demands of every container.
                work.forbidden.push((Level::Restricted, format!("container {name}")));
                for capability in &sidecar.capabilities {
                    forbid(work, capability);
                }
            }
            Some(own) if own.kind == ContainerKind::NativeSidecar => {
                let image = own.raw().get("image").and_then(Value::as_str);
                if image != Some(sidecar.image.as_str()) {
                    work.kept(format!("the image of {name}"));
                }
            }
            Some(_) => work.conflict(format!("container {name} is no native sidecar"), "rename or remove it"),
        }
    }
}
