//! Names of resources that no node offers, or that the apiserver rejects (kubernetes/kubernetes, `pkg/apis/core/validation`,
//! `validateContainerResourceName`).

use json_patch::jsonptr::PointerBuf;
use serde_json::{Map, Value};

use crate::fabric::misspelled_adapter;
use crate::finding::Severity;
use crate::hint::nearest;
use crate::huge_pages::{PREFIX, indivisible_page, is_huge_pages};
use crate::lint::display_name::display_name;
use crate::lint::sink::FindingSink;
use crate::pod::{Pod, is_accelerator, misspelled_accelerator};
use crate::quantity::{is_whole, whole_units};

/// Resources without a domain.
const STANDARD: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// Number of CPUs that no node has.
const MANY_CPUS: u64 = 100_000;
/// Number of bytes below which a fraction of one shows a wrong unit. `0.1Gi` is none either.
const FEW_BYTES: u64 = 1 << 20;
/// Number of bytes below which no container starts.
const TOO_FEW_BYTES: u64 = 64 << 10;
/// List of the resources that a container may use.
const LIMITS: &str = "limits";
/// Resources of a whole pod, beside huge pages.
const OF_PODS: [&str; 2] = ["cpu", "memory"];

/// Reports the resources of the containers of `pod`, and of the pod itself.
pub(super) fn check(pod: Pod<'_>, findings: &mut FindingSink<'_>) {
    for container in pod.containers() {
        let path = container.pointer();
        for (list, resource, quantity) in entries(container.raw()) {
            let field = || format!("{path}/resources{}", PointerBuf::from_tokens([list, resource]));
            if let Some(page) = indivisible_page(resource, quantity) {
                let problem = format!("{resource} in {list} is {quantity}: expected a multiple of {page}");
                let message = format!("{}: the apiserver rejects the pod: {problem}", display_name(container));
                findings.push_as(Severity::Error, field(), message);
            }
            if !resource.contains(['/', '$']) && !is_standard(resource) {
                let message = format!("the apiserver rejects the resource {resource}: {}", suggestion(resource));
                findings.push_as(Severity::Error, field(), message);
            } else if let Some(near) = misspelled_accelerator(resource).or_else(|| misspelled_adapter(resource)) {
                let message = format!("no device plugin is known to provide {resource}: did you mean {near}?");
                findings.push(field(), message);
            }
            let describe = |problem| format!("{}: {resource} in {list} {problem}", display_name(container));
            let is_limit = list == LIMITS;
            let of_limit = || unlikely_limit(resource, quantity).filter(|_| is_limit);
            if let Some(problem) = unlikely_quantity(resource, quantity).or_else(of_limit) {
                findings.push(field(), describe(problem));
            } else if let Some(problem) = uncounted_devices(resource, quantity).filter(|_| is_limit) {
                findings.push_as(Severity::Info, field(), describe(problem));
            }
        }
    }
    for (list, resource, _) in pod.raw().get("spec").into_iter().flat_map(entries) {
        if !resource.contains('$') && !OF_PODS.contains(&resource) && !is_huge_pages(resource) {
            let field = format!("/spec/resources{}", PointerBuf::from_tokens([list, resource]));
            let message =
                format!("the apiserver rejects {resource} in the resources of a pod: request it in a container");
            findings.push_as(Severity::Error, field, message);
        }
    }
}

/// Returns the resources of `owner`, each between the list that contains it and its quantity.
fn entries(owner: &Value) -> impl Iterator<Item = (&'static str, &str, &Value)> {
    let resources = owner.get("resources");
    [LIMITS, "requests"].into_iter().flat_map(move |list| {
        let entries = resources.and_then(|resources| resources.get(list)?.as_object());
        entries.into_iter().flat_map(Map::iter).map(move |(resource, quantity)| (list, resource.as_str(), quantity))
    })
}

/// Returns the problem of a quantity that the apiserver accepts, but whose unit is that of another resource.
fn unlikely_quantity(resource: &str, quantity: &Value) -> Option<String> {
    let units = whole_units(quantity)?;
    match resource {
        "cpu" if units >= MANY_CPUS => {
            Some(format!("is {quantity}: that is {units} CPUs: use a number such as 8 or 500m"))
        }
        "memory" | "ephemeral-storage" if is_whole(quantity) == Some(false) && units < FEW_BYTES => {
            Some(format!("is {quantity}: that is a fraction of a byte: use a unit such as Mi or Gi"))
        }
        _ => None,
    }
}

/// Returns the problem of a limit that the apiserver accepts: memory without a unit.
fn unlikely_limit(resource: &str, quantity: &Value) -> Option<String> {
    let units = whole_units(quantity).filter(|units| *units > 0)?;
    (resource == "memory" && units < TOO_FEW_BYTES)
        .then(|| format!("is {quantity}: no container starts with so few bytes: use a unit such as Mi or Gi"))
}

/// Returns the problem of a number of accelerators in another form than digits, with which the pod runs.
fn uncounted_devices(resource: &str, quantity: &Value) -> Option<String> {
    let units = whole_units(quantity).filter(|units| *units > 0)?;
    let is_other_form = quantity.as_str().is_some_and(|text| text.parse::<u64>().is_err());
    (is_accelerator(resource) && is_other_form && is_whole(quantity) == Some(true))
        .then(|| format!("is {quantity}: write {units}, because trainmesh counts only digits"))
}

fn is_standard(resource: &str) -> bool {
    STANDARD.contains(&resource) || is_huge_pages(resource)
}

/// Returns how to correct a resource without a domain.
fn suggestion(resource: &str) -> String {
    if let Some(near) = misspelled_accelerator(resource).or_else(|| nearest(resource, &STANDARD)) {
        return format!("did you mean {near}?");
    }
    match resource.split_once('-') {
        Some((name, size)) if nearest(name, &[PREFIX.trim_end_matches('-')]).is_some() => {
            format!("did you mean {PREFIX}{size}?")
        }
        _ => {
            "devices have a domain, such as nvidia.com/gpu; others are cpu, memory, ephemeral-storage and hugepages-2Mi"
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("memory", json!("100m"), Some("is \"100m\": that is a fraction of a byte: use a unit such as Mi or Gi"))]
    #[case("memory", json!(0.5), Some("is 0.5: that is a fraction of a byte: use a unit such as Mi or Gi"))]
    #[case("ephemeral-storage", json!("1m"), Some("is \"1m\": that is a fraction of a byte: use a unit such as Mi or Gi"))]
    #[case("cpu", json!("0.5Gi"), Some("is \"0.5Gi\": that is 536870912 CPUs: use a number such as 8 or 500m"))]
    #[case("cpu", json!("512M"), Some("is \"512M\": that is 512000000 CPUs: use a number such as 8 or 500m"))]
    #[case("cpu", json!("100m"), None)]
    #[case("cpu", json!("1k"), None)]
    #[case("cpu", json!(192), None)]
    #[case("memory", json!("0.1Gi"), None)]
    #[case("memory", json!("1.5Gi"), None)]
    #[case("memory", json!("128974848000m"), None)]
    #[case("memory", json!("1000m"), None)]
    #[case("memory", json!(0), None)]
    #[case("memory", json!("64GB"), None)]
    #[case("memory", json!(null), None)]
    #[case("nvidia.com/gpu", json!("100m"), None)]
    fn units_of_other_resources_are_reported(
        #[case] resource: &str,
        #[case] quantity: Value,
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(unlikely_quantity(resource, &quantity).as_deref(), expected);
    }

    #[rstest]
    #[case("memory", json!(64), Some("is 64: no container starts with so few bytes: use a unit such as Mi or Gi"))]
    #[case("memory", json!("64Mi"), None)]
    #[case("memory", json!(0), None)]
    #[case("cpu", json!(64), None)]
    fn unlikely_limits_are_reported(#[case] resource: &str, #[case] quantity: Value, #[case] expected: Option<&str>) {
        assert_eq!(unlikely_limit(resource, &quantity).as_deref(), expected);
    }

    #[rstest]
    #[case("nvidia.com/gpu", json!("8 "), Some("is \"8 \": write 8, because trainmesh counts only digits"))]
    #[case("nvidia.com/gpu", json!("8000m"), Some("is \"8000m\": write 8, because trainmesh counts only digits"))]
    #[case("nvidia.com/gpu", json!("500m"), None)]
    #[case("nvidia.com/gpu", json!("8"), None)]
    #[case("nvidia.com/gpu", json!(8), None)]
    #[case("vpc.amazonaws.com/efa", json!("32 "), None)]
    fn uncounted_devices_are_reported(#[case] resource: &str, #[case] quantity: Value, #[case] expected: Option<&str>) {
        assert_eq!(uncounted_devices(resource, &quantity).as_deref(), expected);
    }
}
