//! Settings of NCCL and related libraries. Values that the user sets are always kept.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::machines::{note_omitted_settings, selected_machines};
use super::planner::Planner;
use super::route::{Route, conf_path, has_conf_mount, has_env_from, routes};
use super::target::{TargetContainer, Uncertainty};
use super::volumes::{Mount, is_absent, plan_mount};
use crate::config::profile::{Condition, DeliveryChannel, Profile, ResourceName};
use crate::fabric::conf;
use crate::fabric::nccl::{DeviceList, ValueKind, takes_plain_interfaces, variable};
use crate::keys;

/// Name of the volume with the NCCL configuration file.
const CONF_VOLUME: &str = "trainmesh-nccl-conf";
/// Name of the file in the volume.
const CONF_FILE: &str = "nccl.conf";

/// A setting of a profile, including those that `failClosed` implies.
struct Setting<'a> {
    name: &'a str,
    value: &'a str,
    via: DeliveryChannel,
    when: Option<&'a Condition>,
}

pub(super) fn plan(planner: &mut Planner<'_>) {
    let profile = planner.profile;
    let routes = routes(planner);
    let machines = selected_machines(planner.pod, planner.profile);
    let mut file: Vec<(&str, &str)> = Vec::new();
    for setting in settings(planner, profile) {
        let condition = |target| setting.when.map_or(Some(true), |when| applies_to(when, target, &machines));
        let applies: Option<Vec<bool>> = planner.targets.iter().map(condition).collect();
        let Some(mut applies) = applies else {
            depends_on_count(planner, setting.name);
            continue;
        };
        if setting.selects_interfaces() {
            leave_out_on_host_network(planner, &setting, &mut applies);
        }
        let in_file = setting.via == DeliveryChannel::Conf && belongs_in_file(planner, &setting, &routes, &applies);
        if in_file {
            file.push((setting.name, setting.value));
        }
        plan_env(planner, &setting, &routes, &applies, in_file);
    }
    note_omitted_settings(planner);
    note_suggested_settings(planner);
    plan_file(planner, &file, &routes);
}

/// Notes the settings that the profile only suggests, for the containers that lack them.
fn note_suggested_settings(planner: &mut Planner<'_>) {
    let profile = planner.profile;
    for setting in profile.env.iter().filter(|setting| setting.opt_in && setting.when.is_none()) {
        let name = setting.name.as_str();
        let targets = planner.targets.iter().enumerate();
        let missing: Vec<usize> =
            targets.filter(|(_, target)| target.env(name).is_none()).map(|(index, _)| index).collect();
        if !missing.is_empty() {
            let suffix = planner.container_suffix(&missing);
            planner.note_skipped(format!("{name}{suffix}: the profile only suggests it"));
        }
    }
}

impl Setting<'_> {
    /// Returns true if the value names interfaces that the process must use. A list of excluded interfaces also holds in other
    /// networks.
    fn selects_interfaces(&self) -> bool {
        let is_list = takes_plain_interfaces(self.name)
            || variable(self.name).is_some_and(|variable| variable.kind == ValueKind::Interfaces);
        is_list && !DeviceList::parse(self.value).excludes
    }
}

/// Leaves out a setting that names interfaces if the pod itself selects the network of the node, in which interfaces have
/// other names: NCCL fails with `no socket interface found`. A profile that sets hostNetwork names those of the node.
fn leave_out_on_host_network(planner: &mut Planner<'_>, setting: &Setting<'_>, applies: &mut [bool]) {
    if !planner.pod.host_network() || planner.profile.pod.host_network {
        return;
    }
    let mut left_out = Vec::new();
    for (index, (target, applies)) in planner.targets.iter().zip(applies).enumerate() {
        if *applies && target.env(setting.name).is_none() {
            *applies = false;
            left_out.push(index);
        }
    }
    if !left_out.is_empty() {
        let suffix = planner.container_suffix(&left_out);
        planner.note_skipped(format!("{}{suffix}: interfaces have other names with hostNetwork", setting.name));
    }
}

/// Returns the settings of the profile, in order. Settings that refer to an absent `ConfigMap` are left out.
fn settings<'a>(planner: &Planner<'_>, profile: &'a Profile) -> Vec<Setting<'a>> {
    let absent: Vec<&str> = profile
        .volumes
        .config_maps
        .iter()
        .filter(|map| is_absent(planner, map))
        .map(|map| map.mount_path.as_str().trim_end_matches('/'))
        .collect();
    let refers_to_absent =
        |value: &str| absent.iter().any(|path| value.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')));
    let mut settings: Vec<Setting<'a>> = profile
        .env
        .iter()
        .filter(|setting| !setting.opt_in && !refers_to_absent(setting.value.as_str()))
        .map(|setting| Setting {
            name: setting.name.as_str(),
            value: setting.value.as_str(),
            via: setting.via,
            when: setting.when.as_ref(),
        })
        .collect();
    let mut add_if_absent = |name: &'static str, value: &'a str| {
        if !settings.iter().any(|setting| setting.name == name) {
            settings.push(Setting { name, value, via: DeliveryChannel::Conf, when: None });
        }
    };
    if let Some(net) = &profile.fail_closed.nccl_net {
        add_if_absent("NCCL_NET", net);
    }
    if profile.fail_closed.net_mismatch_fatal {
        add_if_absent("NCCL_IGNORE_NET_MISMATCH", "0");
    }
    settings
}

/// Returns true if a condition holds for a container, on every machine that the pod may run on. `None` if that depends
/// on the number of accelerators and this is not known.
fn applies_to(when: &Condition, target: &TargetContainer<'_>, machines: &[Cow<'_, str>]) -> Option<bool> {
    let requests = |resource: &ResourceName| target.requested(resource.as_str()).is_some();
    if when.without_resource.as_ref().is_some_and(requests) {
        return Some(false);
    }
    let mut holds = when.matches(target.gpus, machines.first().map(AsRef::as_ref));
    for machine in machines.iter().skip(1) {
        let other = when.matches(target.gpus, Some(machine));
        holds = if holds == Some(false) || other == Some(false) { Some(false) } else { holds.and(other) };
    }
    holds
}

/// Reports a setting whose condition depends on a number of accelerators that is not known.
fn depends_on_count(planner: &mut Planner<'_>, name: &str) {
    let cause = planner.targets.iter().find_map(|target| target.uncertainty.as_ref());
    if let Some(Uncertainty { problem, fix }) = cause.cloned() {
        planner.add_conflict(format!("{name} depends on the number of accelerators, and {problem}"), fix);
    }
}

/// Returns true if the configuration file, which all containers of a pod share, must contain a setting. The setting
/// must apply to every container with the file, and at least one of them must not override it in its environment.
fn belongs_in_file(planner: &Planner<'_>, setting: &Setting<'_>, routes: &[Route], applies: &[bool]) -> bool {
    let mut is_needed = false;
    let with_file = planner.targets.iter().zip(routes).zip(applies).filter(|((_, route), _)| route.uses_file());
    for ((target, _), applies) in with_file {
        if !applies {
            return false;
        }
        let own = target.env(setting.name);
        is_needed |= own.is_none_or(|own| own.get("value").and_then(Value::as_str) == Some(setting.value));
    }
    is_needed
}

/// Plans the setting for the containers that get it from their environment.
fn plan_env(planner: &mut Planner<'_>, setting: &Setting<'_>, routes: &[Route], applies: &[bool], in_file: bool) {
    let mut missing = Vec::new();
    let mut set_by_user = Vec::new();
    let mut blocked = Vec::new();
    let mut equal = Vec::new();
    for (index, (target, route)) in planner.targets.iter().zip(routes).enumerate() {
        if !applies.get(index).is_some_and(|applies| *applies) {
            continue;
        }
        if let Some(found) = target.env(setting.name) {
            let is_equal = found.get("value").and_then(Value::as_str) == Some(setting.value);
            if is_equal {
                equal.push(index);
            } else {
                set_by_user.push(index);
            }
            continue;
        }
        let uses_env = match setting.via {
            DeliveryChannel::Env => true,
            DeliveryChannel::Conf => route.uses_env() || (route.uses_file() && !in_file),
        };
        match (uses_env, setting.via, route) {
            (_, DeliveryChannel::Conf, Route::Blocked) => blocked.push(index),
            (true, ..) if has_env_from(target) => blocked.push(index),
            (true, ..) => missing.push(index),
            (false, ..) => {}
        }
    }
    if !missing.is_empty() {
        planner.append(&missing, ["env"], json!({"name": setting.name, "value": setting.value}));
        let suffix = planner.container_suffix(&missing);
        planner.note_added(format!("{}={}{suffix}", setting.name, quoted(setting.value)));
    }
    if !equal.is_empty() {
        let suffix = planner.container_suffix(&equal);
        planner.note_found(format!("{}={}{suffix}", setting.name, quoted(setting.value)));
    }
    if !set_by_user.is_empty() {
        let suffix = planner.container_suffix(&set_by_user);
        planner.note_kept(format!("{}{suffix}: set by the pod", setting.name));
    }
    if !blocked.is_empty() {
        let suffix = planner.container_suffix(&blocked);
        planner
            .note_skipped(format!("{}{suffix}: envFrom or a configuration file of the pod may set it", setting.name));
    }
}

/// Plans the configuration file: an annotation of the pod, which the kubelet mounts.
fn plan_file(planner: &mut Planner<'_>, file: &[(&str, &str)], routes: &[Route]) {
    if file.is_empty() {
        return;
    }
    let text = conf::render(file.iter().copied());
    if planner.pod.annotation(keys::NCCL_CONF) == Some(&text) {
        planner.note_found("the NCCL configuration file");
    } else {
        // Only trainmesh writes the annotation. A different value comes from a copied template and is overwritten.
        planner.plan.set_annotation(keys::NCCL_CONF, text);
        for (name, value) in file {
            planner.note_added(format!("{name}={} in the NCCL configuration file", quoted(value)));
        }
    }
    let source = json!({"downwardAPI": {"items": [{
        "path": CONF_FILE,
        "fieldRef": {"fieldPath": conf::field_path()},
    }]}});
    let missing: Vec<(usize, &str)> = planner
        .targets
        .iter()
        .enumerate()
        .zip(routes)
        .filter(|((_, target), route)| route.uses_file() && !has_conf_mount(planner, target))
        .map(|((index, target), _)| (index, conf_path(planner, target)))
        .collect();
    if missing.is_empty() {
        return;
    }
    let mut paths: Vec<&str> = missing.iter().map(|(_, path)| *path).collect();
    paths.sort_unstable();
    paths.dedup();
    let targets: Vec<usize> = missing.iter().map(|(index, _)| *index).collect();
    let suffix = planner.container_suffix(&targets);
    planner.note_added(format!("{}{suffix}", paths.join(", ")));
    plan_mount(planner, &missing, Mount { volume: CONF_VOLUME, source, sub_path: Some(CONF_FILE), read_only: true });
}

/// Quotes a value that starts with an operator of NCCL: `NCCL_SOCKET_IFNAME="=eth0"`.
fn quoted(value: &str) -> Cow<'_, str> {
    if value.starts_with(['=', '^']) { format!("\"{value}\"").into() } else { value.into() }
}
