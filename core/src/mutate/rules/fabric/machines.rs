//! Machines that a pod is restricted to, and whether a profile is for them.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::claims::read_claims;
use super::planner::{Conflict, Planner};
use super::target::{TargetContainer, Targets, targets};
use crate::config::profile::MachinePattern;
use crate::config::{Profile, Profiles, example_for_machine};
use crate::fabric::{machine_of_same_letters, misspelled_pattern};
use crate::keys;
use crate::mutate::rules::RuleContext;
use crate::names::join_names;
use crate::pod::Pod;
use crate::pod::machines::without_prefix;

/// Node labels that only one platform has, and the first word of the names of its profiles.
const PLATFORMS: [(&str, &str); 4] = [
    ("cloud.google.com/gke-accelerator", "gke"),
    ("node.coreweave.cloud/type", "coreweave"),
    (keys::KARPENTER_MACHINE[0], "eks"),
    (keys::KARPENTER_MACHINE[1], "eks"),
];

/// Returns the machines that `pod` is restricted to, by itself or by `profile`. Empty if it may run on any.
pub(super) fn selected_machines<'a>(pod: Pod<'a>, profile: &'a Profile) -> Vec<Cow<'a, str>> {
    let own = pod.selected_machines();
    if !own.is_empty() {
        return own;
    }
    let from_profile = profile.pod.node_selector.iter().find(|(key, _)| keys::MACHINES.contains(&key.as_str()));
    from_profile.map(|(_, value)| Cow::Borrowed(without_prefix(value.as_str()))).into_iter().collect()
}

/// Notes the settings of the profile for machines, if the pod selects none.
pub(super) fn note_omitted_settings(planner: &mut Planner<'_>) {
    if !selected_machines(planner.pod, planner.profile).is_empty() {
        return;
    }
    let (mut names, mut machines): (BTreeSet<&str>, BTreeSet<&str>) = (BTreeSet::new(), BTreeSet::new());
    for setting in planner.profile.env.iter().filter(|setting| !setting.opt_in) {
        let Some(when) = &setting.when else { continue };
        let lacks = |target: &TargetContainer<'_>| {
            when.may_match_on_machine(target.gpus) && target.env(setting.name.as_str()).is_none()
        };
        if planner.targets.iter().any(lacks) {
            names.insert(setting.name.as_str());
            machines.extend(when.sku.iter().map(MachinePattern::as_str));
        }
    }
    if !names.is_empty() {
        let (names, machines) = (join_names(names), join_names(machines));
        planner.note_skipped(format!("{names}: for {machines}, but the pod selects no instance type"));
    }
}

/// Returns true if `profile` is for all machines that `pod` is restricted to.
pub(super) fn allows_machines(pod: Pod<'_>, profile: &Profile) -> bool {
    unsupported(pod, profile).is_none()
}

/// Returns the conflict if the pod selects a machine that `profile` is not for.
pub(super) fn conflict(context: &RuleContext<'_>, profile: &Profile) -> Option<Conflict> {
    let machine = unsupported(context.pod, profile)?;
    Some(describe(context.pod, profile, &machine, suitable(context, profile, &machine)))
}

/// Returns the conflict of a pod with fewer accelerators than `profile` requires, if it selects a machine that the profile is not
/// for. Returns `None` if the profile for that machine requires more accelerators, too.
pub(super) fn conflict_of_small_pod(context: &RuleContext<'_>, profile: &Profile) -> Option<Conflict> {
    let machine = unsupported(context.pod, profile)?;
    let suitable = suitable(context, profile, &machine);
    let requires_more =
        |other: &Profile| matches!(targets(context, other, &read_claims(context, other)), Targets::TooFew);
    (!suitable.is_some_and(requires_more)).then(|| describe(context.pod, profile, &machine, suitable))
}

/// Returns the first machine that `pod` selects and `profile` is not for.
fn unsupported<'a>(pod: Pod<'a>, profile: &'a Profile) -> Option<Cow<'a, str>> {
    selected_machines(pod, profile).into_iter().find(|machine| !profile.matches.allows_machine(machine))
}

/// Returns the profile for `machine` that is most similar to `profile` and that the pod can use. Providers give machines similar
/// names, so that the profile must be for the same platform, or the only one that names exactly this machine.
fn suitable<'a>(context: &RuleContext<'a>, profile: &Profile, machine: &str) -> Option<&'a Profile> {
    let snapshot = context.snapshot;
    let profiles = &snapshot.config.fabric.profiles;
    let platform = platform_of(context.pod);
    let usable = profiles.all().into_values().map(|entry| &entry.profile).filter(|other| {
        let name = other.name.as_str();
        other.matches.gpu_resources == profile.matches.gpu_resources
            && other.matches.allows_machine(machine)
            && other.allows(snapshot.namespace, snapshot.namespace_labels)
            && !(context.pod.host_network() && other.attaches_networks())
            // The names of built-in profiles start with the platform.
            && platform.is_none_or(|platform| profiles.is_custom(name) || first_word(name) == platform)
    });
    let usable: Vec<&Profile> = usable.collect();
    let is_similar = |other: &&Profile| {
        let name = other.name.as_str();
        let is_of_platform = platform.is_some() && !profiles.is_custom(name);
        let has_same_start = first_word(name) == first_word(profile.name.as_str());
        !other.matches.machines.is_empty() && (is_of_platform || other.shares_devices(profile) || has_same_start)
    };
    // The names of profiles for the same platform and kind of network start with the same words. The shortest of them is the
    // one without additional requirements, such as a plugin in the image.
    let rank = |other: &&Profile| {
        let name = other.name.as_str();
        let words = name.split('-').zip(profile.name.as_str().split('-'));
        let allows_all = allows_machines(context.pod, other);
        let common = words.take_while(|(one, other)| one == other).count();
        (other.shares_devices(profile), allows_all, common, Reverse(name.len()))
    };
    let similar = usable.iter().copied().filter(is_similar).max_by_key(rank);
    similar.or_else(|| only_one_named(profiles, usable.into_iter().filter(|other| other.names_machine(machine))))
}

/// Returns the profile in `named`, whose profiles are for the same machine, of which all others are variants: their names start with
/// its name. Profiles of the configuration take precedence.
fn only_one_named<'a>(profiles: &Profiles, named: impl Iterator<Item = &'a Profile>) -> Option<&'a Profile> {
    let (custom, builtin): (Vec<_>, Vec<_>) = named.partition(|profile| profiles.is_custom(profile.name.as_str()));
    let named = if custom.is_empty() { builtin } else { custom };
    let name = |profile: &&'a Profile| profile.name.as_str();
    let shortest = named.iter().copied().min_by_key(|profile| name(profile).len())?;
    named.iter().all(|profile| name(profile).starts_with(name(&shortest))).then_some(shortest)
}

/// Returns the platform whose own node label selects the pod's machine, as the first word of the names of its profiles.
fn platform_of(pod: Pod<'_>) -> Option<&'static str> {
    PLATFORMS.into_iter().find(|(label, _)| pod.selects_by(label)).map(|(_, platform)| platform)
}

/// Returns the first word of the name of a profile.
fn first_word(name: &str) -> &str {
    name.split('-').next().unwrap_or(name)
}

fn describe(pod: Pod<'_>, profile: &Profile, machine: &str, suitable: Option<&Profile>) -> Conflict {
    // Other differences may be those between two machines.
    let fix = match (machine_of_same_letters(machine, &profile.matches.machines), suitable) {
        (Some(known), _) => format!("did you mean {known}?"),
        // The other profile is not for one of the machines either, and would name this one.
        (None, Some(other)) if !allows_machines(pod, other) => {
            "the pod may run on several machines: select those of one profile".to_owned()
        }
        (None, Some(other)) => format!("select {}", other.name),
        // No profile is for a machine of this name.
        (None, None) => {
            let near = misspelled_pattern(machine, &profile.matches.machines);
            match (near, example_for_machine(machine)) {
                (None, Some(example)) => {
                    format!("select another fabric, or configure the example for it: examples/fabric/{example}.yaml")
                }
                (near, _) => {
                    let near = near.map(|near| format!("did you mean {near}? Or ")).unwrap_or_default();
                    format!("{near}select another fabric, or configure a profile for it (examples/fabric has more)")
                }
            }
        }
    };
    Conflict::new(format!("the profile is not for {machine}"), fix).at(pod.machine_pointer(machine))
}
