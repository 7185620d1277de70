//! Suggestion of a profile for a pod that requests or claims RDMA adapters but selects none.

use std::fmt;

use super::super::RuleContext;
use super::claimed::{class_devices, suits};
use super::claims::read_claims;
use super::machines::allows_machines;
use super::target::{TargetContainer, Targets, requests, targets};
use crate::config::Profile;
use crate::config::profile::{Amount, Ratios, Resource, ResourceMode, ResourceName};
use crate::dra::{ClaimView, ClaimedDevices, DeviceKind, PodClaims};
use crate::fabric::is_rdma_resource;

/// Maximum number of profiles that are named: all built-in ones for the most common adapter, `rdma/ib`.
const MAX_PROFILES: usize = 6;

/// A profile that is available to a pod, and the containers that it applies to.
struct Candidate<'a> {
    name: &'a str,
    profile: &'a Profile,
    targets: Vec<TargetContainer<'a>>,
}

/// Returns a message with the profiles that fit the adapters that the pod requests or claims, if any: they add the same
/// adapter, apply to the pod's accelerators, and are available in its namespace.
pub(super) fn suggestion(context: &RuleContext<'_>) -> Option<String> {
    let view = context.snapshot.cluster.claims;
    let is_class_of_adapters = |name: &str| view.kind_of_resource(name).is_some_and(DeviceKind::is_adapter);
    let is_adapter = |name: &str| is_rdma_resource(name) || is_class_of_adapters(name);
    if let Some((_, adapter)) = requests(context.pod).find(|(_, resource)| is_adapter(resource)) {
        let providers = candidates(context).filter(|candidate| is_provider(candidate, view, adapter));
        let (with_amount, others): (Vec<_>, Vec<_>) =
            providers.partition(|candidate| adds_requested_amount(candidate, adapter));
        // The amount in the pod may be the mistake.
        let fitting = if with_amount.is_empty() { others } else { with_amount };
        return describe(format_args!("requests {adapter}"), &fitting);
    }
    let claims = PodClaims::new(context.pod, view, |_| false);
    let containers = || context.pod.containers();
    let mut claimed = containers().flat_map(|container| claims.devices(container).map(move |found| (container, found)));
    let is_adapter = |devices: &ClaimedDevices<'_>| devices.kind.is_some_and(DeviceKind::is_adapter);
    let (container, (_, devices)) = claimed.find(|(_, (_, devices))| !devices.is_admin && is_adapter(devices))?;
    let provides = |Candidate { profile, targets, .. }: &Candidate<'_>| {
        // Adapters of a sidecar are not those of the job.
        let is_target = targets.iter().any(|target| target.container.name() == container.name());
        is_target && suits(profile, view, devices)
    };
    let fitting: Vec<Candidate<'_>> = candidates(context).filter(provides).collect();
    describe(format_args!("claims {}", devices.class), &fitting)
}

/// Returns the profiles that are available to the pod and apply to it.
fn candidates<'a>(context: &RuleContext<'a>) -> impl Iterator<Item = Candidate<'a>> {
    let profiles = context.snapshot.config.fabric.profiles.all();
    profiles.into_iter().filter_map(move |(name, entry)| {
        let profile = &entry.profile;
        if !is_available(context, profile) {
            return None;
        }
        Some(Candidate { name, profile, targets: matched(context, profile)? })
    })
}

/// Returns a message with the profiles that fit. `what` describes the pod's adapters.
fn describe(what: fmt::Arguments<'_>, fitting: &[Candidate<'_>]) -> Option<String> {
    let names: Vec<&str> = fitting.iter().map(|candidate| candidate.name).collect();
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

fn is_available(context: &RuleContext<'_>, profile: &Profile) -> bool {
    profile.allows(context.snapshot.namespace, context.snapshot.namespace_labels)
        && allows_machines(context.pod, profile)
}

/// Returns true if `profile` adds `adapter` as a device.
fn adds(profile: &Profile, adapter: &str) -> bool {
    let devices = profile.resources.iter().filter(|resource| matches!(resource.amount, Amount::Devices { .. }));
    let names = devices.map(|resource| &resource.name).chain(&profile.dra.extended_resource);
    names.map(ResourceName::as_str).any(|name| name == adapter)
}

/// Returns true if the profile adds `adapter`, or devices of the class that it stands for, to pods with as many accelerators as the
/// targets: machines whose adapters only whole nodes get have no more.
fn is_provider(candidate: &Candidate<'_>, view: ClaimView<'_>, adapter: &str) -> bool {
    let Candidate { profile, targets, .. } = candidate;
    let total = targets.iter().map(|target| target.gpus.min()).fold(0, u64::saturating_add);
    let is_large_enough = |resource: &Resource| resource.full_node_gpus.is_none_or(|whole| total <= whole);
    resources_called(profile, adapter).all(is_large_enough)
        && (adds(profile, adapter)
            || class_devices(view, adapter).is_some_and(|devices| suits(profile, view, &devices)))
}

/// Returns true if the profile adds as many of `adapter` as each of the targets requests, as far as the number is known.
fn adds_requested_amount(candidate: &Candidate<'_>, adapter: &str) -> bool {
    let Candidate { profile, targets, .. } = candidate;
    resources_called(profile, adapter).all(|resource| {
        let Amount::Devices { mode, count, ratio, max } = &resource.amount else { return true };
        targets.iter().enumerate().all(|(index, target)| {
            let added = match (mode, ratio) {
                (ResourceMode::PerGpu, Ratios::Fixed(ratio)) => {
                    target.gpus.exact().and_then(|gpus| ratio.devices_for(gpus))
                }
                (ResourceMode::PerGpu, Ratios::ByInstanceType(_)) => None,
                (ResourceMode::PerPod, _) if index > 0 => Some(0),
                (ResourceMode::PerPod | ResourceMode::PerContainer, _) => Some(*count),
            };
            let added = added.map(|added| max.map_or(added, |max| added.min(max)));
            added.is_none_or(|added| target.requested(adapter).unwrap_or_default() == added)
        })
    })
}

/// Returns the resources of `profile` that are called `name`.
fn resources_called<'a>(profile: &'a Profile, name: &'a str) -> impl Iterator<Item = &'a Resource> {
    profile.resources.iter().filter(move |resource| resource.name.as_str() == name)
}

/// Returns the containers that `profile` applies to.
fn matched<'a>(context: &RuleContext<'a>, profile: &Profile) -> Option<Vec<TargetContainer<'a>>> {
    match targets(context, profile, &read_claims(context, profile)) {
        Targets::Matched(targets) => Some(targets),
        Targets::None | Targets::Unknown(_) | Targets::TooFew | Targets::TooMany => None,
    }
}
