//! `trainmesh fabric render`: previews a profile on a generated pod.

use std::collections::BTreeMap;

use anstream::ColorChoice;
use serde_json::{Value, json};

use super::{ProfileNameParser, Source, unknown_profile};
use crate::cli::output::Format;
use crate::cli::terminal::stdout_layout;
use crate::cli::{Status, print_note, stderr};
use trainmesh_core::config::Profile;
use trainmesh_core::config::profile::{Amount, Ratios, Resource, ResourcePattern};
use trainmesh_core::manifest::Document;
use trainmesh_core::mutate::Verdict;
use trainmesh_core::preview::{DocumentPreview, ManifestContext, Preview};
use trainmesh_core::render::{Closing, TextOptions};
use trainmesh_core::{keys, scope};

/// Show the patch of a profile for a generated pod with one container, and why
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Name of the profile
    #[arg(value_name = "NAME", value_parser = ProfileNameParser, hide_possible_values = true)]
    name: String,
    /// Number of GPUs that the container requests
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    gpus: u32,
    /// Instance type, such as p5.48xlarge: sets a nodeSelector for node.kubernetes.io/instance-type
    #[arg(long, value_name = "TYPE")]
    machine: Option<String>,
    /// Namespace of the pod; a profile may be restricted to some namespaces
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default")]
    namespace: String,
    #[command(flatten)]
    source: Source,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Diff)]
    output: Format,
}

/// GPU resource if the profile contains only patterns.
const DEFAULT_GPU: &str = "nvidia.com/gpu";

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let Arguments { name, gpus, machine, namespace, source, output } = arguments;
    let Some(configuration) = source.load()? else { return Ok(Status::Failed) };
    let profiles = &configuration.fabric.profiles;
    let Some(entry) = profiles.find(name) else { return unknown_profile(profiles, name) };
    let pod = pod(&entry.profile, *gpus, machine.as_deref());
    let machine_hint = if machine.is_none() { known_machines(&entry.profile) } else { None };
    // Without a mesh, so that only the profile applies.
    let labels = BTreeMap::from([(keys::INJECT.to_owned(), scope::ENABLED.to_owned())]);
    let preview = Preview::new(configuration, ManifestContext::new(Some(labels)), namespace.clone());
    let document = Document::generated("render", pod);
    let options = TextOptions { layout: stdout_layout(), ..TextOptions::default() };
    let mut printer = output.printer(ColorChoice::Auto, options, &preview);
    let mut is_refused = false;
    if let DocumentPreview::Pods { mut reports, .. } = preview.document(&document)? {
        is_refused = reports.iter().flat_map(|report| &report.rules).any(|rule| rule.outcome == Verdict::Refused);
        // The pod has no manifest.
        for report in &mut reports {
            report.line = None;
        }
        printer.sink().write_workload(&reports)?;
    }
    printer.sink().finish(&Closing::default())?;
    if let Some(machines) = machine_hint {
        let stderr = &mut stderr(ColorChoice::Auto);
        print_note(stderr, format_args!("the number of devices depends on the machine: set --machine; {machines}"));
    }
    Ok(if is_refused { Status::Findings } else { Status::Success })
}

/// Describes the instance types that the number of devices depends on, if there are any.
fn known_machines(profile: &Profile) -> Option<String> {
    profile.resources.iter().find_map(|resource| match &resource.amount {
        Amount::Devices { ratio: Ratios::ByInstanceType(ratios), .. } => {
            let names: Vec<&str> = ratios.keys().map(String::as_str).collect();
            Some(format!("the profile contains {}", names.join(", ")))
        }
        _ => None,
    })
}

/// Returns a pod that requests `gpus` and selects the profile.
fn pod(profile: &Profile, gpus: u32, machine: Option<&str>) -> Value {
    let exact = profile.matches.gpu_resources.iter().map(ResourcePattern::as_str).find(|name| !name.ends_with('*'));
    let gpu = exact.unwrap_or(DEFAULT_GPU);
    // If the profile applies to certain container names only, use one of them.
    let container = profile.matches.container_names.first().map_or("train", |name| name.as_str());
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train", "labels": {keys::FABRIC: profile.name}},
        "spec": {"containers": [
            {"name": container, "image": "train", "resources": {"limits": {gpu: gpus}}},
        ]},
    });
    // The apiserver rejects a container that requests huge pages and neither cpu nor memory.
    let adds_memory = |resource: &Resource| !resource.opt_in && matches!(resource.amount, Amount::Memory { .. });
    if profile.resources.iter().any(adds_memory) {
        pod["spec"]["containers"][0]["resources"]["requests"] = json!({"cpu": "1", "memory": "1Gi"});
    }
    if let Some(machine) = machine {
        pod["spec"]["nodeSelector"] = json!({keys::INSTANCE_TYPE: machine});
    }
    pod
}
