//! Devices by dynamic resource allocation: claims that the pod makes from a template of its namespace.

use serde_json::{Value, json};

use super::work::Work;
use crate::config::profile::Claim;
use crate::mutate::plan::spec;

pub(super) fn plan(work: &mut Work<'_>) {
    let profile = work.profile;
    for claim in &profile.dra.claims {
        let template = claim.resource_claim_template_name.as_str();
        if work.cluster.claim_templates.is_some_and(|known| !known.contains(template)) {
            // The pod would never be scheduled.
            work.guarded(format!("no ResourceClaimTemplate {template} in the namespace"), "create it");
            continue;
        }
        if let Some(name) = of_pod(work, claim) {
            of_containers(work, &name, template);
        }
    }
}

/// Plans the pod's claim; returns its name, which is another where the user claims from the same template.
fn of_pod(work: &mut Work<'_>, claim: &Claim) -> Option<String> {
    let template = claim.resource_claim_template_name.as_str();
    let text = |item: &Value, field: &str| item.get(field).and_then(Value::as_str).map(str::to_owned);
    let same =
        work.items("resourceClaims").find(|item| text(item, "resourceClaimTemplateName").as_deref() == Some(template));
    if let Some(same) = same {
        return text(same, "name");
    }
    let name = claim.name.as_str();
    if work.items("resourceClaims").any(|item| text(item, "name").as_deref() == Some(name)) {
        work.conflict(format!("resource claim {name} is of another template"), "rename it");
        return None;
    }
    let claims = spec(["resourceClaims"]);
    work.plan.append(claims, json!({"name": name, "resourceClaimTemplateName": template}));
    Some(name.to_owned())
}

fn of_containers(work: &mut Work<'_>, name: &str, template: &str) {
    let mut given = Vec::new();
    for (index, target) in work.targets.iter().enumerate() {
        let claims = target.container.raw().get("resources").and_then(|resources| resources.get("claims")?.as_array());
        let claimed = |claim: &Value| claim.get("name").and_then(Value::as_str) == Some(name);
        if !claims.is_some_and(|claims| claims.iter().any(claimed)) {
            given.push(index);
        }
    }
    if !given.is_empty() {
        work.append(&given, ["resources", "claims"], json!({"name": name}));
        let place = work.of(&given);
        work.added(format!("claim {name} of {template}{place}"));
    }
}
