//! Sidecar containers that a transport requires. They are native sidecars, because a classic one would keep the job
//! from completing.

use serde_json::{Value, json};

use super::planner::{Planner, PodSecurityLevel};
use super::security::record_forbidden;
use super::volumes;
use crate::config::profile::{Capability, HostPath, Sidecar};
use crate::json;
use crate::mutate::plan::spec_path;
use crate::pod::{Container, ContainerKind};

pub(super) fn plan(planner: &mut Planner<'_>) {
    let profile = planner.profile;
    for (index, sidecar) in profile.sidecars.iter().enumerate() {
        let name = sidecar.name.as_str();
        match planner.pod.containers().find(|container| container.name() == name) {
            None => {
                let mut container = json!({"name": name, "image": sidecar.image.as_str(), "restartPolicy": "Always"});
                for (field, arguments) in [("command", &sidecar.command), ("args", &sidecar.args)] {
                    if !arguments.is_empty() {
                        container[field] = arguments.iter().map(String::as_str).collect();
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
                        volumes::plan_sidecar_mount(planner, &format!("trainmesh-sidecar-{index}-{path_index}"), path)
                    })
                    .collect();
                for (field, items) in [("env", env), ("volumeMounts", mounts)] {
                    if !items.is_empty() {
                        container[field] = items.into();
                    }
                }
                planner.plan.append(spec_path(["initContainers"]), container);
                planner.note_added(format!("native sidecar {name}"));
                // The container does not set what the level `restricted` requires.
                planner.forbidden.push((PodSecurityLevel::Restricted, format!("container {name}")));
                for capability in &sidecar.capabilities {
                    record_forbidden(planner, capability);
                }
            }
            Some(own) if own.kind == ContainerKind::NativeSidecar => {
                let parts = different_parts(own, sidecar);
                if parts.is_empty() {
                    planner.note_found(format!("native sidecar {name}"));
                } else {
                    planner.note_kept(format!("{} of container {name}", parts.join(", ")));
                }
            }
            Some(own) => {
                // Under another name, it would run beside the sidecar of the profile.
                let fix = match own.kind {
                    ContainerKind::Init => "set restartPolicy: Always, or remove it",
                    _ => "remove it: the profile adds it",
                };
                planner.add_conflict_at(own.pointer(), format!("container {name} is not a native sidecar"), fix);
            }
        }
    }
}

/// Returns the parts in which the pod's `own` container differs from `sidecar`. Their names are those of the fields.
fn different_parts(own: Container<'_>, sidecar: &Sidecar) -> Vec<&'static str> {
    let raw = own.raw();
    let has_capability = |capability: &Capability| {
        let context = raw.get("securityContext");
        let privileged = context.and_then(|context| context.get("privileged"));
        let is_privileged = privileged.and_then(Value::as_bool) == Some(true);
        let added = context.and_then(|context| context.get("capabilities")?.get("add")?.as_array());
        let mut added = added.into_iter().flatten().filter_map(Value::as_str);
        is_privileged || added.any(|name| name == "ALL" || name.trim_start_matches("CAP_") == capability.as_str())
    };
    let is_mounted = |path: &HostPath| {
        json::items(raw, "volumeMounts").any(|mount| json::text(mount, "mountPath") == Some(path.mount_path.as_str()))
    };
    let differs = |field: &str, expected: &[String]| {
        let found = json::items(raw, field).filter_map(Value::as_str);
        !expected.iter().map(String::as_str).eq(found)
    };
    let differences = [
        ("image", json::text(raw, "image") != Some(sidecar.image.as_str())),
        ("command", differs("command", &sidecar.command)),
        ("args", differs("args", &sidecar.args)),
        ("env", sidecar.env.iter().any(|(name, value)| own.env(name.as_str()) != Some(value.as_str()))),
        ("capabilities", !sidecar.capabilities.iter().all(has_capability)),
        ("volumeMounts", !sidecar.host_paths.iter().all(is_mounted)),
    ];
    differences.into_iter().filter(|(_, is_different)| *is_different).map(|(part, _)| part).collect()
}
