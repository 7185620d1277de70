//! Number of devices for each accelerator, which may depend on the machines that the pod selects.

use super::machines::selected_machines;
use super::planner::{Conflict, Planner, Problem};
use crate::config::profile::{Ratio, Ratios};
use crate::fabric::{is_size, machine_devices};
use crate::gang::Creator;
use crate::hint::nearest;
use crate::workload;

/// How to fix a pod without an instance type.
const FIX_FOR_MACHINES: &str = "add a nodeSelector for node.kubernetes.io/instance-type";

/// Returns the ratio, if it is the same for all machines that the pod may run on.
pub(super) fn ratio_for_pod(planner: &Planner<'_>, name: &str, ratios: &Ratios) -> Result<Ratio, Conflict> {
    let ratios = match ratios {
        Ratios::Fixed(ratio) => return Ok(*ratio),
        Ratios::ByInstanceType(ratios) => ratios,
    };
    let machines = selected_machines(planner.pod, planner.profile);
    let Some(first) = machines.first() else {
        let problem = format!("{name} depends on the instance type");
        // In a cluster, the pod exists only after Kueue has added the labels of the flavor.
        let queue = planner.cluster.gang.creator.and_then(Creator::queue_of_templates);
        let conflict = match queue {
            Some(queue) => {
                let cause = format!("the ResourceFlavor of queue {queue} may supply node.kubernetes.io/instance-type");
                Conflict::pending(problem, cause)
            }
            None => Conflict::new(problem, format!("{FIX_FOR_MACHINES}{}", opt_out(planner))),
        };
        // The pod may select a part of it.
        return Err(conflict.at(planner.pod.machine_pointer("")));
    };
    let ratio_of = |machine: &str| {
        let family = machine.split_once('.').filter(|(_, size)| is_size(size)).map_or(machine, |(family, _)| family);
        ratios.get(machine).or_else(|| ratios.get(family)).copied()
    };
    let unknown_machine = |machine: &str| {
        let known: Vec<&str> = ratios.keys().map(String::as_str).collect();
        // A known machine is not misspelled: it has no adapters.
        let near = nearest(machine, &known).or_else(|| of_family(machine, &known));
        let (problem, fix) = unknown_machine(name, machine, near.filter(|_| machine_devices(machine).is_none()));
        Conflict::new(problem, fix).at(planner.pod.machine_pointer(machine))
    };
    let Some(ratio) = ratio_of(first) else { return Err(unknown_machine(first)) };
    match machines.iter().find(|machine| ratio_of(machine) != Some(ratio)) {
        None => Ok(ratio),
        Some(other) if ratio_of(other).is_none() => Err(unknown_machine(other)),
        Some(other) => {
            let problem = format!("{name} differs between {first} and {other}");
            Err(Conflict::new(problem, "add a nodeSelector for one of them").at(planner.pod.machine_pointer(other)))
        }
    }
}

/// Returns the other fix for a pod that is probably the only one of its workload, such as a notebook: it has no peers.
fn opt_out(planner: &Planner<'_>) -> &'static str {
    let has_peers = workload::identify(planner.pod).is_some_and(|member| member.training || member.role.is_some());
    if planner.context.snapshot.replicas == Some(1) && !has_peers {
        ", or set trainmesh.dev/fabric=none on a pod without peers"
    } else {
        ""
    }
}

/// Returns the machine in `known` of which `family` is the part before the size, if there is only one.
fn of_family<'a>(family: &str, known: &[&'a str]) -> Option<&'a str> {
    let mut found = known.iter().filter(|machine| machine.split_once('.').is_some_and(|(start, _)| start == family));
    found.next().copied().filter(|_| found.next().is_none())
}

/// Returns the problem of a machine without a ratio. `near` is a known machine with a similar name.
fn unknown_machine(name: &str, machine: &str, near: Option<&str>) -> Problem {
    let fix = match near {
        Some(near) => format!("did you mean {near}? Or add a ratio").into(),
        // The name of an instance type that exists is correct.
        None if machine_devices(machine).is_some() => "add a ratio, or set trainmesh.dev/fabric=none".into(),
        None => "correct it, add a ratio, or set trainmesh.dev/fabric=none".into(),
    };
    (format!("unknown number of {name} on {machine}"), fix)
}
