//! Devices and huge pages. Requests equal limits; devices are whole numbers. The plan keeps amounts that a container
//! already requests.

use super::claimed::{provided_adapters, shared_accelerators};
use super::machines::allows_machines;
use super::planner::{Conflict, Planner, Problem, ResourceDemand};
use super::ratio::ratio_for_pod;
use super::target::{TargetContainer, Uncertainty, requests, resource_path};
use crate::config::profile::{Amount, Quantity, Ratio, Ratios, Resource, ResourceMode};
use crate::quantity::whole_units;

/// Plans the resources. Returns the number of devices that the patched pod has of the first resource.
pub(super) fn plan(planner: &mut Planner<'_>) -> u64 {
    let profile = planner.profile;
    // network-resources-injector adds the devices of every network in the annotation.
    let injected = planner.cluster.network_resources_injector && !profile.networks.multus.attach.is_empty();
    let mut devices = None;
    for resource in profile.resources.iter().filter(|resource| !resource.opt_in) {
        match &resource.amount {
            Amount::Memory { quantity } => plan_huge_pages(planner, resource, quantity),
            Amount::Devices { mode, count, ratio, max } => {
                let Some(counts) = device_counts(planner, resource, *mode, *count, ratio, *max) else { continue };
                let name = resource.name.as_str();
                if injected {
                    planner.note_skipped(format!("{name}: network-resources-injector adds it"));
                    devices.get_or_insert(counts.iter().sum());
                } else {
                    let in_pod = plan_devices(planner, name, *mode, &counts);
                    devices.get_or_insert(in_pod);
                }
            }
        }
    }
    if let Some(extended) = &profile.dra.extended_resource
        && let Some(counts) = per_gpu(planner, extended.as_str(), |_, gpus| Ok(gpus))
    {
        plan_devices(planner, extended.as_str(), ResourceMode::PerGpu, &counts);
    }
    devices.unwrap_or_default()
}

/// Returns the number of devices for each target. Adds a conflict and returns `None` if it cannot be determined.
fn device_counts(
    planner: &mut Planner<'_>,
    resource: &Resource,
    mode: ResourceMode,
    count: u64,
    ratios: &Ratios,
    max: Option<u64>,
) -> Option<Vec<u64>> {
    let name = resource.name.as_str();
    let cap = |devices: u64| max.map_or(devices, |max| devices.min(max));
    match mode {
        ResourceMode::PerContainer => Some(vec![cap(count); planner.targets.len()]),
        ResourceMode::PerPod => {
            Some((0..planner.targets.len()).map(|index| if index == 0 { cap(count) } else { 0 }).collect())
        }
        ResourceMode::PerGpu => {
            let ratio = ratio_for_pod(planner, name, ratios);
            // The machine is a conflict of its own.
            if ratio.is_err() && !allows_machines(planner.pod, planner.profile) {
                return None;
            }
            per_gpu(planner, name, |target, gpus| {
                let ratio = ratio.clone()?;
                ratio.devices_for(gpus).map(cap).ok_or_else(|| of_accelerators(target, not_whole(ratio, name, gpus)))
            })
        }
    }
}

/// Returns the number of devices called `name` for each target, computed from its number of accelerators. Adds a conflict
/// and returns `None` if it cannot be determined.
fn per_gpu(
    planner: &mut Planner<'_>,
    name: &str,
    devices_for: impl Fn(&TargetContainer<'_>, u64) -> Result<u64, Conflict>,
) -> Option<Vec<u64>> {
    let count = |(index, target): (usize, &TargetContainer<'_>)| {
        let gpus = match (&target.uncertainty, target.gpus.exact()) {
            (None, Some(gpus)) => Ok(gpus),
            (uncertainty, _) => Err(unknown_accelerators(name, &uncertainty.clone().unwrap_or_default())),
        };
        let gpus = gpus.and_then(|gpus| shared_accelerators(planner, index).map_or(Ok(gpus), Err));
        let gpus = gpus.map_err(|problem| of_accelerators(target, problem));
        let devices = gpus.and_then(|gpus| devices_for(target, gpus));
        // The number is only required where devices are added.
        let provided = || target.requested(name).or_else(|| Some(provided_adapters(planner, target)?.count));
        devices.or_else(|problem| provided().ok_or(problem))
    };
    match planner.targets.iter().enumerate().map(count).collect() {
        Ok(counts) => Some(counts),
        Err(conflict) => {
            planner.conflicts.push(conflict);
            None
        }
    }
}

/// Returns the conflict with the number of accelerators of `target`, which it requests or claims.
fn of_accelerators(target: &TargetContainer<'_>, (problem, fix): Problem) -> Conflict {
    Conflict::new(problem, fix).at(Some(target.path(["resources"]).to_string()))
}

fn unknown_accelerators(name: &str, cause: &Uncertainty) -> Problem {
    (format!("{name} depends on the number of accelerators, and {}", cause.problem), cause.fix.into())
}

fn not_whole(ratio: Ratio, name: &str, gpus: u64) -> Problem {
    (format!("{ratio} {name} for each of {gpus} accelerators is not a whole number"), "request another number".into())
}

/// Plans `counts` devices, one count for each target. Returns the number of devices that the patched pod has.
fn plan_devices(planner: &mut Planner<'_>, name: &str, mode: ResourceMode, counts: &[u64]) -> u64 {
    let requested_in_pod = mode == ResourceMode::PerPod && requests(planner.pod).any(|(_, resource)| resource == name);
    let (mut in_pod, mut added, mut equal) = (0_u64, 0_u64, 0_usize);
    let mut missing = Vec::new();
    let mut kept = Vec::new();
    let mut declined = Vec::new();
    let mut claimed = Vec::new();
    for (index, (target, count)) in planner.targets.iter().zip(counts).enumerate() {
        let requested = target.requested(name);
        if let Some(adapters) = provided_adapters(planner, target).filter(|_| requested.is_none()) {
            in_pod = in_pod.saturating_add(adapters.count);
            claimed.push(adapters.text);
            continue;
        }
        match requested {
            Some(0) => declined.push(target.container),
            Some(own) => {
                in_pod = in_pod.saturating_add(own);
                if own == *count {
                    equal += 1;
                } else {
                    kept.push(format!("{name}: {own} in {}", target.container.name()));
                }
            }
            None if *count == 0 || requested_in_pod => {}
            None => {
                let text = count.to_string();
                for list in ["limits", "requests"] {
                    planner.plan.set(target.path(["resources", list, name]), text.as_str());
                }
                in_pod = in_pod.saturating_add(*count);
                added = added.saturating_add(*count);
                missing.push((index, *count));
            }
        }
    }
    for part in kept {
        planner.note_kept(part);
    }
    for container in declined {
        let problem = format!("{} requests 0 {name}", container.name());
        let fix = "remove the request or the label trainmesh.dev/fabric";
        planner.add_conflict_at(resource_path(container, name), problem, fix);
    }
    for adapters in claimed {
        planner.note_found(adapters);
    }
    if equal > 0 && missing.is_empty() {
        planner.note_found(format!("{name}: {in_pod}"));
    }
    if let Some((_, count)) = missing.first() {
        let indices: Vec<usize> = missing.iter().map(|(index, _)| *index).collect();
        let is_same = missing.iter().all(|(_, other)| other == count);
        let amount = if is_same { count.to_string() } else { format!("{added} in total") };
        let suffix = if mode == ResourceMode::PerPod { String::new() } else { planner.container_suffix(&indices) };
        planner.note_added(format!("{name}: {amount}{suffix}"));
        planner.demands.push(ResourceDemand { resource: name.to_owned(), total: added });
    }
    in_pod
}

/// Plans huge pages. The apiserver requires that a container with huge pages also requests cpu or memory.
fn plan_huge_pages(planner: &mut Planner<'_>, resource: &Resource, quantity: &Quantity) {
    let name = resource.name.as_str();
    let mut missing = Vec::new();
    let mut without_request = None;
    let mut kept = Vec::new();
    for (index, target) in planner.targets.iter().enumerate() {
        if target.requested(name).is_some() {
            kept.push(format!("{name} in {}", target.container.name()));
        } else if target.requested("cpu").or(target.requested("memory")).is_none() {
            without_request = Some((target.path(["resources"]), target.container.name()));
        } else {
            for list in ["limits", "requests"] {
                planner.plan.set(target.path(["resources", list, name]), quantity.as_str());
            }
            missing.push(index);
        }
    }
    for part in kept {
        planner.note_kept(part);
    }
    if let Some((path, container)) = without_request {
        planner.add_conflict_at(path, format!("{name} requires a cpu or memory request in {container}"), "add one");
    }
    if !missing.is_empty() {
        let suffix = planner.container_suffix(&missing);
        planner.note_added(format!("{name}: {quantity}{suffix}"));
        let each = whole_units(&quantity.as_str().into()).unwrap_or_default();
        let total = each.saturating_mul(u64::try_from(missing.len()).unwrap_or(u64::MAX));
        planner.demands.push(ResourceDemand { resource: name.to_owned(), total });
    }
}
