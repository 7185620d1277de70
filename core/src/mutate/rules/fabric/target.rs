//! Target containers of a profile: those that request an accelerator. Ordinary init containers are never targets, native
//! sidecars only if the profile includes them; proxies and launchers request no accelerator.

use json_patch::jsonptr::PointerBuf;
use serde_json::Value;

use crate::config::profile::{InitContainers, Match, Profile, ResourcePattern};
use crate::mutate::plan::spec_path;
use crate::pod::{Container, ContainerKind, Pod};
use crate::quantity::whole_units;

/// Target containers of a profile in a pod.
pub(super) enum Targets<'a> {
    /// The profile matches these containers.
    Matched(Vec<TargetContainer<'a>>),
    /// No container requests an accelerator.
    None,
    /// Containers request accelerators, but fewer than the profile requires.
    TooFew,
    /// More than [`MAX_TARGETS`] containers request accelerators.
    TooMany,
}

/// Maximum number of target containers. No node has as many accelerators, and every container takes up to a hundred
/// patch operations.
pub(super) const MAX_TARGETS: usize = 64;

/// A container that a profile applies to.
#[derive(Clone, Debug)]
pub(super) struct TargetContainer<'a> {
    pub(super) container: Container<'a>,
    /// Number of accelerators that the container requests.
    pub(super) gpus: u64,
    /// True if they are AMD accelerators, whose RCCL reads its own configuration file.
    pub(super) amd: bool,
    path: PointerBuf,
}

/// Returns the containers of `pod` that `profile` applies to.
pub(super) fn targets<'a>(pod: Pod<'a>, profile: &Profile) -> Targets<'a> {
    let matches = &profile.matches;
    let requesting: Vec<TargetContainer<'a>> = pod
        .containers()
        .filter(|container| is_candidate(*container, matches))
        .map(|container| TargetContainer::new(container, matches))
        .filter(|target| target.gpus > 0)
        .collect();
    if requesting.is_empty() {
        return Targets::None;
    }
    let enough: Vec<TargetContainer<'a>> =
        requesting.into_iter().filter(|target| target.gpus >= matches.min_gpus).collect();
    let gpus: u64 = enough.iter().map(|target| target.gpus).fold(0, u64::saturating_add);
    let resources = profile.resources.iter().filter(|resource| !resource.opt_in);
    let full_node_gpus = resources.filter_map(|resource| resource.full_node_gpus).max();
    if enough.is_empty() || full_node_gpus.is_some_and(|required| gpus < required) {
        Targets::TooFew
    } else if enough.len() > MAX_TARGETS {
        Targets::TooMany
    } else {
        Targets::Matched(enough)
    }
}

/// Returns every resource that a container requests or limits. A resource in both lists is returned twice.
pub(super) fn requests(pod: Pod<'_>) -> impl Iterator<Item = (Container<'_>, &str)> {
    pod.containers().flat_map(|container| {
        let resources = container.raw().get("resources");
        let lists = ["limits", "requests"].into_iter().filter_map(move |list| resources?.get(list)?.as_object());
        lists.flatten().map(move |(resource, _)| (container, resource.as_str()))
    })
}

fn is_candidate(container: Container<'_>, matches: &Match) -> bool {
    let is_eligible = match container.kind {
        ContainerKind::App => true,
        ContainerKind::NativeSidecar => matches.init_containers == InitContainers::RestartableNamed,
        ContainerKind::Init | ContainerKind::Ephemeral => false,
    };
    let name = container.name();
    is_eligible
        && (matches.container_names.is_empty() || matches.container_names.iter().any(|known| known.as_str() == name))
}

impl<'a> TargetContainer<'a> {
    fn new(container: Container<'a>, matches: &Match) -> Self {
        let limits = container.raw().get("resources").and_then(|resources| resources.get("limits"));
        let mut gpus = 0_u64;
        let mut amd = false;
        for (resource, quantity) in limits.and_then(Value::as_object).into_iter().flatten() {
            let matches_any =
                |patterns: &[ResourcePattern]| patterns.iter().any(|one| matches_pattern(one.as_str(), resource));
            if matches_any(&matches.gpu_resources) && !matches_any(&matches.exclude_resources) {
                let count = whole_units(quantity).unwrap_or_default();
                gpus = gpus.saturating_add(count);
                amd |= count > 0 && resource.starts_with("amd.com/");
            }
        }
        let path = spec_path([container.kind.spec_list(), &container.index.to_string()]);
        Self { container, gpus, amd, path }
    }

    /// Returns the path of a field below the container.
    pub(super) fn path<const KEYS: usize>(&self, keys: [&str; KEYS]) -> PointerBuf {
        let mut path = self.path.clone();
        for key in keys {
            path.push_back(key);
        }
        path
    }

    /// Returns the items of the list at `field`.
    pub(super) fn items(&self, field: &str) -> impl Iterator<Item = &'a Value> {
        self.container.raw().get(field).and_then(Value::as_array).into_iter().flatten()
    }

    /// Returns the effective entry of environment variable `name`, which is the last one.
    pub(super) fn env(&self, name: &str) -> Option<&'a Value> {
        self.items("env").filter(|entry| entry.get("name").and_then(Value::as_str) == Some(name)).last()
    }

    /// Returns the requested amount of `resource`: its limit, else its request. 0 if that is not a quantity.
    pub(super) fn requested(&self, resource: &str) -> Option<u64> {
        let resources = self.container.raw().get("resources")?;
        let found = ["limits", "requests"].into_iter().find_map(|list| resources.get(list)?.get(resource))?;
        Some(whole_units(found).unwrap_or_default())
    }

    /// Returns a field of the container's security context. `null` counts as absent.
    pub(super) fn security(&self, field: &str) -> Option<&'a Value> {
        self.container.raw().get("securityContext")?.get(field).filter(|value| !value.is_null())
    }
}

fn matches_pattern(pattern: &str, resource: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => resource.starts_with(start),
        None => resource == pattern,
    }
}
