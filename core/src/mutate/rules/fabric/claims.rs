//! Claims of the pod (dynamic resource allocation), before a profile is compared with them.

use crate::config::Profile;
use crate::dra::{ClaimedDevices, DeviceKind, PodClaims};
use crate::mutate::rules::RuleContext;
use crate::pod::Accelerators;

/// How to make claims known that are not read.
const ENABLE: &str = "enable fabric.resourceClaims in the configuration";

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

/// Returns how to make the devices of a claim known: `fix` for its cause, if claims are read at all.
pub(super) fn fix(context: &RuleContext<'_>, fix: &'static str) -> &'static str {
    if context.snapshot.config.fabric.resource_claims { fix } else { ENABLE }
}
