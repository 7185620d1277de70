//! Nodes and quotas that the pod depends on, as far as they are known: FP028, FP033, FP034, FP041.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::LintInput;
use super::context::CheckContext;
use super::interfaces::quoted;
use super::node_labels;
use super::rdma;
use super::sink::FindingSink;
use crate::cluster_facts::{NodeShape, Quota};
use crate::fabric::{MachineDevices, machine_devices, misspelled_machine};
use crate::finding::Severity;
use crate::pod::ContainerKind;
use crate::quantity::{is_whole, whole_units};
use crate::rule::Reason;

/// Labels with the same values on practically all nodes: selecting by them does not narrow down the nodes.
const COMMON_LABELS: [&str; 2] = ["kubernetes.io/os", "kubernetes.io/arch"];

/// Extended resource of NVIDIA's GPUs.
const GPU: &str = "nvidia.com/gpu";

/// How to fix the name of a machine.
const FIX_FOR_NAMES: &str = "correct the instance type in nodeSelector or affinity";
/// How to fix requests that exceed a machine.
const FIX_FOR_MACHINES: &str = "request at most what the machine has, or select another one";

/// How to fix requests for a part of the adapters.
const FIX_FOR_ADAPTERS: &str = "request all adapters of the machine, unless its nodes have fewer attached";

/// FP028: no node offers the adapter, or the namespace's quota is exhausted.
pub(super) fn unavailable_adapter(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let cluster = context.input.cluster;
    more_than_the_machine_has(context, findings);
    node_labels::check(context, findings);
    for (adapter, count) in context.adapters() {
        // In a cluster without nodes, all pools may scale from zero. Devices of a class are in ResourceSlices.
        let has_class = cluster.claims.classes().class_of_resource(adapter).is_some();
        let nodes = cluster.nodes.filter(|nodes| !nodes.shapes.is_empty() && !has_class);
        if nodes.is_some_and(|nodes| nodes.max_allocatable(adapter) == 0) {
            findings.push(request_pointer(context, adapter), format!("no node offers {adapter}"));
        }
        let requested = format!("requests.{adapter}");
        // The message must not disclose the remaining quota: anyone who can reach the webhook receives warnings.
        let is_exceeded = |quota: &&Quota| quota.remaining.get(&requested).is_some_and(|left| *left < count);
        let quotas = cluster.quotas.unwrap_or_default();
        if let Some(quota) = quotas.iter().find(is_exceeded) {
            let message = format!("{count} {adapter} would exceed quota {}", quota.name);
            findings.push(request_pointer(context, adapter), message);
        }
    }
}

/// Returns the JSON pointer of the first request for `resource`.
fn request_pointer(context: &CheckContext<'_>, resource: &str) -> String {
    let mut pointers = context.containers.iter().filter_map(|container| container.request_pointer(resource));
    pointers.next().unwrap_or_else(|| "/spec/containers".to_owned())
}

/// Part of FP028: the pod requests more GPUs or adapters than any machine has that it selects.
fn more_than_the_machine_has(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let machines = context.input.pod.selected_machines();
    // The rule reports a machine for which it needs the number of adapters.
    let is_refused = context.input.rules.iter().any(|rule| rule.reason == Reason::FabricContradicted);
    let misspelled = machines.iter().find_map(|machine| Some((machine, misspelled_machine(machine)?)));
    if let Some((machine, near)) = misspelled.filter(|_| !is_refused) {
        let field = context.input.pod.machine_pointer(machine).unwrap_or_else(|| "/spec".to_owned());
        // SageMaker HyperPod has a prefix before the instance type.
        let text = context.input.pod.raw().pointer(&field).and_then(Value::as_str).unwrap_or_default();
        let prefix = text.strip_suffix(&**machine).unwrap_or_default();
        let name = format!("{prefix}{machine}");
        let message = format!("no instance type is called {}: did you mean {prefix}{near}?", quoted(&name));
        findings.push_with_fix(Severity::Warning, field, message, FIX_FOR_NAMES);
    }
    let known: Option<Vec<(Cow<'_, str>, MachineDevices)>> =
        machines.into_iter().map(|machine| machine_devices(&machine).map(|devices| (machine, devices))).collect();
    let mut requested: BTreeMap<&str, u64> = BTreeMap::new();
    // Init containers run before the others, and use the same devices.
    let containers = context.containers.iter().filter(|container| container.spec.kind != ContainerKind::Init);
    let limits = containers.filter_map(|container| container.resources("limits")).flatten();
    // FP014 reports a fraction.
    for (name, quantity) in limits.filter(|(_, quantity)| is_whole(quantity) == Some(true)) {
        let sum = requested.entry(name.as_str()).or_default();
        *sum = sum.saturating_add(whole_units(quantity).unwrap_or_default());
    }
    for (&resource, &count) in &requested {
        let available = |devices: MachineDevices| match resource {
            GPU => Some(devices.gpus),
            _ => devices.efa.filter(|_| is_efa(context, resource)),
        };
        let largest =
            known.iter().flatten().filter_map(|(machine, devices)| Some((available(*devices)?, &**machine))).max();
        if let Some((most, machine)) = largest.filter(|(most, _)| *most < count) {
            let message = format!("{machine} has {most} {resource}, but the pod requests {count}");
            findings.push_with_fix(Severity::Error, request_pointer(context, resource), message, FIX_FOR_MACHINES);
        }
    }
    if let Some(known) = known.filter(|_| context.has_several_pods() && context.list("resourceClaims").next().is_none())
    {
        fewer_adapters_than_the_machine_has(&known, &requested, context, findings);
    }
}

/// Part of FP028: the pod requests all GPUs of the machines that it selects, but a part of their adapters. A pod that requests no
/// adapter may use TCP intentionally.
fn fewer_adapters_than_the_machine_has(
    known: &[(Cow<'_, str>, MachineDevices)],
    requested: &BTreeMap<&str, u64>,
    context: &CheckContext<'_>,
    findings: &mut FindingSink<'_>,
) {
    let Some(gpus) = requested.get(GPU).filter(|gpus| known.iter().all(|(_, devices)| devices.gpus == **gpus)) else {
        return;
    };
    let adapters = requested.iter().filter(|(name, count)| **count > 0 && is_efa(context, name));
    for (adapter, count) in adapters {
        let fewest = known.iter().map(|(machine, devices)| Some((devices.efa?, &**machine))).min().flatten();
        let attached = context.input.cluster.nodes.map(|nodes| nodes.max_allocatable(adapter));
        let is_part = |most: u64| most > *count && attached.is_none_or(|attached| attached > *count);
        if let Some((most, machine)) = fewest.filter(|(most, _)| is_part(*most)) {
            let message = format!("{machine} has {most} {adapter}, but the pod requests {count} with all {gpus} GPUs");
            let field = request_pointer(context, adapter);
            findings.push_with_fix(Severity::Warning, field, message, FIX_FOR_ADAPTERS);
        }
    }
}

fn is_efa(context: &CheckContext<'_>, resource: &str) -> bool {
    rdma::is_efa(resource, context.input.cluster.claims)
}

/// FP033: the scheduler may place the pods of one job on different instance types.
pub(super) fn mixed_instance_types(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    compare_roles(context.input, findings);
    if selects_nodes(context) {
        return;
    }
    for (adapter, _) in context.adapters() {
        // Requesting the adapter already restricts the pod to nodes that offer it.
        let types: BTreeSet<&str> =
            shapes_with(context, adapter).filter_map(|shape| shape.instance_type.as_deref()).collect();
        if types.len() > 1 {
            let types = Vec::from_iter(types).join(", ");
            findings.push("/spec/nodeSelector", format!("several instance types offer {adapter}: {types}"));
        }
    }
}

/// Part of FP033: the roles of a manifest select different instance types.
pub(super) fn compare_roles(input: &LintInput<'_>, findings: &mut FindingSink<'_>) {
    let other = input.job.and_then(|job| job.other_machines.as_ref()).filter(|other| input.role == Some(&other.role));
    if let Some(other) = other {
        // It selects a machine, which the message names.
        let machine = input.pod.selected_machines().into_iter().next();
        let field = machine.and_then(|machine| input.pod.machine_pointer(&machine));
        findings.push(field.as_deref().unwrap_or("/spec"), other.message.as_str());
    }
}

/// Returns the shapes of the nodes that offer `adapter`.
fn shapes_with<'a>(context: &CheckContext<'a>, adapter: &str) -> impl Iterator<Item = &'a NodeShape> {
    let shapes = context.input.cluster.nodes.map(|nodes| nodes.shapes.as_slice()).unwrap_or_default();
    shapes.iter().filter(move |shape| shape.allocatable.get(adapter).is_some_and(|count| *count > 0))
}

/// Returns true if the pod selects nodes by more than common labels.
fn selects_nodes(context: &CheckContext<'_>) -> bool {
    let selector = context.spec("nodeSelector").and_then(Value::as_object);
    let has_selector = selector.is_some_and(|labels| labels.keys().any(|key| !COMMON_LABELS.contains(&key.as_str())));
    let required = context.spec("affinity").and_then(|affinity| {
        affinity.get("nodeAffinity")?.get("requiredDuringSchedulingIgnoredDuringExecution")?.as_object()
    });
    has_selector || required.is_some()
}

/// FP034: Node Feature Discovery found no Mellanox or NVIDIA adapter on any node with the resource.
pub(super) fn no_gpudirect(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in context.containers.iter().filter(|container| container.gpus.is_positive()) {
        let Some((adapter, _)) = container.adapters.iter().find(|(adapter, _)| rdma::is_mellanox(adapter)) else {
            continue;
        };
        let mut shapes = shapes_with(context, adapter).peekable();
        if shapes.peek().is_some() && shapes.all(|shape| shape.adapter_detected == Some(false)) {
            let message =
                format!("{}: no Mellanox or NVIDIA adapter detected on nodes with {adapter}", container.display_name());
            findings.push(container.resource_pointer(adapter), message);
        }
    }
}

/// FP041: several pods of a job, each with a part of a node, may share a node. This includes pods with one GPU. NCCL
/// identifies a node by the hostname, which differs between pods, and the boot ID (NVIDIA/nccl, `src/misc/utils.cc`,
/// `getHostHash` at 73cf112295c3, 2026-06-04).
pub(super) fn parts_of_a_node(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some(nodes) = context.input.cluster.nodes.filter(|_| context.has_several_pods() && !spreads_pods(context))
    else {
        return;
    };
    for container in context.gpu_containers() {
        let resource = container.accelerator.unwrap_or_default();
        // Of a range, and of all devices of a node, the number is not known.
        let Some(gpus) = container.gpus.exact() else { continue };
        // A node that holds two such pods is enough. The message must not disclose the size of the nodes.
        if nodes.max_allocatable(resource) >= gpus.saturating_mul(2) {
            let message =
                format!("{}: pods of the job may share a node, without NVLink between them", container.display_name());
            findings.push(container.accelerators_pointer(), message);
        }
    }
}

/// Returns true if the pod must not run beside others.
fn spreads_pods(context: &CheckContext<'_>) -> bool {
    let anti_affinity = context.spec("affinity").and_then(|affinity| {
        affinity.get("podAntiAffinity")?.get("requiredDuringSchedulingIgnoredDuringExecution")?.as_array()
    });
    anti_affinity.is_some_and(|terms| !terms.is_empty())
}
