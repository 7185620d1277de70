//! Why the number of a container's devices is not known.

use std::fmt;

use super::super::count::Count;
use super::super::kind::DeviceKind;
use super::super::unknown_cause::UnknownCause;
use super::references::references;
use super::{ClaimSource, ClaimedDevices, ClaimedRequest, MAX_CLAIMS, MAX_CONTAINERS, MAX_REQUESTS, PodClaims};
use crate::hint::nearest;
use crate::pod::Container;

/// Why the number of a container's devices is not known exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimUncertainty<'a> {
    /// The pod has more claims, references or containers than are read.
    TooManyClaims,
    /// The object, its content or a request is unknown.
    UnknownClaim {
        /// The object.
        source: ClaimSource<'a>,
        /// Why it is unknown.
        cause: UnknownCause,
        /// Claim of the pod with a similar name, if the pod does not declare this one.
        similar: Option<&'a str>,
    },
    /// Neither the class's name nor its object shows what its devices are.
    UnknownClass {
        /// Name of the class.
        class: &'a str,
        /// Object that names the class.
        source: ClaimSource<'a>,
        /// Why the classes of the cluster are unknown, if so.
        cause: Option<UnknownCause>,
        /// Known class with a similar name.
        similar: Option<&'a str>,
    },
    /// The claim has alternatives, or requests all devices of a node.
    Range {
        /// Number of devices.
        count: Count,
        /// Name of the class.
        class: &'a str,
        /// Object with the request.
        source: ClaimSource<'a>,
    },
}

impl<'a> PodClaims<'a> {
    /// Explains why the number of the container's devices that `fits` returns true for is not known exactly.
    pub fn uncertainty(
        &self,
        container: Container<'a>,
        fits: impl Fn(DeviceKind) -> bool,
    ) -> Option<ClaimUncertainty<'a>> {
        if let Some((source, cause)) = self.unknown(container) {
            let similar = self.similar_claim(source, cause);
            let claim = ClaimUncertainty::UnknownClaim { source, cause, similar };
            return Some(if self.too_many { ClaimUncertainty::TooManyClaims } else { claim });
        }
        self.devices(container).filter(|(_, devices)| !devices.is_admin).find_map(|(claim, devices)| {
            let (source, ClaimedDevices { class, kind, count, .. }) = (claim.source, *devices);
            match kind {
                None => Some(self.unknown_class(class, source)),
                Some(kind) if fits(kind) && count.exact().is_none() => {
                    Some(ClaimUncertainty::Range { count, class, source })
                }
                Some(_) => None,
            }
        })
    }

    /// Returns that the devices of a class are unknown.
    #[must_use]
    pub fn unknown_class(&self, class: &'a str, source: ClaimSource<'a>) -> ClaimUncertainty<'a> {
        let similar = self.classes.and_then(|classes| classes.similar(class));
        ClaimUncertainty::UnknownClass { class, source, cause: self.unknown_classes, similar }
    }

    /// Returns the declared claim whose name is similar to that of `source`, which the pod does not declare.
    fn similar_claim(&self, source: ClaimSource<'a>, cause: UnknownCause) -> Option<&'a str> {
        let ClaimSource::Pod(name) = source else { return None };
        let declared: Vec<&str> = self.claims.iter().flat_map(|claim| claim.names.iter().copied()).collect();
        let is_misspelled = cause == UnknownCause::Undeclared && !declared.contains(&name);
        nearest(name, &declared).filter(|_| is_misspelled)
    }

    /// Returns a claim of the container with unknown content. The pod may also lack a claim that the container refers to.
    pub(super) fn unknown(&self, container: Container<'a>) -> Option<(ClaimSource<'a>, UnknownCause)> {
        references(container).find_map(|(name, request)| {
            let Some(claim) = self.claims.iter().find(|claim| claim.names.contains(&name)) else {
                return Some((ClaimSource::Pod(name), UnknownCause::Undeclared));
            };
            let cause = match &claim.requests {
                Err(cause) => *cause,
                Ok(requests) => {
                    let request = request?;
                    // The kubelet compares the names of requests, never those of their alternatives.
                    let is_meant = |other: &ClaimedRequest<'_>| other.name.is_none_or(|name| name == request);
                    (!requests.iter().any(is_meant)).then_some(UnknownCause::NoSuchRequest)?
                }
            };
            Some((claim.source, cause))
        })
    }
}

impl fmt::Display for ClaimUncertainty<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyClaims => write!(
                formatter,
                "the pod has more than {MAX_CLAIMS} claims, {MAX_REQUESTS} requests or {MAX_CONTAINERS} containers, or a \
                 container more than {MAX_CLAIMS} references"
            ),
            Self::UnknownClaim { source, cause, similar } => {
                write!(formatter, "{source} {cause}")?;
                write_similar(formatter, *similar)
            }
            Self::UnknownClass { class, source, similar, .. } => {
                write!(formatter, "class {class} in {source} is unknown")?;
                write_similar(formatter, *similar)
            }
            Self::Range { count, class, source } => write!(formatter, "{source} allocates {count} {class}"),
        }
    }
}

fn write_similar(formatter: &mut fmt::Formatter<'_>, similar: Option<&str>) -> fmt::Result {
    // In parentheses, because the fix follows after a colon.
    similar.map_or(Ok(()), |similar| write!(formatter, " (did you mean {similar}?)"))
}

impl<'a> ClaimUncertainty<'a> {
    /// Returns the object that is the cause; `None` if there are too many.
    #[must_use]
    pub fn source(self) -> Option<ClaimSource<'a>> {
        match self {
            Self::TooManyClaims => None,
            Self::UnknownClaim { source, .. } | Self::UnknownClass { source, .. } | Self::Range { source, .. } => {
                Some(source)
            }
        }
    }

    /// Returns how to make the number known, as a lowercase fragment.
    #[must_use]
    pub fn fix(self) -> &'static str {
        match self {
            Self::TooManyClaims => "use fewer",
            Self::UnknownClaim { similar: Some(_), .. } => {
                "correct its name, or declare it in resourceClaims with a template"
            }
            Self::UnknownClaim { cause, .. }
            | Self::UnknownClass {
                cause: Some(cause @ (UnknownCause::NotListed | UnknownCause::NotReadable)), ..
            } => cause.fix(),
            Self::UnknownClass { similar: Some(_), .. } => {
                "correct its name, or set its extendedResourceName to the resource of the device plugin"
            }
            Self::UnknownClass { .. } => "set its extendedResourceName to the resource of the device plugin",
            Self::Range { .. } => "request a fixed number",
        }
    }
}
