//! Devices that the pod's claims provide (dynamic resource allocation).

use super::planner::Planner;
use super::resources::Problem;
use super::target::{TargetContainer, Uncertainty};
use crate::config::Profile;
use crate::config::profile::{ResourceName, Transport};
use crate::dra::{AdapterKind, ClaimSource, ClaimView, ClaimedDevices, DeviceKind, PodClaim, PodClaims};
use crate::mutate::rules::RuleContext;
use crate::pod::{Accelerators, Container};

/// Adapters that a container claims, and that the profile would add otherwise.
pub(super) struct ClaimedAdapters {
    /// Least number of adapters.
    pub(super) count: u64,
    /// Note about them.
    pub(super) text: String,
}

/// Reads the claims of the pod. Templates that the profile names provide adapters.
pub(super) fn read_claims<'a>(context: &RuleContext<'a>, profile: &Profile) -> PodClaims<'a> {
    PodClaims::new(context.pod, context.snapshot.cluster.claims, |template| profile.names_template(template))
}

/// Describes devices of a pod with claims in which none is an accelerator of the profile: accelerators of another vendor,
/// else those of the first claim.
pub(super) fn other_devices<'a>(context: &RuleContext<'a>, claims: &PodClaims<'a>) -> Option<String> {
    if claims.is_empty() {
        return None;
    }
    let mut requesting = context.pod.containers().filter_map(|container| Some((container, container.accelerators()?)));
    if let Some((container, Accelerators { resource, count })) = requesting.next() {
        return Some(format!("{} requests {count} {resource}", container.name()));
    }
    let containers = context.pod.containers();
    let mut claimed = containers.flat_map(|container| claims.devices(container).map(move |found| (container, found)));
    let (container, (claim, devices)) = claimed.find(|(_, (_, devices))| !devices.class.is_empty())?;
    let ClaimedDevices { class, kind, count, is_admin } = devices;
    let purpose = match kind {
        _ if *is_admin => " for monitoring",
        Some(DeviceKind::Partition) => ", partitions,",
        _ => "",
    };
    Some(format!("{} claims {count} {class}{purpose} by {}", container.name(), claim.source))
}

/// Returns why the accelerators of a container cannot be counted.
pub(super) fn uncertainty<'a>(
    context: &RuleContext<'a>,
    container: Container<'a>,
    claims: &PodClaims<'a>,
    fits: impl Fn(DeviceKind) -> bool,
) -> Uncertainty {
    let Some(cause) = claims.uncertainty(container, fits) else { return Uncertainty::default() };
    let is_read = context.snapshot.config.fabric.resource_claims;
    let fix = if is_read { cause.fix() } else { "enable fabric.resourceClaims in the configuration" };
    Uncertainty { problem: format!("{}: {cause}", container.name()), fix }
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
    Some((problem, "let one container refer to it"))
}

/// Returns the adapters of the profile's own kind that `target` claims.
pub(super) fn claimed_adapters(planner: &Planner<'_>, target: &TargetContainer<'_>) -> Option<ClaimedAdapters> {
    if planner.claims.is_empty() || !planner.profile.is_rdma() {
        return None;
    }
    let devices = planner.claims.devices(target.container);
    let is_others = |claim: &PodClaim<'_>| !matches!(claim.source, ClaimSource::Template(template) if planner.profile.names_template(template));
    let suitable = devices.filter(|(claim, devices)| {
        is_others(claim) && suits(planner.profile, planner.cluster.claims, devices) && !devices.is_admin
    });
    let mut suitable = suitable.peekable();
    let (claim, ClaimedDevices { class, count, .. }) = suitable.peek()?;
    let text = format!("{count} {class} by {}", claim.source);
    let count = suitable.map(|(_, devices)| devices.count.min()).fold(0, u64::saturating_add);
    Some(ClaimedAdapters { count, text })
}

/// Returns true if the pod claims RDMA adapters.
pub(super) fn claims_adapters(planner: &Planner<'_>) -> bool {
    let is_adapter = |devices: &ClaimedDevices<'_>| devices.kind.is_some_and(DeviceKind::is_adapter);
    planner.claims.claims().iter().filter_map(PodClaim::devices).flatten().any(is_adapter)
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
