//! Suggestion of a profile for a pod that requests or claims RDMA adapters but selects none.

use std::fmt;

use super::super::RuleContext;
use super::claimed::{read_claims, suits};
use super::planner::selected_machines;
use super::target::{Targets, requests, targets};
use crate::config::Profile;
use crate::config::profile::{Amount, ResourceName};
use crate::dra::{ClaimedDevices, DeviceKind, PodClaims};
use crate::fabric::is_rdma_resource;

/// Maximum number of profiles that are named: all built-in ones for the most common adapter, `rdma/ib`.
const MAX_PROFILES: usize = 6;

/// Returns a message with the profiles that fit the adapters that the pod requests or claims, if any: they add the same
/// adapter, apply to the pod's accelerators, and are available in its namespace.
pub(super) fn suggestion(context: &RuleContext<'_>) -> Option<String> {
    if let Some((_, adapter)) = requests(context.pod).find(|(_, resource)| is_rdma_resource(resource)) {
        return describe(context, format_args!("requests {adapter}"), |profile| adds(profile, adapter));
    }
    let view = context.snapshot.cluster.claims;
    let claims = PodClaims::new(context.pod, view, |_| false);
    let mut claimed = context.pod.containers().flat_map(|container| claims.devices(container));
    let is_adapter = |devices: &ClaimedDevices<'_>| devices.kind.is_some_and(DeviceKind::is_adapter);
    let (_, devices) = claimed.find(|(_, devices)| !devices.is_admin && is_adapter(devices))?;
    describe(context, format_args!("claims {}", devices.class), |profile| suits(profile, view, devices))
}

/// Returns a message with the profiles that fit. `what` describes the pod's adapters, and `provides` returns whether a
/// profile adds them.
fn describe(
    context: &RuleContext<'_>,
    what: fmt::Arguments<'_>,
    provides: impl Fn(&Profile) -> bool,
) -> Option<String> {
    let profiles = context.snapshot.config.fabric.profiles.all();
    let fitting = profiles.into_iter().filter(|(_, entry)| provides(&entry.profile) && fits(context, &entry.profile));
    let names: Vec<&str> = fitting.map(|(name, _)| name).collect();
    let more = names.len().saturating_sub(MAX_PROFILES);
    match &*names {
        [] => None,
        [name] => Some(format!("the pod {what}: profile {name} fits")),
        [..] if more == 0 => Some(format!("the pod {what}: profiles {} fit", names.join(", "))),
        [first @ .., _] => {
            let first: Vec<&str> = first.iter().take(MAX_PROFILES).copied().collect();
            Some(format!("the pod {what}: profiles {} and {more} more fit", first.join(", ")))
        }
    }
}

fn fits(context: &RuleContext<'_>, profile: &Profile) -> bool {
    profile.allows(context.snapshot.namespace, context.snapshot.namespace_labels)
        && is_matched(context, profile)
        && selected_machines(context.pod, profile).into_iter().all(|machine| profile.matches.allows_machine(machine))
}

/// Returns true if `profile` adds `adapter` as a device.
fn adds(profile: &Profile, adapter: &str) -> bool {
    let devices = profile.resources.iter().filter(|resource| matches!(resource.amount, Amount::Devices { .. }));
    let names = devices.map(|resource| &resource.name).chain(&profile.dra.extended_resource);
    names.map(ResourceName::as_str).any(|name| name == adapter)
}

fn is_matched(context: &RuleContext<'_>, profile: &Profile) -> bool {
    matches!(targets(context, profile, &read_claims(context, profile)), Targets::Matched(_))
}
