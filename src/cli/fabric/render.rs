//! `trainmesh fabric render`: previews a profile on a generated pod.

use std::collections::{BTreeMap, BTreeSet};

use anstream::ColorChoice;
use serde_json::{Value, json};

use super::{ProfileNameParser, Source, unknown_profile};
use crate::cli::input::{parse_labels, parse_namespace};
use crate::cli::number::whole_number;
use crate::cli::output::Format;
use crate::cli::terminal::stdout_layout;
use crate::cli::{Status, print_note, stderr};
use trainmesh_core::config::Profile;
use trainmesh_core::config::profile::{Amount, MachinePattern, Ratios, Resource, ResourcePattern};
use trainmesh_core::manifest::Document;
use trainmesh_core::mutate::{RuleId, RuleOutcome, Verdict};
use trainmesh_core::preview::{DocumentPreview, ManifestContext, PodReport, Preview};
use trainmesh_core::render::{Closing, TextOptions};
use trainmesh_core::{keys, scope};

/// Show the patch of a profile for a generated pod with one container, and why
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes:
  0  success, also if the profile does not apply to the pod; a note states why
  1  the profile is refused or falls back to TCP
  2  an error")]
pub(super) struct Arguments {
    /// Name of the profile
    #[arg(value_name = "NAME", value_parser = ProfileNameParser, hide_possible_values = true)]
    name: String,
    /// Number of GPUs that the container requests
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = whole_number(u32::MAX))]
    gpus: u32,
    /// Instance type, such as p5.48xlarge: sets a nodeSelector for node.kubernetes.io/instance-type
    #[arg(long, value_name = "TYPE")]
    machine: Option<String>,
    /// Namespace of the pod [default: one that may use the profile]
    #[arg(short, long, value_name = "NAMESPACE", value_parser = parse_namespace)]
    namespace: Option<String>,
    /// Labels of the namespace [default: those that the profile requires]; can be repeated
    #[arg(long, value_name = "KEY=VALUE,…", value_parser = parse_labels)]
    namespace_labels: Option<Vec<BTreeMap<String, String>>>,
    #[command(flatten)]
    source: Source,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Diff)]
    output: Format,
}

/// GPU resource if the profile contains only patterns.
const DEFAULT_GPU: &str = "nvidia.com/gpu";
/// Namespace of the pod if the profile does not require another one.
const DEFAULT_NAMESPACE: &str = "default";

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let Arguments { name, gpus, machine, source, output, .. } = arguments;
    let Some(configuration) = source.load()? else { return Ok(Status::Failed) };
    let profiles = &configuration.fabric.profiles;
    let Some(entry) = profiles.find(name) else { return unknown_profile(profiles, name) };
    let pod = pod(&entry.profile, *gpus, machine.as_deref());
    let machine_hint = if machine.is_none() { known_machines(&entry.profile) } else { None };
    let requirement = memory_resource(&entry.profile).map(|resource| {
        let resource = &resource.name;
        format!(
            "{resource} requires a cpu or memory request: the pod has both; without any, the profile is not applied"
        )
    });
    let PodNamespace { name: namespace, mut labels, note } = arguments.pod_namespace(&entry.profile);
    // Without a mesh, so that only the profile applies.
    labels.entry(keys::INJECT.to_owned()).or_insert_with(|| scope::ENABLED.to_owned());
    let preview = Preview::new(configuration, ManifestContext::new(Some(labels)), namespace);
    let document = Document::generated("render", pod);
    let options = TextOptions { layout: stdout_layout(), ..TextOptions::default() };
    let mut printer = output.printer(ColorChoice::Auto, options, &preview);
    let mut is_refused = false;
    let mut not_applied = None;
    if let DocumentPreview::Pods { mut reports, .. } = preview.document(&document)? {
        is_refused = reports.iter().flat_map(|report| &report.rules).any(RuleOutcome::is_unfulfilled);
        not_applied = skipped_profile(&reports);
        // The pod has no manifest.
        for report in &mut reports {
            report.line = None;
        }
        printer.sink().write_workload(&reports)?;
    }
    printer.sink().finish(&Closing::default())?;
    if let Some(message) = not_applied {
        print_note(&mut stderr(ColorChoice::Auto), format_args!("not applied: {message}"));
    }
    if let Some(machines) = machine_hint {
        let stderr = &mut stderr(ColorChoice::Auto);
        print_note(stderr, format_args!("{machines}"));
    }
    for note in note.into_iter().chain(requirement) {
        print_note(&mut stderr(ColorChoice::Auto), format_args!("{note}"));
    }
    Ok(if is_refused { Status::Findings } else { Status::Success })
}

/// Returns the message of the rule `fabric`, if it neither applies the profile nor refuses it.
fn skipped_profile(reports: &[PodReport]) -> Option<String> {
    let mut rules = reports.iter().flat_map(|report| &report.rules);
    let fabric = rules.find(|rule| rule.rule == RuleId::Fabric)?;
    (fabric.outcome == Verdict::Skipped).then(|| fabric.message.clone())
}

/// Namespace of the generated pod.
struct PodNamespace {
    name: String,
    labels: BTreeMap<String, String>,
    /// Remark about a profile that is limited to namespaces.
    note: Option<String>,
}

impl Arguments {
    /// Returns the namespace of the flags. Without them, it is one that may use `profile`.
    fn pod_namespace(&self, profile: &Profile) -> PodNamespace {
        let name = self.namespace.as_deref().filter(|name| !name.is_empty());
        let labels = self.namespace_labels.as_ref().map(|maps| maps.iter().flatten());
        let labels = labels.map(|entries| entries.map(|(key, value)| (key.clone(), value.clone())).collect());
        let limit = profile.namespaces.as_ref();
        let is_free = name.is_none() && labels.is_none();
        if let Some((namespaces, (name, labels))) =
            limit.filter(|_| is_free).and_then(|limit| Some((limit, limit.example()?)))
        {
            let name = if name.is_empty() { DEFAULT_NAMESPACE } else { name }.to_owned();
            let note = format!(
                "{} is limited to namespaces {namespaces}: set -n or --namespace-labels to check one",
                profile.name
            );
            return PodNamespace { name, labels, note: Some(note) };
        }
        let name = name.unwrap_or(DEFAULT_NAMESPACE).to_owned();
        let fix =
            if labels.is_none() { format!(": set --namespace-labels to the labels of {name}") } else { String::new() };
        let labels = labels.unwrap_or_default();
        let note = limit.filter(|limit| !limit.allows(&name, &labels)).map(|limit| {
            let fix = if limit.selector.is_some() { &*fix } else { "" };
            format!("{} is limited to namespaces {limit}{fix}", profile.name)
        });
        PodNamespace { name, labels, note }
    }
}

/// Describes the instance types that the number of devices or settings depend on, if there are any and the profile selects none.
fn known_machines(profile: &Profile) -> Option<String> {
    if profile.pod.node_selector.keys().any(|key| keys::MACHINES.contains(&key.as_str())) {
        return None;
    }
    let of_devices = profile.resources.iter().find_map(|resource| match &resource.amount {
        Amount::Devices { ratio: Ratios::ByInstanceType(ratios), .. } => {
            Some(ratios.keys().map(String::as_str).collect())
        }
        _ => None,
    });
    let applied = profile.env.iter().filter(|setting| !setting.opt_in);
    let of_settings = applied.filter_map(|setting| setting.when.as_ref()).flat_map(|when| &when.sku);
    let (part, names): (&str, BTreeSet<&str>) = match of_devices {
        Some(names) => ("the number of devices depends", names),
        None => ("settings depend", of_settings.map(MachinePattern::as_str).collect()),
    };
    let names = Vec::from_iter(names).join(", ");
    (!names.is_empty()).then(|| format!("{part} on the machine: set --machine; the profile contains {names}"))
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
    if memory_resource(profile).is_some() {
        pod["spec"]["containers"][0]["resources"]["requests"] = json!({"cpu": "1", "memory": "1Gi"});
    }
    if let Some(machine) = machine {
        pod["spec"]["nodeSelector"] = json!({keys::INSTANCE_TYPE: machine});
    }
    pod
}

/// Returns the memory, such as huge pages, that `profile` adds to a container, if there is any.
fn memory_resource(profile: &Profile) -> Option<&Resource> {
    profile.resources.iter().find(|resource| !resource.opt_in && matches!(resource.amount, Amount::Memory { .. }))
}
