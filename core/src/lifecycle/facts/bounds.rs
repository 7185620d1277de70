//! What is read of a pod at most: its author is not trusted with the memory and the time of the controller.
//!
//! A value beyond its bound is never read in part, because a part may mean something else. It reads as malformed, in the
//! direction in which nothing is terminated.

use crate::pod::{ContainerKind, Pod};
use serde_json::Value;

/// Bytes of an annotation: a list of [`NAMES`] names fits.
pub(crate) const ANNOTATION: usize = 4 * 1024;
/// Bytes of a container's name, and of a label's value: Kubernetes allows no more.
pub(crate) const NAME: usize = 63;
/// Names in an annotation: as many as containers.
pub(crate) const NAMES: usize = CONTAINERS;
/// Containers in one list of the pod. A node's kubelet starts them one by one; pods of training jobs have fewer than ten.
pub(crate) const CONTAINERS: usize = 64;
/// Rules in a container's `restartPolicyRules`: Kubernetes allows 20.
pub(crate) const RULES: usize = 64;
/// Exit codes in one rule: Kubernetes allows 255.
pub(crate) const EXIT_CODES: usize = 256;
/// Bytes of a duration: every valid one is shorter.
pub(crate) const DURATION: usize = 64;
/// Bytes of the mesh agent's configuration, which is JSON with the settings of the whole mesh in it.
pub(crate) const AGENT_CONFIG: usize = 64 * 1024;

/// How an annotation exceeds its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// It has more than so many bytes.
    Length(usize),
    /// It lists more than so many names.
    Names(usize),
}

impl std::fmt::Display for Excess {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Length(most) => write!(formatter, "more than {most} bytes"),
            Self::Names(most) => write!(formatter, "more than {most} names"),
        }
    }
}

/// `text`, if it has at most `most` bytes.
pub(super) fn bounded(text: &str, most: usize) -> Result<Box<str>, Excess> {
    if text.len() > most { Err(Excess::Length(most)) } else { Ok(text.into()) }
}

/// `text`, a list of names, if it is within bounds.
pub(super) fn bounded_names(text: &str) -> Result<Box<str>, Excess> {
    let text = bounded(text, ANNOTATION)?;
    let names = text.split(',').filter(|name| !name.trim().is_empty()).count();
    if names > NAMES { Err(Excess::Names(NAMES)) } else { Ok(text) }
}

/// Whether `pod` has more containers than are kept.
pub(super) fn has_too_many_containers(pod: Pod<'_>) -> bool {
    let list = |kind: ContainerKind| pod.spec().and_then(|spec| spec.get(kind.list())).and_then(Value::as_array);
    [ContainerKind::Init, ContainerKind::App].into_iter().filter_map(list).any(|list| list.len() > CONTAINERS)
}
