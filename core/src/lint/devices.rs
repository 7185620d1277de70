//! Resource requests of containers: FP014 to FP016, FP030, FP032.

use super::LintInput;
use super::context::{CheckContext, ContainerFacts};
use super::raw::str_at;
use super::sink::FindingSink;
use crate::config::Profile;
use crate::config::profile::Transport;
use crate::dra::DeviceKind;
use crate::finding::Severity;
use crate::pod::ContainerKind;
use crate::quantity::{is_whole, whole_units};
use crate::workload;

/// Node directory with the IMEX channels.
const IMEX_CHANNELS: &str = "/dev/nvidia-caps-imex-channels";
/// Prefix of MIG devices: partitions that work as accelerators.
const MIG_PREFIX: &str = "nvidia.com/mig-";
/// Prefix of the accelerators of AWS, which EFA connects like GPUs.
const NEURON_PREFIX: &str = "aws.amazon.com/neuron";
/// Setting of NCCL for `NVLink` between nodes.
const MNNVL: &str = "NCCL_MNNVL_ENABLE";
/// Parts of the names of machines with `NVLink` between nodes: GB200 NVL72 and GB300 NVL72, which GKE calls A4X.
const NVLINK_MACHINES: [&str; 3] = ["gb200", "gb300", "a4x"];
/// How to use `NVLink` between nodes.
const FIX_UNUSED_NVLINK: &str =
    "add the claim of a ComputeDomain to the container; nothing, if the job uses the network on purpose";
/// Variable by which the container toolkit injects IMEX channels without a claim.
const IMEX_VARIABLE: &str = "NVIDIA_IMEX_CHANNELS";

/// FP014: a device count is not a whole number, or request and limit differ.
pub(super) fn invalid_device_count(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        let requests = container.resources("requests").into_iter().flatten();
        for (name, request) in requests.filter(|(name, request)| is_extended_resource(name) && !request.is_null()) {
            let field = || container.pointer(&format!("/resources/requests/{}", name.replace('/', "~1")));
            let container_name = container.display_name();
            match container.resources("limits").and_then(|limits| limits.get(name)).filter(|limit| !limit.is_null()) {
                None => findings.push(field(), format!("{container_name}: {name} is requested without a limit")),
                Some(limit) if whole_units(limit) != whole_units(request) => {
                    let message = format!("{container_name}: {name}: request {request} and limit {limit} differ");
                    findings.push(field(), message);
                }
                Some(_) => {}
            }
        }
        let limits = container.resources("limits").into_iter().flatten();
        for (name, limit) in limits.filter(|(name, _)| is_extended_resource(name)) {
            if is_whole(limit) == Some(false) {
                let field = container.pointer(&format!("/resources/limits/{}", name.replace('/', "~1")));
                let message = format!("{}: {limit} of {name} is not a whole number", container.display_name());
                findings.push(field, message);
            }
        }
    }
}

/// Returns true if `resource` is an extended resource: one whose domain does not belong to Kubernetes, or one that
/// stands for a device class (KEP-5004).
fn is_extended_resource(resource: &str) -> bool {
    resource
        .split_once('/')
        .is_some_and(|(domain, _)| !domain.ends_with("kubernetes.io") || domain.starts_with("deviceclass."))
}

/// FP015: a container without an accelerator requests an adapter.
pub(super) fn adapter_without_gpu(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    // A pod without any GPU uses the adapter itself, for example to measure the network.
    if context.containers.iter().all(|container| !container.gpus.is_positive()) {
        return;
    }
    for container in &context.containers {
        let Some(adapter) = container.adapter_names().next() else { continue };
        let problem = match container.spec.kind {
            ContainerKind::Init => "is requested in an init container",
            ContainerKind::NativeSidecar if container.gpus.is_zero() => "is requested in a sidecar",
            _ if may_have_accelerator(context, container) => continue,
            _ => "is requested without a GPU",
        };
        let message = format!("{}: {adapter} {problem}", container.display_name());
        findings.push(container.resource_pointer(adapter), message);
    }
}

/// Returns true if the container has an accelerator, or may have one through a claim or the profile's `gpuResources`.
fn may_have_accelerator<'a>(context: &CheckContext<'a>, container: &ContainerFacts<'a>) -> bool {
    let mut limits = container.resources("limits").into_iter().flatten().map(|(name, _)| name.as_str());
    let is_gpu_resource = |name: &str| {
        let mut patterns = context.input.profile.into_iter().flat_map(|profile| &profile.matches.gpu_resources);
        patterns.any(|pattern| pattern.matches(name))
    };
    !container.gpus.is_zero()
        || !context.claims.count(container.spec, |kind| kind == DeviceKind::Partition).is_zero()
        || limits.any(|name| name.starts_with(MIG_PREFIX) || name.starts_with(NEURON_PREFIX) || is_gpu_resource(name))
}

/// FP016: the apiserver rejects containers that request huge pages but neither cpu nor memory.
pub(super) fn huge_pages_without_memory(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        let names = || {
            ["limits", "requests"].into_iter().filter_map(|kind| container.resources(kind)).flat_map(|map| map.keys())
        };
        let has_cpu_or_memory = names().any(|name| name == "cpu" || name == "memory");
        if let Some(pages) = names().find(|name| name.starts_with("hugepages-")).filter(|_| !has_cpu_or_memory) {
            let message =
                format!("{}: {pages} without cpu or memory: the apiserver rejects the pod", container.display_name());
            findings.push(container.resource_pointer(pages), message);
        }
    }
}

/// FP030: `NVLink` between nodes is required, or available to a job on several nodes, but no claim provides an IMEX channel.
pub(super) fn missing_imex_channel(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let needs_channel =
        |container: &&ContainerFacts<'_>| !container.may_have_channel() && !context.is_launcher(container);
    for container in context.containers.iter().filter(needs_channel) {
        let mounted = container
            .mounts()
            .any(|(_, mount)| str_at(mount, "mountPath").is_some_and(|path| path.starts_with(IMEX_CHANNELS)));
        let is_injected = container.settings.get(IMEX_VARIABLE).is_some();
        if mounted || is_injected {
            continue;
        }
        let name = container.display_name();
        if container.settings.number(MNNVL) == Some(1) {
            let message = format!("{name}: NCCL_MNNVL_ENABLE=1 without a ComputeDomain claim");
            findings.push(container.settings.field(MNNVL), message);
        } else if container.settings.get(MNNVL).is_none()
            && container.gpus.is_positive()
            && !container.is_privileged()
            && spans_nvlink_nodes(context)
        {
            let message = format!("{name}: no ComputeDomain claim: NCCL uses no NVLink between the nodes");
            findings.push_with_fix(Severity::Info, container.accelerators_pointer(), message, FIX_UNUSED_NVLINK);
        }
    }
}

/// Returns true if the pod is one of several ranks with a profile, all on machines with `NVLink` between nodes.
fn spans_nvlink_nodes(context: &CheckContext<'_>) -> bool {
    let LintInput { pod, profile, member, replicas, .. } = *context.input;
    let is_rank = member.is_some_and(|member| member.training && !workload::is_auxiliary_role(member));
    let Some(profile) = profile.filter(|_| is_rank && replicas.is_some_and(|pods| pods > 1)) else { return false };
    let is_known = |machine: &str| {
        let machine = machine.to_ascii_lowercase();
        NVLINK_MACHINES.iter().any(|part| machine.contains(part))
    };
    let (selected, of_profile) = (pod.selected_machines(), &profile.matches.machines);
    if selected.is_empty() {
        !of_profile.is_empty() && of_profile.iter().all(|pattern| is_known(pattern.as_str()))
    } else {
        selected.iter().all(|machine| is_known(machine))
    }
}

/// FP032: the pod requests part of a node, but the profile's transport needs the whole node.
pub(super) fn partial_node(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some(profile) = context.input.profile else { return };
    if !needs_whole_nodes(profile) {
        return without_adapters(context, profile, findings);
    }
    let mut node_gpus = profile.matches.min_gpus;
    // Other accelerators are no part of the profile's nodes: the rule `fabric` skips these pods.
    let is_matched = |container: &&ContainerFacts<'_>| {
        container.accelerator.is_none_or(|accelerator| profile.matches.is_accelerator(accelerator))
    };
    for container in context.gpu_containers().filter(is_matched) {
        if let (Some(nodes), Some(accelerator)) = (context.input.cluster.nodes, container.accelerator)
            && node_gpus == 1
        {
            node_gpus = nodes.max_allocatable(accelerator);
        }
        if container.gpus.is_less_than(node_gpus) {
            let (name, gpus, profile_name) = (container.display_name(), container.gpus, &profile.name);
            // The message must not disclose the size of the nodes: anyone who can reach the webhook receives warnings.
            let message = if profile.matches.min_gpus == node_gpus {
                format!("{name}: requests {gpus} of {node_gpus} GPUs, but {profile_name} needs whole nodes")
            } else {
                format!("{name}: requests {gpus} GPUs, fewer than a node has, but {profile_name} needs whole nodes")
            };
            findings.push(container.accelerators_pointer(), message);
        }
    }
}

/// Reports a pod with peers that requests no adapters, and gets none of the profile, because only pods that use whole nodes
/// get them. A single pod needs none.
fn without_adapters(context: &CheckContext<'_>, profile: &Profile, findings: &mut FindingSink<'_>) {
    // The rule skips the whole profile.
    let devices = profile.resources.iter().filter(|resource| !resource.opt_in);
    let node_gpus = devices.filter_map(|resource| resource.full_node_gpus).max();
    let LintInput { pod, member, replicas, .. } = *context.input;
    let has_peers = member.is_some_and(|member| workload::has_training_peers(pod, member, replicas));
    let has_adapters = context.containers.iter().any(|container| container.adapter_names().next().is_some());
    // The rule refuses a pod on another machine.
    let is_for_machine = pod.selected_machines().iter().all(|machine| profile.matches.allows_machine(machine));
    let mut containers = context.gpu_containers();
    // The GPUs of several containers are those of one pod.
    let (Some(node_gpus), Some(container), None) = (node_gpus, containers.next(), containers.next()) else { return };
    let is_of_profile = container.accelerator.is_none_or(|accelerator| profile.matches.is_accelerator(accelerator));
    if has_peers && !has_adapters && is_for_machine && is_of_profile && container.gpus.is_less_than(node_gpus) {
        let (name, gpus, profile_name) = (container.display_name(), container.gpus, &profile.name);
        let message = format!("{name}: requests {gpus} of {node_gpus} GPUs, but {profile_name} needs whole nodes");
        findings.push(container.accelerators_pointer(), message);
    }
}

fn needs_whole_nodes(profile: &Profile) -> bool {
    let is_google = matches!(profile.transport, Transport::Tcpx | Transport::Tcpxo | Transport::Gib);
    is_google || !profile.networks.gke.interfaces.is_empty()
}
