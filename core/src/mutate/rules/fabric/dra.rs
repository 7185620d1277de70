//! Dynamic resource allocation: resource claims from templates in the pod's namespace.

use serde_json::{Value, json};

use super::planner::Planner;
use crate::config::profile::Claim;
use crate::mutate::plan::spec;

pub(super) fn plan(planner: &mut Planner<'_>) {
    let profile = planner.profile;
    for claim in &profile.dra.claims {
        let template = claim.resource_claim_template_name.as_str();
        if planner.cluster.claim_templates.is_some_and(|known| !known.contains(template)) {
            // The pod would stay pending.
            planner.add_guard_conflict(format!("no ResourceClaimTemplate {template} in the namespace"), "create it");
            continue;
        }
        if let Some(name) = plan_pod_claim(planner, claim) {
            plan_container_claims(planner, &name, template);
        }
    }
}

/// Plans the pod's claim and returns its name. If the pod already has a claim from the same template, returns that.
fn plan_pod_claim(planner: &mut Planner<'_>, claim: &Claim) -> Option<String> {
    let template = claim.resource_claim_template_name.as_str();
    let text = |item: &Value, field: &str| item.get(field).and_then(Value::as_str).map(str::to_owned);
    let existing = planner
        .spec_items("resourceClaims")
        .find(|item| text(item, "resourceClaimTemplateName").as_deref() == Some(template));
    if let Some(existing) = existing {
        return text(existing, "name");
    }
    let name = claim.name.as_str();
    if planner.spec_items("resourceClaims").any(|item| text(item, "name").as_deref() == Some(name)) {
        planner.add_conflict(format!("resource claim {name} uses another template"), "rename it");
        return None;
    }
    let claims = spec(["resourceClaims"]);
    planner.plan.append(claims, json!({"name": name, "resourceClaimTemplateName": template}));
    Some(name.to_owned())
}

fn plan_container_claims(planner: &mut Planner<'_>, name: &str, template: &str) {
    let mut missing = Vec::new();
    for (index, target) in planner.targets.iter().enumerate() {
        let claims = target.container.raw().get("resources").and_then(|resources| resources.get("claims")?.as_array());
        let claimed = |claim: &Value| claim.get("name").and_then(Value::as_str) == Some(name);
        if !claims.is_some_and(|claims| claims.iter().any(claimed)) {
            missing.push(index);
        }
    }
    if !missing.is_empty() {
        planner.append(&missing, ["resources", "claims"], json!({"name": name}));
        let suffix = planner.container_suffix(&missing);
        planner.note_added(format!("claim {name} (template {template}){suffix}"));
    }
}
