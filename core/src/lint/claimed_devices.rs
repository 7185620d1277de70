//! Devices of a container from its requests and from dynamic resource allocation.

use super::rdma;
use crate::config::Profile;
use crate::dra::{ClaimSource, ClaimView, Count, DeviceKind, PodClaim, PodClaims};
use crate::pod::{Container, Pod};
use crate::quantity::whole_units;

/// Returns the claims of `pod`. Templates that the profile names provide adapters.
pub(super) fn read_claims<'a>(pod: Pod<'a>, profile: Option<&Profile>, view: ClaimView<'a>) -> PodClaims<'a> {
    PodClaims::new(pod, view, |template| profile.is_some_and(|profile| profile.names_template(template)))
}

/// Returns true if `container` requests or claims an RDMA adapter.
pub(super) fn has_adapter<'a>(container: Container<'a>, claims: &PodClaims<'a>, view: ClaimView<'a>) -> bool {
    rdma::requested_adapters(container, view).next().is_some() || claimed_adapters(container, claims).next().is_some()
}

/// Returns the device class of each adapter that `container` claims, or the name of the claim's source if the class is
/// unknown.
pub(super) fn claimed_adapters<'a, 'b>(
    container: Container<'a>,
    claims: &'b PodClaims<'a>,
) -> impl Iterator<Item = &'a str> + use<'a, 'b> {
    let devices = claims.devices(container).filter(|(_, devices)| !devices.is_admin);
    devices.filter(|(_, devices)| devices.kind.is_some_and(DeviceKind::is_adapter)).map(|(claim, devices)| {
        let (ClaimSource::Template(object) | ClaimSource::Claim(object) | ClaimSource::Pod(object)) = claim.source;
        if devices.class.is_empty() { object } else { devices.class }
    })
}

/// Returns the number of channels of `ComputeDomains` that `container` claims.
pub(super) fn channels<'a>(container: Container<'a>, claims: &PodClaims<'a>) -> Count {
    claims.count(container, |kind| kind == DeviceKind::Channel)
}

/// Returns the number of accelerators that `container` requests and claims, and their extended resource.
pub(super) fn accelerators<'a>(
    container: Container<'a>,
    claims: &PodClaims<'a>,
    view: ClaimView<'a>,
) -> (Count, Option<&'a str>) {
    let by_class = || {
        let kind = |name: &str| view.kind_of_resource(name).filter(|kind| kind.is_accelerator());
        let mut limits =
            rdma::resources(container).filter_map(|(name, count)| Some((kind(name)?, whole_units(count)?)));
        limits.find(|(_, count)| *count > 0)
    };
    let requested = container.accelerators().map(|found| (found.resource, found.count));
    let resource_of = |kind: DeviceKind| kind.accelerator_resources().first().copied();
    let requested = requested.or_else(|| by_class().and_then(|(kind, count)| Some((resource_of(kind)?, count))));
    if let Some((resource, count)) = requested {
        // A container that requests accelerators is not expected to claim others.
        return (Count::exactly(count).plus(claims.known_count(container, DeviceKind::is_accelerator)), Some(resource));
    }
    let kinds = claims.devices(container).filter_map(|(_, devices)| devices.kind);
    let claimed = kinds.filter(|kind| kind.is_accelerator()).find_map(resource_of);
    (claims.count(container, DeviceKind::is_accelerator), claimed)
}

/// Returns true if `container` gets accelerators by `claim`.
pub(super) fn uses_accelerators<'a>(container: Container<'a>, claims: &PodClaims<'a>, claim: &PodClaim<'a>) -> bool {
    let mut devices = claims.devices(container).filter(|(found, _)| found.source == claim.source);
    devices.any(|(_, devices)| !devices.is_admin && devices.kind.is_some_and(DeviceKind::is_accelerator))
}
