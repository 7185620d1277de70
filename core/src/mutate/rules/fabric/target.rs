//! Which containers of a pod a profile is for: those that ask for an accelerator, never the proxy, a launcher or an init
//! container.

use json_patch::jsonptr::PointerBuf;
use serde_json::Value;

use crate::config::profile::{InitContainers, Match, Profile, ResourcePattern};
use crate::mutate::plan::spec;
use crate::pod::{Container, ContainerKind, Pod};
use crate::quantity::whole_units;

/// The containers that a profile is for.
pub(super) enum Targets<'a> {
    /// These.
    Of(Vec<Target<'a>>),
    /// No container asks for an accelerator.
    None,
    /// Some do, but for fewer than the profile is for.
    TooFew,
    /// More do than [`MOST`].
    TooMany,
}

/// The most containers that a profile is given to. No node has as many accelerators; every container takes up to a hundred
/// operations of the patch.
pub(super) const MOST: usize = 64;

/// A container that a profile is for.
#[derive(Clone, Debug)]
pub(super) struct Target<'a> {
    pub(super) container: Container<'a>,
    /// How many accelerators it asks for.
    pub(super) gpus: u64,
    /// Whether they are of AMD, whose library reads a file of its own.
    pub(super) amd: bool,
    path: PointerBuf,
}

/// The containers of `pod` that `profile` is for.
pub(super) fn targets<'a>(pod: Pod<'a>, profile: &Profile) -> Targets<'a> {
    let matches = &profile.matches;
    let asking: Vec<Target<'a>> = pod
        .containers()
        .filter(|container| is_candidate(*container, matches))
        .map(|container| Target::new(container, matches))
        .filter(|target| target.gpus > 0)
        .collect();
    if asking.is_empty() {
        return Targets::None;
    }
    let enough: Vec<Target<'a>> = asking.into_iter().filter(|target| target.gpus >= matches.min_gpus).collect();
    let gpus: u64 = enough.iter().map(|target| target.gpus).fold(0, u64::saturating_add);
    let whole = profile.resources.iter().filter(|resource| !resource.opt_in).filter_map(|one| one.full_node_gpus).max();
    if enough.is_empty() || whole.is_some_and(|whole| gpus < whole) {
        Targets::TooFew
    } else if enough.len() > MOST {
        Targets::TooMany
    } else {
        Targets::Of(enough)
    }
}

/// Every resource that a container asks for, by request or limit; one that stands in both comes twice.
pub(super) fn requests(pod: Pod<'_>) -> impl Iterator<Item = (Container<'_>, &str)> {
    pod.containers().flat_map(|container| {
        let resources = container.raw().get("resources");
        let lists = ["limits", "requests"].into_iter().filter_map(move |list| resources?.get(list)?.as_object());
        lists.flatten().map(move |(resource, _)| (container, resource.as_str()))
    })
}

fn is_candidate(container: Container<'_>, matches: &Match) -> bool {
    let kind = match container.kind {
        ContainerKind::App => true,
        ContainerKind::NativeSidecar => matches.init_containers == InitContainers::RestartableNamed,
        ContainerKind::Init | ContainerKind::Ephemeral => false,
    };
    let name = container.name();
    kind && (matches.container_names.is_empty() || matches.container_names.iter().any(|known| known.as_str() == name))
}

impl<'a> Target<'a> {
    fn new(container: Container<'a>, matches: &Match) -> Self {
        let limits = container.raw().get("resources").and_then(|resources| resources.get("limits"));
        let mut gpus = 0_u64;
        let mut amd = false;
        for (resource, quantity) in limits.and_then(Value::as_object).into_iter().flatten() {
            let fits = |patterns: &[ResourcePattern]| patterns.iter().any(|pattern| fits(pattern.as_str(), resource));
            if fits(&matches.gpu_resources) && !fits(&matches.exclude_resources) {
                let count = whole_units(quantity).unwrap_or_default();
                gpus = gpus.saturating_add(count);
                amd |= count > 0 && resource.starts_with("amd.com/");
            }
        }
        let path = spec([container.kind.list(), &container.index.to_string()]);
        Self { container, gpus, amd, path }
    }

    /// The place of a field below the container, by the keys that lead to it.
    pub(super) fn path<const KEYS: usize>(&self, keys: [&str; KEYS]) -> PointerBuf {
        let mut path = self.path.clone();
        for key in keys {
            path.push_back(key);
        }
        path
    }

    /// The items of the list at `field`.
    pub(super) fn items(&self, field: &str) -> impl Iterator<Item = &'a Value> {
        self.container.raw().get(field).and_then(Value::as_array).into_iter().flatten()
    }

    /// The entry of environment variable `name` that counts: the last one.
    pub(super) fn env(&self, name: &str) -> Option<&'a Value> {
        self.items("env").filter(|entry| entry.get("name").and_then(Value::as_str) == Some(name)).last()
    }

    /// What the container asks for of `resource`: its limit, else its request; 0 where that is no quantity.
    pub(super) fn asks_for(&self, resource: &str) -> Option<u64> {
        let resources = self.container.raw().get("resources")?;
        let found = ["limits", "requests"].into_iter().find_map(|list| resources.get(list)?.get(resource))?;
        Some(whole_units(found).unwrap_or_default())
    }

    /// What stands at `field` of its security context.
    pub(super) fn security(&self, field: &str) -> Option<&'a Value> {
        self.container.raw().get("securityContext")?.get(field).filter(|value| !value.is_null())
    }
}

fn fits(pattern: &str, resource: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => resource.starts_with(start),
        None => resource == pattern,
    }
}
