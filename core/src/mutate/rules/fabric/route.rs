//! By which way a setting reaches the processes of a container.
//!
//! The environment beats the file, and the file beats nothing of the user's. So the file is used where the environment
//! might override what only `envFrom` or a file of the user's own knows, and where it does not reach the ranks: sshd hands
//! no environment on.

use serde_json::Value;

use super::target::Target;
use super::volumes::{same, volume_of};
use super::work::Work;
use crate::config::profile::NcclDelivery;
use crate::fabric::conf;
use crate::workload;

/// How what NCCL reads reaches a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Env,
    File,
    Both,
    /// Any way might override what the user wrote.
    Closed,
}

impl Route {
    pub(super) fn file(self) -> bool {
        matches!(self, Self::File | Self::Both)
    }

    pub(super) fn env(self) -> bool {
        matches!(self, Self::Env | Self::Both)
    }
}

/// The way for every target.
pub(super) fn routes(work: &Work<'_>) -> Vec<Route> {
    let member = workload::identify(work.pod);
    // The launcher's own ranks are started by sshd too where it takes part.
    let by_job = member.is_some_and(|member| !member.kind.gang.ssh_roles.is_empty());
    let ssh = |target: &Target<'_>| by_job || workload::has_ssh_ranks(target.container, member);
    work.targets.iter().map(|target| route(work, target, ssh(target))).collect()
}

/// Where the container's library looks for its file.
pub(super) fn path<'a>(work: &Work<'a>, target: &Target<'_>) -> &'a str {
    match &work.profile.delivery.conf_path {
        Some(path) => path.as_str(),
        None if target.amd => conf::RCCL,
        None => conf::NCCL,
    }
}

/// Whether the environment of the container may hold names that nobody sees here.
pub(super) fn opaque(target: &Target<'_>) -> bool {
    target.items("envFrom").next().is_some()
}

/// Whether the container has the file from its pod's annotation already.
pub(super) fn mounted(work: &Work<'_>, target: &Target<'_>) -> bool {
    covering(work, target).is_some_and(|mount| is_ours(work, mount))
}

fn route(work: &Work<'_>, target: &Target<'_>, ssh: bool) -> Route {
    let theirs = covering(work, target).is_some_and(|mount| !is_ours(work, mount));
    let opaque = opaque(target);
    let hidden = opaque || ssh || target.env("NCCL_CONF_FILE").is_some();
    match work.profile.delivery.nccl {
        // A file of the user's: the environment would beat what it says, and a mount would hide it.
        _ if theirs => Route::Closed,
        NcclDelivery::Env if opaque => Route::Closed,
        NcclDelivery::ConfFile => Route::File,
        NcclDelivery::Both if opaque => Route::File,
        NcclDelivery::Auto if hidden => Route::File,
        NcclDelivery::Both => Route::Both,
        NcclDelivery::Env | NcclDelivery::Auto => Route::Env,
    }
}

/// The mount that decides what stands at the path of the file: there, or at a folder above it.
fn covering<'a>(work: &Work<'_>, target: &Target<'a>) -> Option<&'a Value> {
    let path = path(work, target);
    target.items("volumeMounts").find(|mount| {
        let at = mount.get("mountPath").and_then(Value::as_str).map(|at| at.trim_end_matches('/'));
        at.is_some_and(|at| same(at, path) || path.strip_prefix(at).is_some_and(|rest| rest.starts_with('/')))
    })
}

/// Whether a mount is the file of the pod's annotation.
fn is_ours(work: &Work<'_>, mount: &Value) -> bool {
    let volume = mount.get("name").and_then(Value::as_str).and_then(|name| volume_of(work, name));
    let items = volume.and_then(|volume| volume.get("downwardAPI")?.get("items")?.as_array());
    let sub_path = mount.get("subPath");
    let ours = conf::field_path();
    items.into_iter().flatten().any(|item| {
        let field = item.get("fieldRef").and_then(|field| field.get("fieldPath")).and_then(Value::as_str);
        sub_path.is_some() && item.get("path") == sub_path && field == Some(&ours)
    })
}
