//! Selects how NCCL settings are delivered to a container: by its environment or by a configuration file.
//!
//! NCCL prefers the environment over its configuration file, so the file never overrides user settings. The file is
//! used if environment variables might override settings from `envFrom` or from the user's own file, and if they do not
//! reach the ranks: sshd sessions do not inherit the container's environment.

use serde_json::Value;

use super::planner::Planner;
use super::target::TargetContainer;
use super::volumes::{find_volume, is_same_path};
use crate::config::profile::NcclDelivery;
use crate::fabric::conf;
use crate::workload;

/// Route by which NCCL settings reach a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Env,
    File,
    Both,
    /// No route, because either might override the user's settings.
    Blocked,
}

impl Route {
    pub(super) fn uses_file(self) -> bool {
        matches!(self, Self::File | Self::Both)
    }

    pub(super) fn uses_env(self) -> bool {
        matches!(self, Self::Env | Self::Both)
    }
}

/// Returns the route for every target.
pub(super) fn routes(planner: &Planner<'_>) -> Vec<Route> {
    let member = workload::identify(planner.pod);
    // In jobs with SSH roles, sshd starts the ranks in every pod, including a launcher that runs ranks itself.
    let job_uses_ssh = member.is_some_and(|member| !member.kind.gang.ssh_roles.is_empty());
    let ssh = |target: &TargetContainer<'_>| job_uses_ssh || workload::has_ssh_ranks(target.container, member);
    planner.targets.iter().map(|target| route(planner, target, ssh(target))).collect()
}

/// Returns the path at which the container's library reads its configuration file.
pub(super) fn conf_path<'a>(planner: &Planner<'a>, target: &TargetContainer<'_>) -> &'a str {
    match &planner.profile.delivery.conf_path {
        Some(path) => path.as_str(),
        None if target.amd => conf::RCCL_PATH,
        None => conf::NCCL_PATH,
    }
}

/// Returns true if the container may have environment variables that the pod does not list.
pub(super) fn has_env_from(target: &TargetContainer<'_>) -> bool {
    target.items("envFrom").next().is_some()
}

/// Returns true if the container already mounts the configuration file from the pod's annotation.
pub(super) fn has_conf_mount(planner: &Planner<'_>, target: &TargetContainer<'_>) -> bool {
    covering_mount(planner, target).is_some_and(|mount| is_conf_mount(planner, mount))
}

fn route(planner: &Planner<'_>, target: &TargetContainer<'_>, ssh: bool) -> Route {
    let has_user_file = covering_mount(planner, target).is_some_and(|mount| !is_conf_mount(planner, mount));
    let has_env_from = has_env_from(target);
    let needs_file = has_env_from || ssh || target.env("NCCL_CONF_FILE").is_some();
    match planner.profile.delivery.nccl {
        // The environment would override the user's file, and a mount would hide it.
        _ if has_user_file => Route::Blocked,
        NcclDelivery::Env if has_env_from => Route::Blocked,
        NcclDelivery::ConfFile => Route::File,
        NcclDelivery::Both if has_env_from => Route::File,
        NcclDelivery::Auto if needs_file => Route::File,
        NcclDelivery::Both => Route::Both,
        NcclDelivery::Env | NcclDelivery::Auto => Route::Env,
    }
}

/// Returns the mount at the path of the configuration file or at a parent directory.
fn covering_mount<'a>(planner: &Planner<'_>, target: &TargetContainer<'a>) -> Option<&'a Value> {
    let path = conf_path(planner, target);
    target.items("volumeMounts").find(|mount| {
        let at = mount.get("mountPath").and_then(Value::as_str).map(|at| at.trim_end_matches('/'));
        at.is_some_and(|at| is_same_path(at, path) || path.strip_prefix(at).is_some_and(|rest| rest.starts_with('/')))
    })
}

/// Returns true if `mount` is the configuration file from the pod's annotation.
fn is_conf_mount(planner: &Planner<'_>, mount: &Value) -> bool {
    let volume = mount.get("name").and_then(Value::as_str).and_then(|name| find_volume(planner, name));
    let items = volume.and_then(|volume| volume.get("downwardAPI")?.get("items")?.as_array());
    let sub_path = mount.get("subPath");
    let field_path = conf::field_path();
    items.into_iter().flatten().any(|item| {
        let field = item.get("fieldRef").and_then(|field| field.get("fieldPath")).and_then(Value::as_str);
        sub_path.is_some() && item.get("path") == sub_path && field == Some(&field_path)
    })
}
