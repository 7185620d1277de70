//! The pod as a member of its job: FP023, FP029, FP031.

use super::facts::{Facts, Seen};
use super::finding::Found;
use super::raw::text;
use crate::fabric::conf;
use crate::keys;
use crate::pod::{Container, ContainerKind};
use crate::workload::has_ssh_ranks;

/// Kueue's sign on the pods of a job whose template it has counted.
const KUEUE_POD_SET: &str = "kueue.x-k8s.io/podset";
/// Kueue's sign on pods that it counts by themselves, after they were changed.
const KUEUE_MANAGED: &str = "kueue.x-k8s.io/managed";

/// FP023: sshd hands its environment on to nobody.
pub(super) fn env_behind_ssh(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in facts.containers.iter().filter(|seen| seen.container.kind == ContainerKind::App) {
        if !has_ssh_ranks(seen.container, facts.subject.member) || has_file(seen) {
            continue;
        }
        let in_environment = |name: &str| name.starts_with("NCCL_");
        let Some(setting) = seen.settings.all().find(|setting| in_environment(setting.name)) else { continue };
        let message = format!("{}: {} reaches no rank that sshd starts", seen.named(), setting.name);
        found.add(seen.settings.field(setting.name), message);
    }
}

/// Whether the container is given a file that every rank reads by itself.
fn has_file(seen: &Seen<'_>) -> bool {
    seen.mounts().any(|(_, mount)| {
        let path = text(mount, "mountPath").unwrap_or_default();
        [conf::NCCL, conf::RCCL].contains(&path) || path.ends_with("/.nccl.conf")
    })
}

/// FP029: Kueue has counted what the template asks for, and the pod asks for more.
pub(super) fn uncounted(facts: &Facts<'_>, found: &mut Found<'_>) {
    let pod = facts.subject.pod;
    if pod.label(KUEUE_POD_SET).is_none() || pod.label(KUEUE_MANAGED).is_some() {
        return;
    }
    let before: Vec<Container<'_>> = facts.subject.original.containers().collect();
    for seen in &facts.containers {
        let twin = before
            .iter()
            .find(|container| (container.kind, container.name()) == (seen.container.kind, seen.container.name()));
        let had = |adapter: &str| {
            let resources = twin.and_then(|container| container.raw().get("resources"));
            ["limits", "requests"]
                .iter()
                .any(|side| resources.and_then(|resources| resources.get(side)?.get(adapter)).is_some())
        };
        if let Some((adapter, _)) = seen.adapters.iter().find(|(adapter, _)| !had(adapter)) {
            found.add(seen.at("/resources/limits"), format!("{}: Kueue has not counted {adapter}", seen.named()));
        }
    }
}

/// FP031: members of one job with different settings.
pub(super) fn mixed(facts: &Facts<'_>, found: &mut Found<'_>) {
    let Some(pin) = facts.subject.cluster.pin else { return };
    let computes = facts.containers.iter().any(|seen| seen.gpus > 0);
    let own = facts.subject.pod.annotation(keys::FABRIC_REVISION);
    let message = match own {
        Some(own) if own != pin.revision => format!("revision {own} beside pods of the job with {}", pin.revision),
        None if computes && facts.subject.profile.is_some() => {
            format!("no fabric beside pods of the job with {} {}", pin.profile, pin.revision)
        }
        _ => return,
    };
    found.add("/metadata/annotations/trainmesh.dev~1fabric-revision", message);
}
