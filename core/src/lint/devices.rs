//! Resources that containers ask for: FP014 to FP016, FP030, FP032.

use super::facts::{Facts, Seen};
use super::finding::Found;
use super::raw::text;
use crate::config::Profile;
use crate::config::profile::{ResourcePattern, Transport};
use crate::pod::ContainerKind;
use crate::quantity::{is_whole, whole_units};

/// Where the channels of IMEX are on a node.
const IMEX_CHANNELS: &str = "/dev/nvidia-caps-imex-channels";
/// Parts of an accelerator: still an accelerator to the container.
const PARTS: &str = "nvidia.com/mig-";

/// FP014: devices are whole, and requested as they are limited.
pub(super) fn uneven(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in &facts.containers {
        for (name, request) in seen.resources("requests").into_iter().flatten().filter(|(name, _)| is_extended(name)) {
            let field = || seen.at(&format!("/resources/requests/{}", name.replace('/', "~1")));
            match seen.resources("limits").and_then(|limits| limits.get(name)) {
                None => found.add(field(), format!("{}: {name} is requested without a limit", seen.named())),
                Some(limit) if whole_units(limit) != whole_units(request) => {
                    found.add(field(), format!("{}: {name}: request {request} and limit {limit} differ", seen.named()));
                }
                Some(_) => {}
            }
        }
        for (name, limit) in seen.resources("limits").into_iter().flatten().filter(|(name, _)| is_extended(name)) {
            if is_whole(limit) == Some(false) {
                let field = seen.at(&format!("/resources/limits/{}", name.replace('/', "~1")));
                found.add(field, format!("{}: {limit} of {name}: devices are whole", seen.named()));
            }
        }
    }
}

/// Whether `resource` is counted by a device plugin: it has a domain that is not Kubernetes' own.
fn is_extended(resource: &str) -> bool {
    resource
        .split_once('/')
        .is_some_and(|(domain, _)| !domain.ends_with("kubernetes.io") || domain.starts_with("deviceclass."))
}

/// FP015: an adapter without an accelerator beside it.
pub(super) fn misplaced(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in &facts.containers {
        let Some((adapter, _)) = seen.adapters.first() else { continue };
        let problem = match seen.container.kind {
            ContainerKind::Init => "in an init container",
            ContainerKind::NativeSidecar if seen.gpus == 0 => "in a sidecar",
            _ if computes(seen, facts.subject.profile) => continue,
            _ => "in a container without a GPU",
        };
        found.add(seen.at("/resources"), format!("{}: {adapter} {problem}", seen.named()));
    }
}

/// Whether the container has an accelerator, or may have one by a claim or by the profile's own list.
fn computes(seen: &Seen<'_>, profile: Option<&Profile>) -> bool {
    let mut limits = seen.resources("limits").into_iter().flatten().map(|(name, _)| name.as_str());
    let listed = |name: &str| {
        let patterns = profile.into_iter().flat_map(|profile| &profile.matches.gpu_resources);
        patterns.map(ResourcePattern::as_str).any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == pattern,
        })
    };
    seen.gpus > 0 || seen.claims() || limits.any(|name| name.starts_with(PARTS) || listed(name))
}

/// FP016: the apiserver takes huge pages beside other memory or a processor only.
pub(super) fn huge_pages(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in &facts.containers {
        let names =
            || ["limits", "requests"].into_iter().filter_map(|side| seen.resources(side)).flat_map(|map| map.keys());
        let beside = names().any(|name| name == "cpu" || name == "memory");
        if let Some(pages) = names().find(|name| name.starts_with("hugepages-")).filter(|_| !beside) {
            found.add(seen.at("/resources"), format!("{}: {pages} without cpu or memory", seen.named()));
        }
    }
}

/// FP030: `NVLink` between nodes needs a channel that a claim brings.
pub(super) fn no_imex(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in facts.containers.iter().filter(|seen| !seen.claims()) {
        let mounted = seen
            .mounts()
            .any(|(_, mount)| text(mount, "mountPath").is_some_and(|path| path.starts_with(IMEX_CHANNELS)));
        if !mounted && seen.settings.number("NCCL_MNNVL_ENABLE") == Some(1) {
            let message = format!("{}: NCCL_MNNVL_ENABLE=1 without a claim of a ComputeDomain", seen.named());
            found.add(seen.settings.field("NCCL_MNNVL_ENABLE"), message);
        }
    }
}

/// FP032: a transport that takes the whole node.
pub(super) fn part_of_node(facts: &Facts<'_>, found: &mut Found<'_>) {
    let Some(profile) = facts.subject.profile.filter(|profile| takes_node(profile)) else { return };
    let mut wanted = profile.matches.min_gpus;
    for seen in facts.computing() {
        if let (Some(nodes), Some(accelerators)) = (facts.subject.cluster.nodes, seen.container.accelerators())
            && wanted == 1
        {
            wanted = nodes.most(accelerators.resource);
        }
        if seen.gpus < wanted {
            let (named, gpus, name) = (seen.named(), seen.gpus, &profile.name);
            // What the nodes have is not repeated: a finding becomes a warning to whoever reaches the webhook.
            let message = if profile.matches.min_gpus == wanted {
                format!("{named}: {gpus} of a node's {wanted} GPUs: {name} takes whole nodes")
            } else {
                format!("{named}: {gpus} GPUs, fewer than a node has: {name} takes whole nodes")
            };
            found.add(seen.at("/resources/limits"), message);
        }
    }
}

fn takes_node(profile: &Profile) -> bool {
    let google = matches!(profile.transport, Transport::Tcpx | Transport::Tcpxo | Transport::Gib);
    google || !profile.networks.gke.interfaces.is_empty()
}
