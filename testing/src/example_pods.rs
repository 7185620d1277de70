//! The pods of the manifests in `examples`, as their operators would create them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};
use trainmesh::manifest::Inputs;
use trainmesh_core::config::Configuration;
use trainmesh_core::preview::{CONTEXT_KINDS, DocumentPreview, ManifestContext, Preview};

/// Returns one pod for each role of each manifest below `examples`.
pub fn example_pods(examples: &Path) -> Vec<Value> {
    let inputs = Inputs::open(&[examples.to_owned()], false, io::stdin()).expect("open the examples");
    let words = CONTEXT_KINDS.map(str::as_bytes);
    let mut context = ManifestContext::new(Some(BTreeMap::new()));
    for document in inputs.documents_containing(&words).flatten() {
        context.add(&document, "default");
    }
    let preview = Preview::new(Configuration::embedded(), context, "default".to_owned());
    let documents = inputs.documents().map(|document| document.expect("the examples parse"));
    let previewed = documents.map(|document| preview.document(&document).expect("the examples have previews"));
    let pods = previewed.flat_map(|previewed| match previewed {
        DocumentPreview::Pods { reports, .. } => reports,
        DocumentPreview::Namespace(_)
        | DocumentPreview::Unrendered(_)
        | DocumentPreview::Skipped(_)
        | DocumentPreview::Unsupported(_) => Vec::new(),
    });
    pods.map(|report| report.original).collect()
}

/// Returns the names of the built-in profiles, sorted.
pub fn profile_names(repository: &Path) -> Vec<String> {
    let entries = fs::read_dir(repository.join("config/fabric")).expect("read the profiles");
    let stem = |path: &Path| path.file_stem().and_then(|stem| stem.to_str()).expect("the name is UTF-8").to_owned();
    let mut names: Vec<String> = entries.map(|entry| stem(&entry.expect("read a folder entry").path())).collect();
    names.sort();
    names
}

/// Returns each of `pods` with a fabric; cycles through the built-in profiles.
pub fn with_fabrics(pods: &[Value], repository: &Path) -> Vec<Value> {
    let profiles = profile_names(repository);
    pods.iter().zip(profiles.iter().cycle()).map(|(pod, profile)| with_fabric(pod.clone(), profile)).collect()
}

/// Returns `pod` with the label of `profile`, GPU requests, and an instance type whose number of adapters the profiles
/// list.
pub fn with_fabric(mut pod: Value, profile: &str) -> Value {
    pod["metadata"]["labels"]["trainmesh.dev/fabric"] = profile.into();
    pod["spec"]["nodeSelector"]["node.kubernetes.io/instance-type"] = "p5.48xlarge".into();
    pod["spec"]["containers"][0]["resources"] = json!({"limits": {"nvidia.com/gpu": "8"}});
    pod
}
