//! Adapters and accelerators that the pod's claims provide to the targets.

use super::planner::{Planner, Problem};
use super::profile_claims::claims_of_target;
use super::target::TargetContainer;
use crate::config::Profile;
use crate::config::profile::{ResourceName, Transport};
use crate::dra::{AdapterKind, ClaimSource, ClaimView, ClaimedDevices, Count, DeviceKind, PodClaim, template_devices};

/// Adapters that a container claims, and that the profile would add otherwise.
pub(super) struct ClaimedAdapters {
    /// Least number of adapters.
    pub(super) count: u64,
    /// Note about them.
    pub(super) text: String,
}

/// Returns the problem if the target with `index` shares its accelerators with another target.
pub(super) fn shared_accelerators(planner: &Planner<'_>, index: usize) -> Option<Problem> {
    if planner.claims.is_empty() {
        return None;
    }
    let target = planner.targets.get(index)?;
    let others = planner.targets.iter().enumerate().filter(|(other, _)| *other != index);
    let (other, claim) = others.into_iter().find_map(|(_, other)| {
        let shared = planner.claims.shared(target.container, other.container, DeviceKind::is_accelerator)?;
        Some((other.container.name(), shared.source))
    })?;
    let problem = format!("{} and {other} share the accelerators of {claim}", target.container.name());
    Some((problem, "let one container refer to it".into()))
}

/// Returns the adapters of the profile's own kind that `target` claims, or requests by an extended resource for a class.
pub(super) fn claimed_adapters(planner: &Planner<'_>, target: &TargetContainer<'_>) -> Option<ClaimedAdapters> {
    if !planner.profile.is_rdma() {
        return None;
    }
    let by_claim = || adapters_by_claim(planner, target);
    by_claim().or_else(|| adapters_by_resource(planner, target))
}

fn adapters_by_claim(planner: &Planner<'_>, target: &TargetContainer<'_>) -> Option<ClaimedAdapters> {
    let devices = planner.claims.devices(target.container);
    let is_others = |claim: &PodClaim<'_>| !matches!(claim.source, ClaimSource::Template(template) if planner.profile.names_template(template));
    let suitable = devices.filter(|(claim, devices)| {
        is_others(claim) && suits(planner.profile, planner.cluster.claims, devices) && !devices.is_admin
    });
    let found: Vec<(&PodClaim<'_>, &ClaimedDevices<'_>)> = suitable.collect();
    let [(claim, first), others @ ..] = &*found else { return None };
    let count = found.iter().map(|(_, devices)| devices.count).fold(Count::ZERO, Count::plus);
    let more = if others.is_empty() { String::new() } else { format!(" and {} more requests", others.len()) };
    let text = format!("{count} {} by {}{more}", first.class, claim.source);
    Some(ClaimedAdapters { count: count.min(), text })
}

fn adapters_by_resource(planner: &Planner<'_>, target: &TargetContainer<'_>) -> Option<ClaimedAdapters> {
    let (profile, view) = (planner.profile, planner.cluster.claims);
    target.limits().filter(|(resource, _)| !profile.requests_resource(resource)).find_map(|(resource, count)| {
        let devices = class_devices(view, resource).filter(|devices| suits(profile, view, devices))?;
        let ClaimedDevices { class, .. } = devices;
        Some(ClaimedAdapters { count, text: format!("{count} {class} by resource {resource}") })
    })
}

/// Returns one device of the class that extended resource `resource` stands for.
pub(super) fn class_devices<'a>(view: ClaimView<'a>, resource: &'a str) -> Option<ClaimedDevices<'a>> {
    let class = view.classes().class_of_resource(resource)?;
    Some(ClaimedDevices { class, kind: view.kind_of_resource(resource), count: Count::exactly(1), is_admin: false })
}

/// Returns the adapters that `target` gets from claims: those that it claims instead of the profile's, or those of the
/// templates that the profile names. Devices of `resources` would be a second set.
pub(super) fn provided_adapters(planner: &Planner<'_>, target: &TargetContainer<'_>) -> Option<ClaimedAdapters> {
    claimed_adapters(planner, target).or_else(|| named_adapters(planner, target))
}

/// Returns the adapters of the templates that the profile names.
fn named_adapters(planner: &Planner<'_>, target: &TargetContainer<'_>) -> Option<ClaimedAdapters> {
    if !planner.profile.is_rdma() {
        return None;
    }
    let view = planner.cluster.claims;
    let is_adapter = |devices: &ClaimedDevices<'_>| {
        // Without a class, only the name of the template is known.
        let may_be_adapter = matches!(devices.kind, Some(DeviceKind::Adapter(_) | DeviceKind::Interface));
        may_be_adapter && !devices.is_admin && !devices.class.is_empty()
    };
    let mut found: Option<ClaimedAdapters> = None;
    for claim in claims_of_target(planner, target) {
        let template = claim.resource_claim_template_name.as_str();
        let is_claimed = |claim: &PodClaim<'_>| claim.source == ClaimSource::Template(template);
        let is_used = |claim: &PodClaim<'_>| is_claimed(claim) && claim.is_used_by(target.container);
        // The profile adds the claim to containers without it.
        let devices: Vec<ClaimedDevices<'_>> = if planner.claims.claims().iter().any(is_used) {
            let used = planner.claims.devices(target.container).filter(|(claim, _)| is_claimed(claim));
            used.map(|(_, devices)| *devices).collect()
        } else {
            template_devices(view, template)
        };
        for devices in devices.iter().filter(|devices| is_adapter(devices)) {
            let ClaimedDevices { class, count, .. } = devices;
            let adapters = found.get_or_insert_with(|| ClaimedAdapters {
                count: 0,
                text: format!("{count} {class} by {}", ClaimSource::Template(template)),
            });
            adapters.count = adapters.count.saturating_add(count.min());
        }
    }
    found
}

/// Returns true if the pod claims RDMA adapters.
pub(super) fn claims_adapters(planner: &Planner<'_>) -> bool {
    let is_adapter =
        |devices: &ClaimedDevices<'_>| devices.kind.is_some_and(DeviceKind::is_adapter) && !devices.is_admin;
    planner.claims.claims().iter().flat_map(PodClaim::devices).flatten().any(is_adapter)
}

/// Returns true if the devices are adapters that the profile would add: of its class, or of a class for its transport.
/// Networks belong to adapters that the profile attaches itself.
pub(super) fn suits(profile: &Profile, view: ClaimView<'_>, devices: &ClaimedDevices<'_>) -> bool {
    let Some(DeviceKind::Adapter(kind)) = devices.kind else { return false };
    if profile.attaches_networks() {
        return false;
    }
    let classes = view.classes();
    let resources = profile.resources.iter().map(|resource| &resource.name).chain(&profile.dra.extended_resource);
    let mut own_classes = resources.filter_map(|name| classes.class_of_resource(ResourceName::as_str(name)));
    match (kind, profile.transport) {
        (AdapterKind::Efa, Transport::Efa) | (AdapterKind::Gib, Transport::Gib) => true,
        _ => own_classes.any(|class| class == devices.class),
    }
}
