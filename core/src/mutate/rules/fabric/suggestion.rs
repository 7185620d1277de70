//! Suggestion of a profile for a pod that requests RDMA adapters but selects none.

use super::super::RuleContext;
use super::claimed::read_claims;
use super::planner::selected_machines;
use super::target::{Targets, requests, targets};
use crate::config::Profile;
use crate::config::profile::{Amount, ResourceName};
use crate::fabric::is_rdma_resource;

/// Maximum number of profiles that are named: all built-in ones for the most common adapter, `rdma/ib`.
const MAX_PROFILES: usize = 6;

/// Returns which profiles fit the adapters that the pod requests, if any: they add the same adapter, apply to the pod's
/// accelerators, and are available in its namespace.
pub(super) fn suggestion(context: &RuleContext<'_>) -> Option<String> {
    let (_, adapter) = requests(context.pod).find(|(_, resource)| is_rdma_resource(resource))?;
    let profiles = context.snapshot.config.fabric.profiles.all();
    let fitting = profiles.into_iter().filter(|(_, entry)| fits(context, &entry.profile, adapter));
    let names: Vec<&str> = fitting.map(|(name, _)| name).collect();
    let more = names.len().saturating_sub(MAX_PROFILES);
    match &*names {
        [] => None,
        [name] => Some(format!("the pod requests {adapter}: profile {name} fits")),
        [..] if more == 0 => Some(format!("the pod requests {adapter}: profiles {} fit", names.join(", "))),
        [first @ .., _] => {
            let first: Vec<&str> = first.iter().take(MAX_PROFILES).copied().collect();
            Some(format!("the pod requests {adapter}: profiles {} and {more} more fit", first.join(", ")))
        }
    }
}

fn fits(context: &RuleContext<'_>, profile: &Profile, adapter: &str) -> bool {
    adds(profile, adapter)
        && profile.allows(context.snapshot.namespace, context.snapshot.namespace_labels)
        && is_matched(context, profile)
        && selected_machines(context.pod, profile).into_iter().all(|machine| profile.matches.allows_machine(machine))
}

/// Returns true if `profile` adds `adapter` itself, not only the memory for it.
fn adds(profile: &Profile, adapter: &str) -> bool {
    let devices = profile.resources.iter().filter(|resource| matches!(resource.amount, Amount::Devices { .. }));
    let names = devices.map(|resource| &resource.name).chain(&profile.dra.extended_resource);
    names.map(ResourceName::as_str).any(|name| name == adapter)
}

fn is_matched(context: &RuleContext<'_>, profile: &Profile) -> bool {
    matches!(targets(context, profile, &read_claims(context, profile)), Targets::Matched(_))
}
