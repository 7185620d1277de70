//! Machines that a pod is restricted to, and whether a profile is for them.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::claims::read_claims;
use super::planner::Conflict;
use super::target::{Targets, targets};
use crate::config::Profile;
use crate::config::profile::MachinePattern;
use crate::fabric::misspelled_pattern;
use crate::keys;
use crate::mutate::rules::RuleContext;
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
/// names, so that the profile must be for the same platform.
fn suitable<'a>(context: &RuleContext<'a>, profile: &Profile, machine: &str) -> Option<&'a Profile> {
    let snapshot = context.snapshot;
    let profiles = snapshot.config.fabric.profiles.all();
    let platform = platform_of(context.pod);
    let candidates = profiles.into_iter().filter(|(name, entry)| {
        let other = &entry.profile;
        let matches = &other.matches;
        !matches.machines.is_empty()
            && matches.allows_machine(machine)
            && matches.gpu_resources == profile.matches.gpu_resources
            && other.allows(snapshot.namespace, snapshot.namespace_labels)
            && !(context.pod.host_network() && other.attaches_networks())
            && match platform {
                // The names of built-in profiles start with the platform.
                Some(platform) if !snapshot.config.fabric.profiles.is_custom(name) => first_word(name) == platform,
                _ => other.shares_devices(profile) || first_word(name) == first_word(profile.name.as_str()),
            }
    });
    // The names of profiles for the same platform and kind of network start with the same words. The shortest of them is the
    // one without additional requirements, such as a plugin in the image.
    let rank = |other: &&Profile| {
        let name = other.name.as_str();
        let words = name.split('-').zip(profile.name.as_str().split('-'));
        (other.shares_devices(profile), words.take_while(|(one, other)| one == other).count(), Reverse(name.len()))
    };
    candidates.map(|(_, entry)| &entry.profile).max_by_key(rank)
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
    let mut known = profile.matches.machines.iter().map(MachinePattern::as_str);
    let fix = match (known.find(|known| known.eq_ignore_ascii_case(machine)), suitable) {
        (Some(known), _) => format!("did you mean {known}?"),
        (None, Some(other)) => format!("select {}", other.name),
        // No profile is for a machine of this name.
        (None, None) => {
            let near = misspelled_pattern(machine, &profile.matches.machines);
            let near = near.map(|near| format!("did you mean {near}? Or ")).unwrap_or_default();
            format!("{near}select another fabric, or configure a profile for it (examples/fabric has more)")
        }
    };
    Conflict::new(format!("the profile is not for {machine}"), fix).at(pod.machine_pointer(machine))
}
