//! Settings of NCCL and its companions. What the user set stands, whatever its value.

use serde_json::{Value, json};

use super::route::{Route, mounted, opaque, path, routes};
use super::volumes::{Mount, is_absent, mount};
use super::work::Work;
use crate::config::profile::{Condition, Profile, Via};
use crate::fabric::conf;
use crate::keys;

/// The volume of the file that NCCL reads, and the file in it.
const CONF_VOLUME: &str = "trainmesh-nccl-conf";
const CONF_FILE: &str = "nccl.conf";

/// A setting of a profile, those of `failClosed` among them.
struct Wanted<'a> {
    name: &'a str,
    value: &'a str,
    via: Via,
    when: Option<&'a Condition>,
}

pub(super) fn plan(work: &mut Work<'_>) {
    let profile = work.profile;
    let routes = routes(work);
    let machines = work.machines();
    let mut file: Vec<(&str, &str)> = Vec::new();
    for setting in settings(work, profile) {
        let holds: Vec<bool> = work
            .targets
            .iter()
            .map(|target| setting.when.is_none_or(|when| on_all(when, target.gpus, &machines)))
            .collect();
        let in_file = setting.via == Via::Conf && belongs_into_file(work, &setting, &routes, &holds);
        if in_file {
            file.push((setting.name, setting.value));
        }
        into_environment(work, &setting, &routes, &holds, in_file);
    }
    into_file(work, &file, &routes);
}

/// What is to be set, in order.
fn settings<'a>(work: &Work<'_>, profile: &'a Profile) -> Vec<Wanted<'a>> {
    let absent: Vec<&str> = profile
        .volumes
        .config_maps
        .iter()
        .filter(|map| is_absent(work, map))
        .map(|map| map.mount_path.as_str().trim_end_matches('/'))
        .collect();
    let below =
        |value: &str| absent.iter().any(|path| value.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')));
    let mut found: Vec<Wanted<'a>> = profile
        .env
        .iter()
        .filter(|setting| !setting.opt_in && !below(setting.value.as_str()))
        .map(|setting| Wanted {
            name: setting.name.as_str(),
            value: setting.value.as_str(),
            via: setting.via,
            when: setting.when.as_ref(),
        })
        .collect();
    let mut fatal = |name: &'static str, value: &'a str| {
        if !found.iter().any(|setting| setting.name == name) {
            found.push(Wanted { name, value, via: Via::Conf, when: None });
        }
    };
    if let Some(net) = &profile.fail_closed.nccl_net {
        fatal("NCCL_NET", net);
    }
    if profile.fail_closed.net_mismatch_fatal {
        fatal("NCCL_IGNORE_NET_MISMATCH", "0");
    }
    found
}

/// Whether a condition holds wherever the pod may be placed.
fn on_all(when: &Condition, gpus: u64, machines: &[&str]) -> bool {
    match machines {
        [] => when.holds(gpus, None),
        machines => machines.iter().all(|machine| when.holds(gpus, Some(machine))),
    }
}

/// Whether a setting stands in the file, of which a pod has one: where it is meant for all containers with the file, and
/// not every one of them says something else in its environment.
fn belongs_into_file(work: &Work<'_>, setting: &Wanted<'_>, routes: &[Route], holds: &[bool]) -> bool {
    let mut wanted = false;
    let with_file = work.targets.iter().zip(routes).zip(holds).filter(|((_, route), _)| route.file());
    for ((target, _), holds) in with_file {
        if !holds {
            return false;
        }
        let own = target.env(setting.name);
        wanted |= own.is_none_or(|own| own.get("value").and_then(Value::as_str) == Some(setting.value));
    }
    wanted
}

/// Plans the setting for the containers that get it by their environment.
fn into_environment(work: &mut Work<'_>, setting: &Wanted<'_>, routes: &[Route], holds: &[bool], in_file: bool) {
    let mut given = Vec::new();
    let mut own = Vec::new();
    let mut unseen = Vec::new();
    let mut equal = Vec::new();
    for (index, (target, route)) in work.targets.iter().zip(routes).enumerate() {
        if !holds.get(index).is_some_and(|holds| *holds) {
            continue;
        }
        if let Some(found) = target.env(setting.name) {
            let same = found.get("value").and_then(Value::as_str) == Some(setting.value);
            if same {
                equal.push(index);
            } else {
                own.push(index);
            }
            continue;
        }
        let by_environment = match setting.via {
            Via::Env => true,
            Via::Conf => route.env() || (route.file() && !in_file),
        };
        match (by_environment, setting.via, route) {
            (_, Via::Conf, Route::Closed) => unseen.push(index),
            (true, ..) if opaque(target) => unseen.push(index),
            (true, ..) => given.push(index),
            (false, ..) => {}
        }
    }
    if !given.is_empty() {
        work.append(&given, ["env"], json!({"name": setting.name, "value": setting.value}));
        let place = work.of(&given);
        work.added(format!("{}={}{place}", setting.name, setting.value));
    }
    if !equal.is_empty() {
        let place = work.of(&equal);
        work.found(format!("{}={}{place}", setting.name, setting.value));
    }
    if !own.is_empty() {
        let place = work.of(&own);
        work.kept(format!("{}{place}, which the pod sets itself", setting.name));
    }
    if !unseen.is_empty() {
        let place = work.of(&unseen);
        work.kept(format!("{}{place} to what envFrom or the pod's own file says", setting.name));
    }
}

/// Plans the file: an annotation of the pod, which the kubelet mounts.
fn into_file(work: &mut Work<'_>, file: &[(&str, &str)], routes: &[Route]) {
    if file.is_empty() {
        return;
    }
    let text = conf::render(file.iter().copied());
    if work.pod.annotation(keys::NCCL_CONF) == Some(&text) {
        work.found("the file of NCCL");
    } else {
        // The key is ours: one that came with a copied template says nothing of this pod.
        work.plan.set_annotation(keys::NCCL_CONF, text);
        for (name, value) in file {
            work.added(format!("{name}={value} in the file of NCCL"));
        }
    }
    let source = json!({"downwardAPI": {"items": [{
        "path": CONF_FILE,
        "fieldRef": {"fieldPath": conf::field_path()},
    }]}});
    let missing: Vec<(usize, &str)> = work
        .targets
        .iter()
        .enumerate()
        .zip(routes)
        .filter(|((_, target), route)| route.file() && !mounted(work, target))
        .map(|((index, target), _)| (index, path(work, target)))
        .collect();
    if missing.is_empty() {
        return;
    }
    let mut paths: Vec<&str> = missing.iter().map(|(_, path)| *path).collect();
    paths.sort_unstable();
    paths.dedup();
    let targets: Vec<usize> = missing.iter().map(|(index, _)| *index).collect();
    let place = work.of(&targets);
    work.added(format!("{}{place}", paths.join(", ")));
    mount(work, &missing, Mount { volume: CONF_VOLUME, source, sub_path: Some(CONF_FILE), read_only: true });
}
