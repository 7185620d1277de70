//! Detects user settings that conflict with a profile: devices of another fabric, or another transport.

use super::claimed::{class_devices, suits};
use super::planner::Planner;
use super::target::{requests, resource_path};
use super::{dra, machines, networks};
use crate::config::profile::Transport;
use crate::dra::DeviceKind;
use crate::fabric::is_rdma_resource;
use crate::json;
use crate::pod::Container;

pub(super) fn check(planner: &mut Planner<'_>) {
    dra::check_claims(planner);
    networks::check(planner);
    planner.conflicts.extend(machines::conflict(planner.context, planner.profile));
    check_devices(planner);
    let profile = planner.profile;
    let mut found = Vec::new();
    for target in &planner.targets {
        let container = target.container.name();
        let contradictions = Transport::DECISIVE.iter().filter_map(|name| {
            let (index, entry) = target.container.env_entry(name)?;
            let value = json::text(entry, "value")?;
            let problem = profile.transport.contradiction(name, value)?;
            Some((target.path(["env", &index.to_string()]), format!("{name}={value} in {container} {problem}")))
        });
        found.extend(contradictions);
    }
    for (pointer, problem) in found {
        planner.add_conflict_at(pointer, problem, "remove it");
    }
}

/// Reports requested devices of another fabric.
fn check_devices(planner: &mut Planner<'_>) {
    let profile = planner.profile;
    // network-resources-injector adds the devices of all networks of the pod.
    if planner.cluster.network_resources_injector && !profile.networks.multus.attach.is_empty() {
        return;
    }
    let view = planner.cluster.claims;
    let is_foreign = |(container, resource): &(Container<'_>, &str)| {
        let devices = class_devices(view, resource);
        let kind = devices.and_then(|devices| devices.kind);
        let is_adapter = is_rdma_resource(resource)
            || kind.is_some_and(|kind| kind.is_adapter() || kind == DeviceKind::Interface && profile.is_rdma());
        let is_target = planner.targets.iter().any(|target| target.container.name() == container.name());
        let is_own = profile.requests_resource(resource)
            || is_target && devices.is_some_and(|devices| suits(profile, view, &devices));
        is_adapter && !is_own
    };
    let Some((container, resource)) = requests(planner.pod).find(is_foreign) else { return };
    let profiles = planner.context.snapshot.config.fabric.profiles.all();
    let owners = profiles.into_iter().filter(|(_, entry)| entry.profile.requests_resource(resource));
    let owners: Vec<&str> = owners.map(|(name, _)| name).collect();
    let path = resource_path(container, resource);
    if class_devices(view, resource).is_some() || !owners.is_empty() {
        let problem = format!("{resource} in {} belongs to another fabric", container.name());
        let fix = match owners.as_slice() {
            [name] => format!("remove it or select {name}"),
            _ => "remove it or select that fabric".to_owned(),
        };
        planner.add_conflict_at(path, problem, fix);
    } else {
        let problem = format!("{resource} in {} is in no profile", container.name());
        planner.add_conflict_at(path, problem, "copy the profile and name it in resources");
    }
}
