//! Dynamic resource allocation: resource claims from templates in the pod's namespace.

use serde_json::{Value, json};

use super::planner::Planner;
use crate::config::profile::Claim;
use crate::mutate::plan::spec_path;

pub(super) fn plan(planner: &mut Planner<'_>) {
    let profile = planner.profile;
    if foreign_claim(planner).is_some() {
        return;
    }
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

/// Reports claims of other devices. This is the first conflict to report: without it, the others would lead to a second
/// set of devices.
pub(super) fn check_claims(planner: &mut Planner<'_>) {
    if let Some((container, claim)) = foreign_claim(planner) {
        let problem = format!("{container} already claims devices by {claim}");
        planner.add_conflict(problem, "name it in dra.claims of the profile");
    }
}

/// Returns a container that claims devices which the profile does not know, and their source. Devices of the profile
/// would be a second set.
fn foreign_claim<'a>(planner: &Planner<'a>) -> Option<(&'a str, String)> {
    let profile = planner.profile;
    let networks = &profile.networks;
    let adds_devices = profile.resources.iter().any(|resource| !resource.opt_in)
        || !profile.dra.claims.is_empty()
        || profile.dra.extended_resource.is_some()
        || !(networks.multus.attach.is_empty() && networks.gke.interfaces.is_empty());
    if !profile.is_rdma() || !adds_devices {
        return None;
    }
    let text = |item: &'a Value, field: &str| item.get(field).and_then(Value::as_str);
    let is_known =
        |template: &str| profile.dra.claims.iter().any(|claim| claim.resource_claim_template_name.as_str() == template);
    planner.targets.iter().find_map(|target| {
        let claims = target.container.raw().get("resources")?.get("claims")?.as_array()?;
        let foreign = claims.iter().filter_map(|claim| text(claim, "name")).find_map(|name| {
            let claim = planner.spec_items("resourceClaims").find(|claim| text(claim, "name") == Some(name))?;
            match (text(claim, "resourceClaimTemplateName"), text(claim, "resourceClaimName")) {
                (Some(template), _) if is_known(template) => None,
                (template, object) if [Some(name), template, object].into_iter().flatten().any(is_channel) => None,
                (Some(template), _) => Some(format!("template {template}")),
                (None, Some(object)) => Some(format!("claim {object}")),
                (None, None) => None,
            }
        })?;
        Some((target.container.name(), foreign))
    })
}

/// Returns true if the name of a claim suggests a channel of a `ComputeDomain`, which is for `NVLink` between nodes and
/// is not a second set of adapters. The examples of NVIDIA and of all vendors use such names.
fn is_channel(name: &str) -> bool {
    ["channel", "compute-domain", "imex"].iter().any(|word| name.contains(word))
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
    let claims = spec_path(["resourceClaims"]);
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
