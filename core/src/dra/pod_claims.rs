//! The claims of a pod, and the devices that each container gets from them.

mod references;
mod resolve;
#[cfg(test)]
mod tests;
mod uncertainty;

use std::fmt;

use super::classes::DeviceClasses;
use super::count::Count;
use super::facts::ClaimView;
use super::kind::DeviceKind;
use super::unknown_cause::UnknownCause;
use crate::json;
use crate::pod::{Container, Pod};
use references::{Reference, exceeds_limit, references};
use resolve::resolve_all;
pub use resolve::template_devices;
pub use uncertainty::ClaimUncertainty;

/// The claims of a pod. If the pod has none, the value uses no heap memory.
#[derive(Clone, Debug, Default)]
pub struct PodClaims<'a> {
    claims: Vec<PodClaim<'a>>,
    /// The known classes; `None` if the pod has no claims that are read.
    classes: Option<&'a DeviceClasses>,
    /// Why the classes of the cluster are unknown, if so.
    unknown_classes: Option<UnknownCause>,
    /// True if the pod exceeds [`MAX_CLAIMS`], [`MAX_REQUESTS`] or [`MAX_CONTAINERS`]; then no claim is read.
    too_many: bool,
}

/// A claim of a pod.
#[derive(Clone, Debug)]
pub struct PodClaim<'a> {
    /// Names within the pod: a `ResourceClaim` may have several.
    names: Vec<&'a str>,
    /// The object with its content.
    pub source: ClaimSource<'a>,
    /// The requests, or why they are unknown.
    requests: Result<Vec<ClaimedRequest<'a>>, UnknownCause>,
}

/// Object that contains the requests of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimSource<'a> {
    /// Name of a `ResourceClaimTemplate`: each pod gets its own devices.
    Template(&'a str),
    /// Name of a `ResourceClaim`: all pods that name it share its devices.
    Claim(&'a str),
    /// Name of the claim within the pod, if the pod names neither a template nor a claim object.
    Pod(&'a str),
}

/// A request of a claim.
#[derive(Clone, Debug)]
struct ClaimedRequest<'a> {
    /// Name; `None` if the content of the claim is unknown.
    name: Option<&'a str>,
    /// The devices, one entry for each kind.
    devices: Vec<ClaimedDevices<'a>>,
}

/// Devices of one kind that a request provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimedDevices<'a> {
    /// Name of the device class; empty if only the purpose of the claim is known.
    pub class: &'a str,
    /// Kind of the devices; `None` if the class is unknown.
    pub kind: Option<DeviceKind>,
    /// Number of devices.
    pub count: Count,
    /// True for access to devices that other pods use, for monitoring.
    pub is_admin: bool,
}

/// Maximum number of claims of a pod, and of references in a container. Pods have one for each kind of device.
const MAX_CLAIMS: usize = 32;
/// Maximum number of requests in all claims of a pod.
const MAX_REQUESTS: usize = 256;
/// Maximum number of containers of a pod with claims, to bound the work. No pod that starts has as many.
const MAX_CONTAINERS: usize = 256;

impl<'a> PodClaims<'a> {
    /// Reads the claims of `pod`. `is_for_adapters` returns true for the names of templates that provide RDMA adapters,
    /// and is used for templates whose content is unknown.
    #[must_use]
    pub fn new(pod: Pod<'a>, view: ClaimView<'a>, is_for_adapters: impl Fn(&str) -> bool) -> Self {
        let listed = pod.spec().and_then(|spec| json::field(spec, "resourceClaims")?.as_array());
        let Some(listed) = listed else { return Self::default() };
        if listed.len() > MAX_CLAIMS
            || pod.containers().nth(MAX_CONTAINERS).is_some()
            || pod.containers().any(exceeds_limit)
        {
            return Self { too_many: true, ..Self::default() };
        }
        let claims = resolve_all(listed, view, is_for_adapters);
        let requests: usize = claims.iter().flat_map(|claim| &claim.requests).map(Vec::len).sum();
        if requests > MAX_REQUESTS {
            return Self { too_many: true, ..Self::default() };
        }
        Self { claims, classes: Some(view.classes()), unknown_classes: view.unknown_classes(), too_many: false }
    }

    /// Returns true if the pod has no claims.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty() && !self.too_many
    }

    /// Returns true if claims are not read, because there are too many.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.too_many
    }

    /// Returns the claims.
    #[must_use]
    pub fn claims(&self) -> &[PodClaim<'a>] {
        &self.claims
    }

    /// Returns the devices that `container` gets, with their claims. Claims with unknown content are left out.
    pub fn devices(&self, container: Container<'a>) -> impl Iterator<Item = (&PodClaim<'a>, &ClaimedDevices<'a>)> {
        let requests = self.requests(container);
        requests.flat_map(|(claim, request)| request.devices.iter().map(move |devices| (claim, devices)))
    }

    /// Returns the number of devices that `container` gets for itself and that `fits` returns true for.
    pub fn count(&self, container: Container<'a>, fits: impl Fn(DeviceKind) -> bool) -> Count {
        let known = sum(self.devices(container).map(|(_, devices)| devices), fits);
        if self.has_unknown(container) { known.plus(Count::UNKNOWN) } else { known }
    }

    /// Like [`Self::count`], without claims and classes that are unknown.
    pub fn known_count(&self, container: Container<'a>, fits: impl Fn(DeviceKind) -> bool) -> Count {
        sum(self.devices(container).map(|(_, devices)| devices).filter(|devices| devices.kind.is_some()), fits)
    }

    /// Returns the number of devices that `containers` get together: they may share some. Unknown claims and classes do
    /// not count.
    pub fn total(&self, containers: &[Container<'a>], fits: impl Fn(DeviceKind) -> bool) -> Count {
        let references: Vec<Reference<'a>> = containers.iter().flat_map(|container| references(*container)).collect();
        let requests = self.claims.iter().flat_map(|claim| {
            let is_used = |request: &&ClaimedRequest<'a>| claim.is_referred_to(&references, request.name);
            claim.requests.iter().flatten().filter(is_used)
        });
        sum(requests.flat_map(|request| &request.devices).filter(|devices| devices.kind.is_some()), fits)
    }

    /// Returns the claim by which two containers share devices that `fits` returns true for.
    pub fn shared(
        &self,
        one: Container<'a>,
        other: Container<'a>,
        fits: impl Fn(DeviceKind) -> bool,
    ) -> Option<&PodClaim<'a>> {
        let references: Vec<Reference<'a>> = references(other).collect();
        let shared = |(claim, request): &(&PodClaim<'a>, &ClaimedRequest<'a>)| {
            claim.is_referred_to(&references, request.name) && !sum(request.devices.iter(), &fits).is_zero()
        };
        self.requests(one).find(shared).map(|(claim, _)| claim)
    }

    /// Returns the JSON pointer, below `container`, of its reference to the claim with `source`, or else of its list of claims.
    #[must_use]
    pub fn reference_pointer(&self, container: Container<'a>, source: ClaimSource<'a>) -> String {
        let is_meant = |(name, _): Reference<'a>| match self.claims.iter().find(|claim| claim.has_name(name)) {
            Some(claim) => claim.source == source,
            None => source == ClaimSource::Pod(name),
        };
        let index = references(container).position(is_meant);
        format!("/resources/claims{}", index.map(|index| format!("/{index}")).unwrap_or_default())
    }

    /// Returns true if the content of one of the container's claims is unknown.
    #[must_use]
    pub fn has_unknown(&self, container: Container<'a>) -> bool {
        self.unknown(container).is_some()
    }

    fn requests(&self, container: Container<'a>) -> impl Iterator<Item = (&PodClaim<'a>, &ClaimedRequest<'a>)> {
        let references: Vec<Reference<'a>> =
            if self.claims.is_empty() { Vec::new() } else { references(container).collect() };
        let requests = self.claims.iter().flat_map(|claim| claim.requests.iter().flatten().map(move |it| (claim, it)));
        requests.filter(move |(claim, request)| claim.is_referred_to(&references, request.name))
    }
}

impl<'a> PodClaim<'a> {
    /// Returns the devices of all requests, or why they are unknown.
    pub fn devices(&self) -> Result<impl Iterator<Item = &ClaimedDevices<'a>>, UnknownCause> {
        let requests = self.requests.as_ref().map_err(|cause| *cause)?;
        Ok(requests.iter().flat_map(|request| &request.devices))
    }

    /// Returns true if `name` is a name of the claim within the pod.
    #[must_use]
    pub fn has_name(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    /// Returns true if `container` refers to the claim or to one of its requests.
    #[must_use]
    pub fn is_used_by(&self, container: Container<'a>) -> bool {
        references(container).any(|(claim, _)| self.names.contains(&claim))
    }

    /// Returns true if `references` contain the claim and, if given, this request.
    fn is_referred_to(&self, references: &[Reference<'_>], request: Option<&str>) -> bool {
        let is_meant = |only: Option<&str>| only.is_none() || request.is_none() || only == request;
        references.iter().any(|(claim, only)| self.names.contains(claim) && is_meant(*only))
    }
}

/// Sums the devices that `fits` returns true for, except those for monitoring. Devices of an unknown class count as any
/// number.
fn sum<'b, 'a: 'b>(devices: impl Iterator<Item = &'b ClaimedDevices<'a>>, fits: impl Fn(DeviceKind) -> bool) -> Count {
    devices.filter(|devices| !devices.is_admin).fold(Count::ZERO, |sum, devices| match devices.kind {
        None => sum.plus(Count::UNKNOWN),
        Some(kind) if fits(kind) => sum.plus(devices.count),
        Some(_) => sum,
    })
}

impl fmt::Display for ClaimSource<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Template(name) => write!(formatter, "template {name}"),
            Self::Claim(name) => write!(formatter, "claim {name}"),
            Self::Pod(name) => write!(formatter, "claim {name} of the pod"),
        }
    }
}
