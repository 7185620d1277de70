//! Claims that the profile adds from templates in the pod's namespace (dynamic resource allocation), and claims of the
//! pod that exclude the profile.

use serde_json::{Value, json};

use super::claimed::{ClaimedAdapters, claimed_adapters, suits};
use super::claims;
use super::planner::{Conflict, Planner, Problem};
use super::profile_claims::{is_claimed, uses};
use crate::config::profile::Claim;
use crate::dra::{ClaimSource, ClaimUncertainty, ClaimedDevices, Count, DeviceKind, PodClaim, template_devices};
use crate::json;
use crate::mutate::plan::spec_path;
use crate::pod::Container;

pub(super) fn plan(planner: &mut Planner<'_>) {
    let profile = planner.profile;
    if profile.dra.claims.is_empty() || foreign_claim(planner).is_some() || plan_claimed(planner) {
        return;
    }
    if planner.claims.is_truncated() {
        let cause = ClaimUncertainty::TooManyClaims;
        planner.add_conflict(cause.to_string(), cause.fix());
        return;
    }
    // One template of the list suffices: another would add a second set of devices.
    let own: Vec<&Claim> = profile.dra.claims.iter().filter(|claim| is_claimed(planner, claim)).collect();
    let without: Vec<usize> = (0..planner.targets.len())
        .filter(|index| !own.iter().any(|claim| planner.targets.get(*index).is_some_and(|it| uses(planner, it, claim))))
        .collect();
    match own.first() {
        Some(claim) => plan_claim(planner, claim, &without),
        None => profile.dra.claims.iter().for_each(|claim| plan_claim(planner, claim, &without)),
    }
}

/// Plans `claim` of the profile for the targets at the indexes `without`.
fn plan_claim(planner: &mut Planner<'_>, claim: &Claim, without: &[usize]) {
    let template = claim.resource_claim_template_name.as_str();
    if planner.cluster.claims.is_missing_template(template) {
        // The pod would stay pending.
        planner.add_guard_conflict(format!("no ResourceClaimTemplate {template} in the namespace"), "create it");
        return;
    }
    if let Some(problem) = second_accelerators(planner, template, without) {
        planner.add_conflict(problem, "claim it instead");
        return;
    }
    if let Some(name) = plan_pod_claim(planner, claim) {
        plan_container_claims(planner, &name, template, without);
    }
}

/// Returns the problem if `template` also provides accelerators: every target has its own, and no node has both sets.
fn second_accelerators(planner: &Planner<'_>, template: &str, without: &[usize]) -> Option<String> {
    let target = planner.targets.get(*without.first()?)?;
    let is_accelerator =
        |devices: &ClaimedDevices<'_>| !devices.is_admin && devices.kind.is_some_and(DeviceKind::is_accelerator);
    let devices = template_devices(planner.cluster.claims, template).into_iter().find(is_accelerator)?;
    let ClaimedDevices { class, count, .. } = devices;
    let (name, gpus) = (target.container.name(), target.gpus);
    let noun = if gpus == Count::exactly(1) { "accelerator" } else { "accelerators" };
    Some(format!("template {template} would add {count} {class} to {gpus} {noun} of {name}"))
}

/// Reports claims of other devices. This is the first conflict to report: without it, the others would lead to a second
/// set of devices.
pub(super) fn check_claims(planner: &mut Planner<'_>) {
    planner.conflicts.extend(foreign_claim(planner));
}

/// Returns the conflict if the pod claims devices that may be adapters other than those of the profile. Devices of the
/// profile would be a second set.
fn foreign_claim(planner: &Planner<'_>) -> Option<Conflict> {
    if planner.claims.is_empty() || !planner.profile.adds_adapters() {
        return None;
    }
    if planner.claims.is_truncated() {
        // Claims that are not read may provide adapters.
        let cause = ClaimUncertainty::TooManyClaims;
        return Some(Conflict::new(cause.to_string(), cause.fix()).at(Some(spec_path(["resourceClaims"]).to_string())));
    }
    planner.claims.claims().iter().find_map(|claim| {
        let (problem, fix) = foreign_devices(planner, claim)?;
        Some(Conflict::new(problem, fix).at(Some(claim_pointer(planner, claim))))
    })
}

/// Returns the JSON pointer of `claim` in the pod.
fn claim_pointer(planner: &Planner<'_>, claim: &PodClaim<'_>) -> String {
    let has_name = |item: &Value| json::text(item, "name").is_some_and(|name| claim.has_name(name));
    let index = planner.spec_items("resourceClaims").position(has_name).unwrap_or_default();
    spec_path(["resourceClaims", &index.to_string()]).to_string()
}

/// Returns the problem if `claim` may provide adapters other than those of the profile. dranet moves the interfaces of all
/// claims into the pod, whichever container refers to them, if any.
fn foreign_devices(planner: &Planner<'_>, claim: &PodClaim<'_>) -> Option<Problem> {
    let profile = planner.profile;
    if matches!(claim.source, ClaimSource::Template(template) if profile.names_template(template)) {
        return None;
    }
    let has = |container: Container<'_>, devices: &ClaimedDevices<'_>| {
        planner.claims.devices(container).any(|(_, found)| std::ptr::eq(found, devices))
    };
    let is_foreign = |devices: &&ClaimedDevices<'_>| {
        let may_be_adapter = devices.kind.is_none_or(|kind| kind.is_adapter() || kind == DeviceKind::Interface);
        let is_own = planner.targets.iter().any(|target| has(target.container, devices))
            && suits(profile, planner.cluster.claims, devices);
        may_be_adapter && !devices.is_admin && !is_own
    };
    let devices = match claim.devices() {
        Err(cause) => Err(cause),
        Ok(mut devices) => Ok(devices.find(is_foreign)?),
    };
    let targets = || planner.targets.iter().map(|target| target.container);
    let containers = || targets().chain(planner.pod.containers());
    let holder = devices.ok().and_then(|devices| containers().find(|container| has(*container, devices)));
    let user = holder.or_else(|| containers().find(|container| claim.is_used_by(*container)));
    let subject = user.map_or("the pod", |container| container.name());
    let ClaimedDevices { class, count, kind, .. } = match devices {
        Ok(devices) => devices,
        Err(cause) => {
            let fix = claims::fix(planner.context, cause.fix());
            return Some((format!("{subject} claims devices by {}, which {cause}", claim.source), fix.into()));
        }
    };
    let fix = match (claim.source, kind) {
        (source, None) => planner.claims.unknown_class(class, source).fix(),
        // Beside networks, the claim would add a second set.
        _ if profile.attaches_networks() => "name a template in dra.claims of a profile without networks",
        (ClaimSource::Template(_), _) => "name it in dra.claims of the profile",
        (ClaimSource::Claim(_) | ClaimSource::Pod(_), _) => "use a template and name it in dra.claims of the profile",
    };
    Some((format!("{subject} already claims {count} {class} by {}", claim.source), fix.into()))
}

/// Notes the adapters that the targets claim instead of the profile's. Returns true if there are any.
fn plan_claimed(planner: &mut Planner<'_>) -> bool {
    let claimed: Vec<Option<ClaimedAdapters>> =
        planner.targets.iter().map(|target| claimed_adapters(planner, target)).collect();
    if claimed.iter().all(Option::is_none) {
        return false;
    }
    let names: Vec<&str> = planner.targets.iter().map(|target| target.container.name()).collect();
    for (name, adapters) in names.into_iter().zip(claimed) {
        match adapters {
            Some(adapters) => planner.note_found(adapters.text),
            None => {
                planner.add_conflict(format!("{name} claims no adapters, unlike other containers"), "add the claim");
            }
        }
    }
    true
}

/// Plans the pod's claim and returns its name. If the pod already has a claim from the same template, returns that.
fn plan_pod_claim(planner: &mut Planner<'_>, claim: &Claim) -> Option<String> {
    let template = claim.resource_claim_template_name.as_str();
    let is_existing = |item: &&Value| json::text(item, "resourceClaimTemplateName") == Some(template);
    if let Some(existing) = planner.spec_items("resourceClaims").find(is_existing) {
        return json::text(existing, "name").map(str::to_owned);
    }
    let name = claim.name.as_str();
    if let Some(index) = planner.spec_items("resourceClaims").position(|item| json::text(item, "name") == Some(name)) {
        let path = spec_path(["resourceClaims", &index.to_string()]);
        planner.add_conflict_at(path, format!("resource claim {name} uses another template"), "rename it");
        return None;
    }
    let claims = spec_path(["resourceClaims"]);
    planner.plan.append(claims, json!({"name": name, "resourceClaimTemplateName": template}));
    Some(name.to_owned())
}

fn plan_container_claims(planner: &mut Planner<'_>, name: &str, template: &str, without: &[usize]) {
    if !without.is_empty() {
        planner.append(without, ["resources", "claims"], json!({"name": name}));
        let suffix = planner.container_suffix(without);
        planner.note_added(format!("claim {name} (template {template}){suffix}"));
    }
}
