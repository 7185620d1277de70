//! Devices from dynamic resource allocation: those of a container, FP048 and FP051.

use super::LintInput;
use super::context::CheckContext;
use super::rdma;
use super::sink::FindingSink;
use crate::config::Profile;
use crate::dra::{ClaimSource, ClaimView, Count, DeviceKind, PodClaim, PodClaims};
use crate::finding::Severity;
use crate::pod::{Container, Pod};
use crate::quantity::whole_units;

impl CheckContext<'_> {
    /// Returns true if claims of the pod add network interfaces, or may add them.
    pub(super) fn claims_may_add_interfaces(&self) -> bool {
        let adds = |kind: Option<DeviceKind>| {
            kind.is_none_or(|kind| kind.is_adapter() || matches!(kind, DeviceKind::Interface | DeviceKind::Other))
        };
        let claims = self.claims.claims();
        self.claims.is_truncated()
            || claims.iter().any(|claim| claim.devices().map_or(true, |mut devices| devices.any(|it| adds(it.kind))))
    }
}

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
    input: &LintInput<'a>,
) -> (Count, Option<&'a str>) {
    let by_class = || {
        let kind = |name: &str| input.cluster.claims.kind_of_resource(name).filter(|kind| kind.is_accelerator());
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

/// FP048: the pods of a job share accelerators by one `ResourceClaim`.
pub(super) fn shared_accelerators(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in context.gpu_containers() {
        let mut claimed = context
            .claims
            .devices(container.spec)
            .filter(|(_, devices)| !devices.is_admin && devices.kind.is_some_and(DeviceKind::is_accelerator));
        let shared = claimed.find_map(|(claim, devices)| match claim.source {
            ClaimSource::Claim(name) => Some((sharing_pods(context, name)?, devices.count, name)),
            ClaimSource::Template(_) | ClaimSource::Pod(_) => None,
        });
        if let Some((pods, count, name)) = shared {
            let noun = if count == Count::exactly(1) { "accelerator" } else { "accelerators" };
            let message = format!("{}: {pods} share {count} {noun} by claim {name}", container.display_name());
            findings.push(container.pointer("/resources/claims"), message);
        }
    }
}

/// FP051: a claim, class or request that does not show which devices it provides.
pub(super) fn unknown(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    check_unknown(context.input, findings);
}

/// Runs FP051 without a [`CheckContext`], for the pod as its owner creates it: the templates of a profile are its own.
pub(super) fn check_unknown(input: &LintInput<'_>, findings: &mut FindingSink<'_>) {
    // Only a profile depends on the devices.
    if input.profile.is_none() {
        return;
    }
    let claims = read_claims(input.original, input.profile, input.cluster.claims);
    for container in input.original.containers() {
        if let Some(unknown) = claims.uncertainty(container, |_| false) {
            let field = format!("/spec/{}/{}/resources/claims", container.kind.spec_list(), container.index);
            findings.push_with_fix(
                Severity::Warning,
                field,
                format!("container {}: {unknown}", container.name()),
                unknown.fix(),
            );
        }
    }
}

/// Returns the pods of the job that share the `ResourceClaim` called `name`, if there are several.
fn sharing_pods(context: &CheckContext<'_>, name: &str) -> Option<String> {
    match context.input.job {
        Some(job) => {
            let pods = job.shared_claims.get(name).copied().flatten().filter(|pods| *pods > 1);
            pods.map(|pods| format!("{pods} pods"))
        }
        None => context.has_several_pods().then(|| "the job's pods".to_owned()),
    }
}
