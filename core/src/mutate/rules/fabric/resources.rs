//! Devices and huge pages: request and limit alike, as whole numbers. What a container asks for by itself is left.

use super::target::requests;
use super::work::{Demand, Work};
use crate::config::profile::{Amount, Quantity, Ratio, Ratios, Resource, ResourceMode};
use crate::quantity::whole_units;

/// Plans the resources; returns how many devices of the first one the pod has with them.
pub(super) fn plan(work: &mut Work<'_>) -> u64 {
    let profile = work.profile;
    // The injector adds the devices of every network that it finds in the annotation.
    let injected = work.cluster.network_resources_injector && !profile.networks.multus.attach.is_empty();
    let mut devices = None;
    for resource in profile.resources.iter().filter(|resource| !resource.opt_in) {
        match &resource.amount {
            Amount::Memory { quantity } => memory(work, resource, quantity),
            Amount::Devices { mode, count, ratio, max } => {
                let Some(wanted) = wanted(work, resource, *mode, *count, ratio, *max) else { continue };
                let name = resource.name.as_str();
                if injected {
                    work.kept(format!("{name} to network-resources-injector"));
                    devices.get_or_insert(wanted.iter().sum());
                } else {
                    let had = counted(work, name, *mode, &wanted);
                    devices.get_or_insert(had);
                }
            }
        }
    }
    if let Some(extended) = &profile.dra.extended_resource {
        let wanted: Vec<u64> = work.targets.iter().map(|target| target.gpus).collect();
        counted(work, extended.as_str(), ResourceMode::PerGpu, &wanted);
    }
    devices.unwrap_or_default()
}

/// How many devices each target is to have; `None` where that is unknown.
fn wanted(
    work: &mut Work<'_>,
    resource: &Resource,
    mode: ResourceMode,
    count: u64,
    ratio: &Ratios,
    max: Option<u64>,
) -> Option<Vec<u64>> {
    let name = resource.name.as_str();
    let cap = |devices: u64| max.map_or(devices, |max| devices.min(max));
    match mode {
        ResourceMode::PerContainer => Some(vec![cap(count); work.targets.len()]),
        ResourceMode::PerPod => {
            Some((0..work.targets.len()).map(|index| if index == 0 { cap(count) } else { 0 }).collect())
        }
        ResourceMode::PerGpu => {
            let Some(ratio) = of_machine(work, ratio) else {
                work.conflict(
                    format!("{name} depends on the machine"),
                    "add a nodeSelector for node.kubernetes.io/instance-type",
                );
                return None;
            };
            let mut found = Vec::with_capacity(work.targets.len());
            for target in &work.targets {
                let Some(devices) = ratio.of(target.gpus) else {
                    let what = format!("{ratio} {name} for each of {} accelerators is no whole number", target.gpus);
                    work.conflict(what, "ask for another number of accelerators");
                    return None;
                };
                found.push(cap(devices));
            }
            Some(found)
        }
    }
}

/// The ratio, where all machines that the pod may be placed on have the same one.
fn of_machine(work: &Work<'_>, ratios: &Ratios) -> Option<Ratio> {
    match ratios {
        Ratios::One(ratio) => Some(*ratio),
        Ratios::ByMachine(ratios) => {
            let machines = work.machines();
            let known = |machine: &str| {
                let family = machine.split_once('.').map_or(machine, |(family, _)| family);
                ratios.get(machine).or_else(|| ratios.get(family)).copied()
            };
            let first = known(machines.first()?)?;
            machines.iter().all(|machine| known(machine) == Some(first)).then_some(first)
        }
    }
}

/// Plans devices; returns how many the pod has with them.
fn counted(work: &mut Work<'_>, name: &str, mode: ResourceMode, wanted: &[u64]) -> u64 {
    let elsewhere = mode == ResourceMode::PerPod && requests(work.pod).any(|(_, asked)| asked == name);
    let (mut had, mut total, mut found) = (0_u64, 0_u64, 0_usize);
    let mut given = Vec::new();
    let mut notes = Vec::new();
    for (index, (target, wanted)) in work.targets.iter().zip(wanted).enumerate() {
        match target.asks_for(name) {
            Some(0) => notes.push(Err(format!("{name}: 0 in {}", target.container.name()))),
            Some(own) => {
                had = had.saturating_add(own);
                if own == *wanted {
                    found += 1;
                } else {
                    notes.push(Ok(format!("{name}: {own} in {}", target.container.name())));
                }
            }
            None if *wanted == 0 || elsewhere => {}
            None => {
                let text = wanted.to_string();
                for list in ["limits", "requests"] {
                    work.plan.set(target.path(["resources", list, name]), text.as_str());
                }
                had = had.saturating_add(*wanted);
                total = total.saturating_add(*wanted);
                given.push((index, *wanted));
            }
        }
    }
    for note in notes {
        match note {
            Ok(kept) => work.kept(kept),
            Err(what) => work.conflict(what, "remove it, or the label trainmesh.dev/fabric"),
        }
    }
    if found > 0 && given.is_empty() {
        work.found(format!("{name}: {had}"));
    }
    if let Some((_, count)) = given.first() {
        let indices: Vec<usize> = given.iter().map(|(index, _)| *index).collect();
        let same = given.iter().all(|(_, other)| other == count);
        let amount = if same { count.to_string() } else { format!("{total} in all") };
        let place = if mode == ResourceMode::PerPod { String::new() } else { work.of(&indices) };
        work.added(format!("{name}: {amount}{place}"));
        work.demands.push(Demand { resource: name.to_owned(), total });
    }
    had
}

/// Plans huge pages, which every container must ask for beside processors or memory.
fn memory(work: &mut Work<'_>, resource: &Resource, quantity: &Quantity) {
    let name = resource.name.as_str();
    let mut given = Vec::new();
    let mut alone = None;
    let mut kept = Vec::new();
    for (index, target) in work.targets.iter().enumerate() {
        if target.asks_for(name).is_some() {
            kept.push(format!("{name} in {}", target.container.name()));
        } else if target.asks_for("cpu").or(target.asks_for("memory")).is_none() {
            alone = Some(target.container.name());
        } else {
            for list in ["limits", "requests"] {
                work.plan.set(target.path(["resources", list, name]), quantity.as_str());
            }
            given.push(index);
        }
    }
    for what in kept {
        work.kept(what);
    }
    if let Some(container) = alone {
        work.conflict(format!("{name} needs a request of cpu or memory in {container}"), "add one");
    }
    if !given.is_empty() {
        let place = work.of(&given);
        work.added(format!("{name}: {quantity}{place}"));
        let each = whole_units(&quantity.as_str().into()).unwrap_or_default();
        let total = each.saturating_mul(u64::try_from(given.len()).unwrap_or(u64::MAX));
        work.demands.push(Demand { resource: name.to_owned(), total });
    }
}
