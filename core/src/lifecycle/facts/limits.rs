//! Limits on the input from a pod. Pods are untrusted, and the controller's memory and CPU time must stay bounded.
//!
//! A value that exceeds its limit is never truncated, because a truncated value may have another meaning. The value
//! counts as malformed, so that nothing is terminated.

use crate::container_lists::items;
use crate::pod::{ContainerKind, Pod};
use serde_json::Value;

/// Maximum length of an annotation in bytes: enough for a list of [`MAX_NAMES`] names.
pub(crate) const MAX_ANNOTATION_BYTES: usize = 4 * 1024;
/// Maximum length in bytes of a container's name, and of a label's value: Kubernetes allows no more.
pub(crate) const MAX_NAME_BYTES: usize = 63;
/// Maximum number of names in an annotation: as many as containers.
pub(crate) const MAX_NAMES: usize = MAX_CONTAINERS;
/// Maximum number of containers in one list of the pod spec. Pods of training jobs have fewer than ten.
pub(crate) const MAX_CONTAINERS: usize = 64;
/// Maximum number of rules in a container's `restartPolicyRules`: Kubernetes allows 20.
pub(crate) const MAX_RULES: usize = 64;
/// Maximum number of exit codes in one rule: Kubernetes allows 255.
pub(crate) const MAX_EXIT_CODES: usize = 256;
/// Maximum length of a duration in bytes: every valid one is shorter.
pub(crate) const MAX_DURATION_BYTES: usize = 64;
/// Maximum length in bytes of pilot-agent's configuration: JSON that includes mesh-wide settings.
pub(crate) const MAX_AGENT_CONFIG_BYTES: usize = 64 * 1024;

/// The limit that an annotation exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitExceeded {
    /// More than this number of bytes.
    Length(usize),
    /// More than this number of names.
    Names(usize),
}

impl std::fmt::Display for LimitExceeded {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Length(limit) => write!(formatter, "more than {limit} bytes"),
            Self::Names(limit) => write!(formatter, "more than {limit} names"),
        }
    }
}

/// Returns `text` if it has at most `limit` bytes.
pub(super) fn limited(text: &str, limit: usize) -> Result<Box<str>, LimitExceeded> {
    if text.len() > limit { Err(LimitExceeded::Length(limit)) } else { Ok(text.into()) }
}

/// Returns `text`, a list of names, if it is within the limits.
pub(super) fn limited_names(text: &str) -> Result<Box<str>, LimitExceeded> {
    let text = limited(text, MAX_ANNOTATION_BYTES)?;
    if items(&text).count() > MAX_NAMES { Err(LimitExceeded::Names(MAX_NAMES)) } else { Ok(text) }
}

/// Returns true if `pod` has more containers than [`MAX_CONTAINERS`] in one list.
pub(super) fn has_too_many_containers(pod: Pod<'_>) -> bool {
    let list = |kind: ContainerKind| pod.spec().and_then(|spec| spec.get(kind.spec_list())).and_then(Value::as_array);
    [ContainerKind::Init, ContainerKind::App].into_iter().filter_map(list).any(|list| list.len() > MAX_CONTAINERS)
}
