//! `trainmesh fabric render`: the preview of a pod that nobody has written.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Source, unknown};
use crate::cli::Status;
use crate::cli::output::Format;
use trainmesh_core::config::Profile;
use trainmesh_core::config::profile::ResourcePattern;
use trainmesh_core::manifest::Document;
use trainmesh_core::preview::{ManifestContext, Preview, Previewed};
use trainmesh_core::{keys, scope};

/// Show what a pod of one container would get by a profile, and why
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The profile's name
    #[arg(value_name = "NAME")]
    name: String,
    /// How many GPUs the container asks for
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    gpus: u32,
    /// The type of the machine, as in p5.48xlarge: a nodeSelector for node.kubernetes.io/instance-type
    #[arg(long, value_name = "TYPE")]
    machine: Option<String>,
    /// The namespace that the pod is created in: a profile may be for some namespaces only
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default")]
    namespace: String,
    #[command(flatten)]
    source: Source,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Format::Diff)]
    output: Format,
}

/// What is asked for where a profile names none by its whole name.
const USUAL_GPU: &str = "nvidia.com/gpu";

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let Arguments { name, gpus, machine, namespace, source, output } = arguments;
    let Some(configuration) = source.load()? else { return Ok(Status::Failed) };
    let profiles = &configuration.fabric.profiles;
    let Some(entry) = profiles.find(name) else { return unknown(profiles, name) };
    let pod = pod(&entry.profile, *gpus, machine.as_deref());
    // Without a mesh, so that the profile alone is seen.
    let labels = BTreeMap::from([(keys::INJECT.to_owned(), scope::ENABLED.to_owned())]);
    let preview = Preview::new(configuration, ManifestContext::new(Some(labels)), namespace.clone());
    let document = Document { source: "render".into(), document: 0, item: None, line: 1, namespace: None, value: pod };
    let mut sink = output.sink(anstream::ColorChoice::Auto, &preview);
    if let Previewed::Pods { reports, .. } = preview.document(&document)? {
        for report in &reports {
            sink.report(report)?;
        }
    }
    sink.finish(&[])?;
    Ok(Status::Done)
}

/// A pod that asks for `gpus` and names the profile.
fn pod(profile: &Profile, gpus: u32, machine: Option<&str>) -> Value {
    let whole = profile.matches.gpu_resources.iter().map(ResourcePattern::as_str).find(|name| !name.ends_with('*'));
    let gpu = whole.unwrap_or(USUAL_GPU);
    // Where only containers of some names are meant, this is one of them.
    let container = profile.matches.container_names.first().map_or("train", |name| name.as_str());
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train", "labels": {keys::FABRIC: profile.name}},
        "spec": {"containers": [
            {"name": container, "image": "train", "resources": {"limits": {gpu: gpus}}},
        ]},
    });
    if let Some(machine) = machine {
        pod["spec"]["nodeSelector"] = json!({keys::INSTANCE_TYPE: machine});
    }
    pod
}
