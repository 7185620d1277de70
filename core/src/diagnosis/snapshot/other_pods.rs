//! Pods that exist, but are not diagnosed: the controller reads only the workloads that may have a problem.

use std::collections::HashSet;

use super::gang_key::{GangApi, GangKey};
use super::read::name;
use crate::pod::Pod;

/// Maximum number of pods, of some 200 bytes each, and 700 with the longest names.
const MAX_PODS: usize = 50_000;

/// Names of the pods, and the `PodGroups` that they name.
#[derive(Debug, Default)]
pub(in crate::diagnosis) struct OtherPods {
    names: HashSet<(Box<str>, Box<str>)>,
    groups: HashSet<(GangApi, Box<str>, Box<str>)>,
    /// True if there are more pods than the limit.
    is_truncated: bool,
}

impl OtherPods {
    pub(super) fn add(&mut self, pod: Pod<'_>, namespace: &str) {
        if self.names.len() == MAX_PODS {
            self.is_truncated = true;
            return;
        }
        if let Some(key) = GangKey::read(pod) {
            self.groups.insert((key.api, namespace.into(), key.name));
        }
        self.names.extend(name(pod.raw(), "/metadata/name").map(|name| (namespace.into(), name)));
    }

    /// Returns true if the pod exists, or may exist.
    pub(in crate::diagnosis) fn may_contain(&self, namespace: &str, name: &str) -> bool {
        self.is_truncated || self.names.contains(&(namespace.into(), name.into()))
    }

    /// Returns true if one of the pods names the `PodGroup`, or may name it.
    pub(in crate::diagnosis) fn may_name(&self, api: GangApi, namespace: &str, name: &str) -> bool {
        self.is_truncated || self.groups.contains(&(api, namespace.into(), name.into()))
    }
}
