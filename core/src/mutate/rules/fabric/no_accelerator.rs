//! Pods without accelerators of the selected profile.

use super::claims::other_devices;
use super::selection::Selection;
use super::target::{requests, resource_path};
use crate::config::profile::ResourcePattern;
use crate::dra::PodClaims;
use crate::fabric::is_rdma_resource;
use crate::mutate::Reason;
use crate::mutate::rules::{RuleContext, RuleDecision};
use crate::pod::misspelled_accelerator;
use crate::quantity::whole_units;

/// Skips a pod without accelerators of the profile, and names other devices that it requests or claims.
pub(super) fn skip<'a>(context: &RuleContext<'a>, selection: &Selection<'_>, claims: &PodClaims<'a>) -> RuleDecision {
    let name = selection.name;
    let skipped = RuleDecision::skipped(Reason::NoAccelerator);
    if let Some(others) = other_devices(context, claims) {
        return skipped.with_detail(format!("{name}: {others}"));
    }
    let is_device = |resource: &str| resource.contains('/') && !is_rdma_resource(resource);
    let Some((container, resource)) = requests(context.pod).find(|(_, resource)| is_device(resource)) else {
        return skipped.with_detail(name);
    };
    let expected: Vec<&str> = selection.profile.matches.gpu_resources.iter().map(ResourcePattern::as_str).collect();
    let subject = container.name();
    if let Some(near) = misspelled_accelerator(resource) {
        let problem = format!("{subject} requests {resource}: did you mean {near}?");
        let warning = format!("fabric {name} not applied: {problem}");
        let field = resource_path(container, resource).to_string();
        return skipped.with_detail(format!("{name}: {problem}")).with_warning(warning).with_field(field);
    }
    if !expected.contains(&resource) {
        let expected = expected.join(" or ");
        return skipped.with_detail(format!("{name}: {subject} requests {resource}, the profile is for {expected}"));
    }
    // A container with a limit is not one of those that the profile applies to.
    let limit = container.raw().get("resources").and_then(|resources| resources.get("limits")?.get(resource));
    match limit.and_then(whole_units).unwrap_or_default() {
        0 => skipped.with_detail(format!("{name}: {subject} has no limit of 1 or more for {resource}")),
        _ => skipped.with_detail(name),
    }
}
