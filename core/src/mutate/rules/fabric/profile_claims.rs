//! Claims that the profile adds, and which of them the pod already has.

use super::planner::Planner;
use super::target::TargetContainer;
use crate::config::profile::Claim;
use crate::dra::{ClaimSource, PodClaim};

/// Returns the claims of the profile that `target` has, or gets by its plan.
pub(super) fn claims_of_target<'a>(planner: &Planner<'a>, target: &TargetContainer<'_>) -> Vec<&'a Claim> {
    let all = &planner.profile.dra.claims;
    let used: Vec<&Claim> = all.iter().filter(|claim| uses(planner, target, claim)).collect();
    if !used.is_empty() {
        return used;
    }
    match all.iter().find(|claim| is_claimed(planner, claim)) {
        Some(claim) => vec![claim],
        None => all.iter().collect(),
    }
}

/// Returns true if the pod has a claim from the template of `claim`.
pub(super) fn is_claimed(planner: &Planner<'_>, claim: &Claim) -> bool {
    planner.claims.claims().iter().any(|own| is_from(own, claim))
}

/// Returns true if `target` refers to a claim from the template of `claim`.
pub(super) fn uses(planner: &Planner<'_>, target: &TargetContainer<'_>, claim: &Claim) -> bool {
    planner.claims.claims().iter().any(|own| is_from(own, claim) && own.is_used_by(target.container))
}

fn is_from(own: &PodClaim<'_>, claim: &Claim) -> bool {
    own.source == ClaimSource::Template(claim.resource_claim_template_name.as_str())
}
