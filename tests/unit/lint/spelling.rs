//! Misspelled values of the keys of trainmesh: wherever users set them, a message names the value that they meant.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trainmesh_core::config::Configuration;
use trainmesh_core::gang::GangMode;
use trainmesh_core::manifest::Document;
use trainmesh_core::preview::{DocumentPreview, ManifestContext, PodReport, Preview};

/// Where a label is set.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Location {
    PodTemplate,
    BarePod,
    NamespaceDocument,
    NamespaceFlag,
    Workload,
}

const PLACES: [Location; 5] = [
    Location::PodTemplate,
    Location::BarePod,
    Location::NamespaceDocument,
    Location::NamespaceFlag,
    Location::Workload,
];

/// Returns the labels with valid values, and whether they are those of pods, of namespaces, or of both.
fn labels() -> Vec<(&'static str, &'static str, bool, bool)> {
    let both = |key, values: &'static [&'static str]| values.iter().map(move |value| (key, *value, true, true));
    let mut labels = vec![
        ("trainmesh.dev/inject", "enabled", false, true),
        ("trainmesh.dev/inject", "audit", false, true),
        ("trainmesh.dev/inject", "disabled", true, true),
    ];
    labels.extend(both("trainmesh.dev/fabric", &["none", "tcp", "eks-efa", "ib-shared"]));
    labels.extend(both("trainmesh.dev/gang", GangMode::names()));
    labels.extend(both("trainmesh.dev/mesh-traffic", &["leave", "direct", "disableCapture", "disableInjection"]));
    labels
}

/// Returns `text` in upper case, with its first letter in upper case, and with each letter left out or doubled.
fn misspelled(text: &str) -> Vec<String> {
    let mut all = vec![text.to_uppercase(), text[..1].to_uppercase() + &text[1..]];
    for (at, letter) in text.char_indices() {
        all.push(format!("{}{}", &text[..at], &text[at + 1..]));
        all.push(format!("{}{letter}{}", &text[..at], &text[at..]));
    }
    all.retain(|other| other != text);
    all
}

/// Returns everything that lint and preview report about a job or pod with this label.
fn messages(place: Location, key: &str, value: &str) -> Vec<String> {
    let labels = json!({key: value});
    let opted_in = json!({"trainmesh.dev/inject": "enabled", "istio-injection": "enabled"});
    let none = json!({});
    let at = |wanted: Location| if place == wanted { &labels } else { &none };
    let namespaces = |labels: &Value| {
        let mut all: BTreeMap<String, String> = serde_json::from_value(opted_in.clone()).unwrap();
        all.extend(serde_json::from_value::<BTreeMap<String, String>>(labels.clone()).unwrap());
        all
    };
    let spec = json!({"restartPolicy": "Never", "containers": [{"name": "train", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 8}}}]});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": namespaces(at(Location::NamespaceDocument))}});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": at(Location::BarePod)}, "spec": spec});
    let job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "a", "labels": at(Location::Workload)},
        "spec": {"template": {"metadata": {"labels": at(Location::PodTemplate)}, "spec": spec}},
    });
    let workload = if place == Location::BarePod { pod } else { job };
    let documents = [namespace, workload].map(|value| Document::generated("a.yaml", value));
    let mut context = ManifestContext::new((place == Location::NamespaceFlag).then(|| namespaces(&labels)));
    for document in &documents {
        context.add(document, "team");
    }
    let preview = Preview::new(Configuration::embedded(), context, "team".to_owned());
    let mut found: Vec<String> = preview.override_warnings().into_iter().map(|warning| warning.message).collect();
    for document in &documents {
        match preview.document(document).unwrap() {
            DocumentPreview::Namespace(warnings) => found.extend(warnings.into_iter().map(|warning| warning.message)),
            DocumentPreview::Pods { reports, warnings, .. } => {
                found.extend(warnings.into_iter().map(|warning| warning.message));
                found.extend(reports.iter().flat_map(|report| findings(&preview, report)));
            }
            other => panic!("{other:?}"),
        }
    }
    found
}

/// Returns the locations at which a label has an effect.
fn places(of_pods: bool, of_namespaces: bool) -> impl Iterator<Item = Location> {
    let is_of_namespace = |place: &Location| matches!(place, Location::NamespaceDocument | Location::NamespaceFlag);
    PLACES.into_iter().filter(move |place| if is_of_namespace(place) { of_namespaces } else { of_pods })
}

fn findings(preview: &Preview, report: &PodReport) -> Vec<String> {
    preview.lint(report).into_iter().map(|finding| finding.message.into_owned()).collect()
}

#[test]
fn misspelled_values_are_reported_with_the_value_that_was_meant() {
    for (key, value, of_pods, of_namespaces) in labels() {
        for place in places(of_pods, of_namespaces) {
            for wrong in misspelled(value) {
                let found = messages(place, key, &wrong);
                let hint = format!("did you mean {value}?");
                let is_reported = |message: &String| {
                    message.contains(key) && message.contains(&hint)
                        || message.contains("refused") && message.contains(&hint)
                };
                assert!(found.iter().any(is_reported), "{place:?}: {key}={wrong}: {found:#?}");
            }
        }
    }
}

#[test]
fn misspelled_keys_are_reported_with_the_key_that_was_meant() {
    for (key, value, of_pods, of_namespaces) in labels() {
        for place in places(of_pods, of_namespaces) {
            let name = key.strip_prefix("trainmesh.dev/").unwrap();
            for wrong in misspelled(name) {
                let found = messages(place, &format!("trainmesh.dev/{wrong}"), value);
                let hint = format!("did you mean {key}");
                assert!(found.iter().any(|message| message.contains(&hint)), "{place:?}: {wrong}: {found:#?}");
            }
        }
    }
}
