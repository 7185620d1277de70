//! The pods of the examples, as their operators would create them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};
use trainmesh::manifest::Inputs;
use trainmesh_core::config::Configuration;
use trainmesh_core::preview::{CONTEXT_KINDS, ManifestContext, Preview, Previewed};

/// One pod for each role of each example below `examples`.
pub fn originals(examples: &Path) -> Vec<Value> {
    let inputs = Inputs::open(&[examples.to_owned()], false, io::stdin()).expect("the examples are there");
    let words = CONTEXT_KINDS.map(str::as_bytes);
    let mut context = ManifestContext::new(Some(BTreeMap::new()));
    for document in inputs.documents_mentioning(&words).flatten() {
        context.note(&document, "default");
    }
    let preview = Preview::new(Configuration::embedded(), context, "default".to_owned());
    let documents = inputs.documents().map(|document| document.expect("the examples can be read"));
    let previewed = documents.map(|document| preview.document(&document).expect("the examples can be shown"));
    let pods = previewed.flat_map(|previewed| match previewed {
        Previewed::Pods { reports, .. } => reports,
        Previewed::PassedOver(_) | Previewed::Unknown(_) => Vec::new(),
    });
    pods.map(|report| report.original).collect()
}

/// The names of the built-in profiles, as their files have them.
pub fn profiles(repository: &Path) -> Vec<String> {
    let entries = fs::read_dir(repository.join("config/fabric")).expect("the profiles are there");
    let stem = |path: &Path| path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
    let mut names: Vec<String> = entries.map(|entry| stem(&entry.expect("an entry").path())).collect();
    names.sort();
    names
}

/// Each of `pods` in a fabric, the built-in ones in turn: it names the profile, and asks for GPUs.
pub fn in_fabrics(pods: &[Value], repository: &Path) -> Vec<Value> {
    let profiles = profiles(repository);
    pods.iter().zip(profiles.iter().cycle()).map(|(pod, profile)| in_fabric(pod.clone(), profile)).collect()
}

/// `pod` with the label of `profile`, and with GPUs on a machine for which profiles know how many adapters there are.
pub fn in_fabric(mut pod: Value, profile: &str) -> Value {
    pod["metadata"]["labels"]["trainmesh.dev/fabric"] = profile.into();
    pod["spec"]["nodeSelector"]["node.kubernetes.io/instance-type"] = "p5.48xlarge".into();
    pod["spec"]["containers"][0]["resources"] = json!({"limits": {"nvidia.com/gpu": "8"}});
    pod
}
