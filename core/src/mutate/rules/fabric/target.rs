//! Target containers of a profile: those that request or claim an accelerator. Ordinary init containers are never targets,
//! native sidecars only if the profile includes them; proxies and launchers have no accelerator.

use std::fmt;

use json_patch::jsonptr::PointerBuf;
use serde_json::Value;

use super::claims;
use crate::config::profile::{InitContainers, Match, Profile};
use crate::dra::{AcceleratorKind, CLASS_RESOURCE_PREFIX, Count, DeviceKind, PodClaims};
use crate::fabric::is_rdma_resource;
use crate::json;
use crate::mutate::plan::spec_path;
use crate::mutate::rules::RuleContext;
use crate::pod::{Container, ContainerKind, Pod};
use crate::quantity::whole_units;

/// Target containers of a profile in a pod.
pub(super) enum Targets<'a> {
    /// The profile matches these containers.
    Matched(Vec<TargetContainer<'a>>),
    /// No container has an accelerator.
    None,
    /// Claims do not show whether the profile matches.
    Unknown(Uncertainty),
    /// Containers have accelerators, but fewer than the profile requires.
    TooFew,
    /// More than [`MAX_TARGETS`] containers have accelerators.
    TooMany,
}

/// Maximum number of target containers. No node has as many accelerators, and every container takes up to a hundred
/// patch operations.
pub(super) const MAX_TARGETS: usize = 64;

const AMD: DeviceKind = DeviceKind::Accelerator(AcceleratorKind::Amd);

/// A container that a profile applies to.
#[derive(Clone, Debug)]
pub(super) struct TargetContainer<'a> {
    pub(super) container: Container<'a>,
    /// Number of accelerators that the container requests and claims.
    pub(super) gpus: Count,
    /// Cause if the number is not known exactly.
    pub(super) uncertainty: Option<Uncertainty>,
    /// True if they are AMD accelerators, whose RCCL reads its own configuration file.
    pub(super) amd: bool,
    /// Number of accelerators in the limits alone.
    requested_gpus: u64,
    path: PointerBuf,
}

/// Why a number of accelerators is not known, with a fix.
#[derive(Clone, Debug, Default)]
pub(super) struct Uncertainty {
    pub(super) problem: String,
    pub(super) fix: &'static str,
}

/// Returns the containers of the pod that `profile` applies to. `claims` are the pod's.
pub(super) fn targets<'a>(context: &RuleContext<'a>, profile: &Profile, claims: &PodClaims<'a>) -> Targets<'a> {
    let matches = &profile.matches;
    let mut requesting: Vec<TargetContainer<'a>> = context
        .pod
        .containers()
        .filter(|container| is_candidate(*container, matches))
        .map(|container| TargetContainer::new(context, container, matches, claims))
        .filter(|target| !target.gpus.is_zero())
        .collect();
    if !requesting.iter().any(|target| target.gpus.is_positive()) {
        return requesting.first().map_or(Targets::None, |target| Targets::Unknown(target.uncertainty()));
    }
    requesting.retain(|target| target.gpus.is_positive());
    let may_have_enough = |target: &TargetContainer<'_>| !target.gpus.is_less_than(matches.min_gpus);
    let has_enough = |target: &TargetContainer<'_>| target.gpus.min() >= matches.min_gpus;
    if let Some(target) = requesting.iter().find(|target| may_have_enough(target) && !has_enough(target)) {
        return Targets::Unknown(target.uncertainty());
    }
    requesting.retain(has_enough);
    let whole = whole_node(profile);
    if requesting.is_empty() {
        return Targets::TooFew;
    }
    if let Some(whole) = whole {
        let total = total(&requesting, matches, claims);
        if total.is_less_than(whole) {
            return Targets::TooFew;
        }
        if total.min() < whole
            && let Some(target) = requesting.iter().find(|target| target.uncertainty.is_some())
        {
            return Targets::Unknown(target.uncertainty());
        }
    }
    if requesting.len() > MAX_TARGETS { Targets::TooMany } else { Targets::Matched(requesting) }
}

/// Returns the number of accelerators that the pod must have for the adapters of a whole node; `None` if these are added for fewer.
fn whole_node(profile: &Profile) -> Option<u64> {
    profile.resources.iter().filter(|resource| !resource.opt_in).filter_map(|one| one.full_node_gpus).max()
}

/// Returns the number of accelerators that `profile` requires.
pub(super) fn required(profile: &Profile) -> String {
    match whole_node(profile) {
        Some(whole) => format!("at least {whole} in the pod"),
        None => format!("at least {} in one container", profile.matches.min_gpus),
    }
}

/// Returns the number of accelerators that `targets` have together: containers may share a claim.
fn total(targets: &[TargetContainer<'_>], matches: &Match, claims: &PodClaims<'_>) -> Count {
    let requested = targets.iter().map(|target| target.requested_gpus).fold(0, u64::saturating_add);
    if claims.is_empty() {
        return Count::exactly(requested);
    }
    let containers: Vec<Container<'_>> = targets.iter().map(|target| target.container).collect();
    let total = Count::exactly(requested).plus(claims.total(&containers, |kind| is_matched(matches, kind)));
    let is_bounded = targets.iter().all(|target| target.gpus.max().is_some());
    if is_bounded { total } else { total.plus(Count::UNKNOWN) }
}

/// Returns every resource that a container requests or limits. A resource in both lists is returned twice.
pub(super) fn requests(pod: Pod<'_>) -> impl Iterator<Item = (Container<'_>, &str)> {
    pod.containers().flat_map(|container| {
        let resources = json::get(container.raw(), "resources");
        let lists = ["limits", "requests"].into_iter().filter_map(move |list| json::get(resources?, list)?.as_object());
        lists.flatten().map(move |(resource, _)| (container, resource.as_str()))
    })
}

/// Returns the path of `resource` in the limits of `container`, else in its requests.
pub(super) fn resource_path(container: Container<'_>, resource: &str) -> PointerBuf {
    let limit = container.raw().get("resources").and_then(|lists| lists.get("limits")?.get(resource));
    let list = if limit.is_some() { "limits" } else { "requests" };
    spec_path([container.kind.spec_list(), &container.index.to_string(), "resources", list, resource])
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

/// Returns true if devices of this kind count as accelerators of the profile.
fn is_matched(matches: &Match, kind: DeviceKind) -> bool {
    kind.accelerator_resources().iter().any(|resource| matches.is_accelerator(resource))
}

impl<'a> TargetContainer<'a> {
    fn new(context: &RuleContext<'a>, container: Container<'a>, matches: &Match, claims: &PodClaims<'a>) -> Self {
        let limits = container.raw().get("resources").and_then(|resources| resources.get("limits"));
        let mut requested_gpus = 0_u64;
        let mut amd = false;
        let mut unknown_class = None;
        let classes = context.snapshot.cluster.claims.classes();
        for (resource, quantity) in limits.and_then(Value::as_object).into_iter().flatten() {
            let by_class = || classes.kind_of_resource(resource).filter(|kind| is_matched(matches, *kind));
            let (is_own, kind) = (matches.is_accelerator(resource), by_class());
            if is_own || kind.is_some() {
                let count = whole_units(quantity).unwrap_or_default();
                requested_gpus = requested_gpus.saturating_add(count);
                amd |= count > 0 && (resource.starts_with("amd.com/") || kind == Some(AMD));
            } else if let Some(class) = resource.strip_prefix(CLASS_RESOURCE_PREFIX)
                && classes.kind_of_resource(resource).is_none()
                && !is_rdma_resource(resource)
            {
                unknown_class = Some(class);
            }
        }
        let fits = |kind| is_matched(matches, kind);
        // A container that requests accelerators is not expected to claim others.
        let claimed =
            if requested_gpus > 0 { claims.known_count(container, fits) } else { claims.count(container, fits) };
        amd |= claims.devices(container).any(|(_, devices)| devices.kind == Some(AMD) && fits(AMD));
        let mut gpus = Count::exactly(requested_gpus).plus(claimed);
        let mut uncertainty = gpus.exact().is_none().then(|| Uncertainty::of_claims(context, container, claims, fits));
        if let Some(class) = unknown_class.filter(|_| gpus.is_zero()) {
            gpus = Count::UNKNOWN;
            uncertainty = Some(Uncertainty::of_class(container, class));
        }
        let path = spec_path([container.kind.spec_list(), &container.index.to_string()]);
        Self { container, gpus, uncertainty, amd, requested_gpus, path }
    }

    /// Returns why the number of accelerators is not known, if so.
    fn uncertainty(&self) -> Uncertainty {
        self.uncertainty.clone().unwrap_or_default()
    }

    /// Returns the resources in the container's limits, with whole amounts.
    pub(super) fn limits(&self) -> impl Iterator<Item = (&'a str, u64)> {
        let limits = self.container.raw().get("resources").and_then(|resources| resources.get("limits")?.as_object());
        let limits = limits.into_iter().flatten();
        limits.filter_map(|(resource, quantity)| Some((resource.as_str(), whole_units(quantity)?)))
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
        json::items(self.container.raw(), field)
    }

    /// Returns the effective entry of environment variable `name`.
    pub(super) fn env(&self, name: &str) -> Option<&'a Value> {
        self.container.env_entry(name).map(|(_, entry)| entry)
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

impl Uncertainty {
    /// The claims of the container do not show how many accelerators it has.
    fn of_claims<'a>(
        context: &RuleContext<'a>,
        container: Container<'a>,
        claims: &PodClaims<'a>,
        fits: impl Fn(DeviceKind) -> bool,
    ) -> Self {
        let Some(cause) = claims.uncertainty(container, fits) else { return Self::default() };
        Self { problem: format!("{}: {cause}", container.name()), fix: claims::fix(context, cause.fix()) }
    }

    /// The container requests devices of a class that is not known.
    fn of_class(container: Container<'_>, class: &str) -> Self {
        let problem = format!("{}: class {class} is unknown", container.name());
        Self { problem, fix: "create it, or set its extendedResourceName to the resource of the device plugin" }
    }
}

impl fmt::Display for Uncertainty {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.problem, self.fix)
    }
}
