//! Why the number of a container's devices is not known.

use std::fmt;

use super::super::count::Count;
use super::{ClaimSource, MAX_CLAIMS, MAX_CONTAINERS, MAX_REQUESTS};

/// Why the number of a container's devices is not known exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimUncertainty<'a> {
    /// The pod has more claims, references or containers than are read.
    TooManyClaims,
    /// The object is unknown, or the apiserver would reject its content.
    UnknownClaim(ClaimSource<'a>),
    /// Neither the class's name nor its object shows what its devices are.
    UnknownClass {
        /// Name of the class.
        class: &'a str,
        /// Object that names the class.
        source: ClaimSource<'a>,
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

impl fmt::Display for ClaimUncertainty<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyClaims => write!(
                formatter,
                "the pod has more than {MAX_CLAIMS} claims, {MAX_REQUESTS} requests or {MAX_CONTAINERS} containers, or a \
                 container more than {MAX_CLAIMS} references"
            ),
            Self::UnknownClaim(source) => write!(formatter, "{source} is unknown"),
            Self::UnknownClass { class, source } => write!(formatter, "class {class} in {source} is unknown"),
            Self::Range { count, class, source } => write!(formatter, "{source} allocates {count} {class}"),
        }
    }
}

impl ClaimUncertainty<'_> {
    /// Returns how to make the number known, as a lowercase fragment.
    #[must_use]
    pub fn fix(self) -> &'static str {
        match self {
            Self::TooManyClaims => "use fewer",
            Self::UnknownClaim(_) => "create it before the pod; for a preview, add its manifest or use --cluster",
            Self::UnknownClass { .. } => "set its extendedResourceName to the resource of the device plugin",
            Self::Range { .. } => "request a fixed number",
        }
    }
}
