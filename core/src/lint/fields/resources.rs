//! Names of resources that no node offers, or that the apiserver rejects (kubernetes/kubernetes, `pkg/apis/core/validation`,
//! `validateContainerResourceName`).

use json_patch::jsonptr::PointerBuf;
use serde_json::{Map, Value};

use crate::fabric::misspelled_adapter;
use crate::finding::Severity;
use crate::hint::nearest;
use crate::huge_pages::{PREFIX, is_huge_pages};
use crate::lint::sink::FindingSink;
use crate::pod::{Pod, misspelled_accelerator};

/// Resources without a domain.
const STANDARD: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// Resources of a whole pod, beside huge pages.
const OF_PODS: [&str; 2] = ["cpu", "memory"];

/// Reports the resources of the containers of `pod`, and of the pod itself.
pub(super) fn check(pod: Pod<'_>, findings: &mut FindingSink<'_>) {
    for container in pod.containers() {
        let path = container.pointer();
        for (list, resource) in names(container.raw()) {
            let field = || format!("{path}/resources{}", PointerBuf::from_tokens([list, resource]));
            if !resource.contains(['/', '$']) && !is_standard(resource) {
                let message = format!("the apiserver rejects the resource {resource}: {}", suggestion(resource));
                findings.push_as(Severity::Error, field(), message);
            } else if let Some(near) = misspelled_accelerator(resource).or_else(|| misspelled_adapter(resource)) {
                let message = format!("no device plugin is known to provide {resource}: did you mean {near}?");
                findings.push(field(), message);
            }
        }
    }
    for (list, resource) in pod.raw().get("spec").into_iter().flat_map(names) {
        if !resource.contains('$') && !OF_PODS.contains(&resource) && !is_huge_pages(resource) {
            let field = format!("/spec/resources{}", PointerBuf::from_tokens([list, resource]));
            let message =
                format!("the apiserver rejects {resource} in the resources of a pod: request it in a container");
            findings.push_as(Severity::Error, field, message);
        }
    }
}

/// Returns the resources of `owner`, each with the list that contains it.
fn names(owner: &Value) -> impl Iterator<Item = (&'static str, &str)> {
    let resources = owner.get("resources");
    ["limits", "requests"].into_iter().flat_map(move |list| {
        let entries = resources.and_then(|resources| resources.get(list)?.as_object());
        entries.into_iter().flat_map(Map::keys).map(move |resource| (list, resource.as_str()))
    })
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
