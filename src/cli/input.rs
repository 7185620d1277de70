//! Flags for manifests and their context, shared by several commands.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::runtime::{self, RuntimeSource};
use anstream::ColorChoice;
use anyhow::Context as _;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::Value;

use super::fabric::{ProfileNameParser, unknown_choice};
use super::{print_note, stderr};
use crate::manifest::{Inputs, Pattern};
use trainmesh_core::config::Configuration;
use trainmesh_core::dns;
use trainmesh_core::gang::GangMode;
use trainmesh_core::keys;
use trainmesh_core::labels;
use trainmesh_core::manifest::{Document, DocumentError, Substitutions, Variable, placeholder_advice};
use trainmesh_core::pod::Pod;
use trainmesh_core::preview::{CONTEXT_KINDS, ErrorPosition, GENERIC_NOTE, ManifestContext, PodReport, Preview};
use trainmesh_core::workload::RenderError;

/// Manifests and their context.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("manifests").required(true).args(["filename", "kustomize"])))]
pub(super) struct InputArguments {
    /// Manifest, directory of manifests, or `-` for standard input; can be repeated
    #[arg(short, long = "filename", value_name = "FILE")]
    filename: Vec<PathBuf>,
    /// Directory of a kustomization, which kubectl or kustomize on the PATH renders; can be repeated
    #[arg(short, long, value_name = "DIR", conflicts_with = "recursive")]
    kustomize: Vec<PathBuf>,
    /// Process directories recursively, except hidden ones
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Leave out files and subdirectories of directories, with patterns as in .gitignore, but without `!`; can be repeated
    #[arg(long, value_name = "GLOB", value_parser = Pattern::parse, conflicts_with = "kustomize")]
    exclude: Vec<Pattern>,
    /// Replace ${NAME} and $NAME in the manifests, as envsubst does for this name only; can be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = Variable::parse)]
    set: Vec<Variable>,
    /// Training runtimes of `TrainJobs`: a manifest, or the version of Kubeflow Trainer whose runtimes are installed, v2.0 to
    /// v2.3; can be repeated
    #[arg(long, value_name = "FILE", value_parser = RuntimeSource::parse)]
    runtime: Vec<RuntimeSource>,
    /// Namespace of documents without one [default: default]
    #[arg(short, long, value_name = "NAMESPACE", value_parser = parse_namespace)]
    namespace: Option<String>,
    /// Configuration to use instead of the embedded one, the manifest of its `ConfigMap`, or Helm values; can be repeated:
    /// several files of Helm values are merged as Helm merges them
    #[arg(long, value_name = "FILE", env = "TRAINMESH_CONFIG")]
    pub(super) config: Vec<PathBuf>,
    /// Labels of every namespace, replacing all others; empty for none; can be repeated
    #[arg(long, value_name = "KEY=VALUE,…", value_parser = parse_labels)]
    namespace_labels: Option<Vec<BTreeMap<String, String>>>,
    /// Label every namespace trainmesh.dev/fabric=PROFILE; a pod's own label takes precedence
    #[arg(long, value_name = "PROFILE", value_parser = ProfileNameParser, hide_possible_values = true)]
    pub(super) fabric: Option<String>,
    /// Label every namespace trainmesh.dev/gang=MODE; a pod's own label takes precedence
    #[arg(long, value_name = "MODE", value_parser = gang_mode_parser())]
    gang: Option<GangMode>,
}

impl InputArguments {
    /// Returns the namespace of documents without one.
    pub(super) fn namespace(&self) -> &str {
        self.given_namespace().unwrap_or("default")
    }

    /// Returns the namespace in the flag.
    pub(super) fn given_namespace(&self) -> Option<&str> {
        self.namespace.as_deref().filter(|namespace| !namespace.is_empty())
    }

    /// Opens the manifests.
    pub(super) fn open(&self) -> anyhow::Result<Inputs> {
        let substitutions = Substitutions::new(self.set.iter().cloned()).context("--set")?;
        let inputs = if self.kustomize.is_empty() {
            let inputs = Inputs::open_except(&self.filename, self.recursive, &self.exclude, io::stdin())?;
            for pattern in self.exclude.iter().filter_map(Pattern::unused) {
                let stderr = &mut stderr(ColorChoice::Auto);
                print_note(stderr, format_args!("--exclude {pattern} has no effect: no file or directory matches it"));
            }
            inputs
        } else {
            Inputs::kustomize(&self.kustomize)
        };
        Ok(inputs.with_substitutions(Arc::new(substitutions)))
    }

    /// Fails if `configuration` has no profile of the name in `--fabric`. With an unknown profile, every pod would be shown
    /// as if it selected none.
    pub(super) fn require_profile(&self, configuration: &Configuration) -> anyhow::Result<()> {
        let profiles = &configuration.fabric.profiles;
        let unknown = |name: &&String| *name != keys::NO_FABRIC && profiles.find(name).is_none();
        self.fabric.as_ref().filter(unknown).map_or(Ok(()), |name| unknown_choice(profiles, name))
    }

    /// Returns a note about the pod of `report` if its own label takes precedence over `--fabric`.
    pub(super) fn overridden_fabric(&self, report: &PodReport) -> Option<String> {
        let fabric = self.fabric.as_deref()?;
        let own = Pod::new(&report.original).label(keys::FABRIC).filter(|own| *own != fabric)?;
        let kind = &report.kind;
        Some(format!("{kind}: --fabric {fabric} has no effect on pods with their own label {}={own}", keys::FABRIC))
    }

    /// Returns the notes about pods, which `reports` contains, on which the findings and counts depend.
    pub(super) fn notes(&self, reports: &[PodReport]) -> Vec<String> {
        let generic = reports.iter().find(|report| report.generic);
        let generic = generic.map(|report| format!("{} {}: {GENERIC_NOTE}", report.api_version, report.kind));
        let assumed = |report: &PodReport| Some(format!("{}: {}", report.kind, report.assumed_runtime.as_ref()?));
        let assumed = reports.iter().find_map(assumed);
        let overridden = reports.iter().find_map(|report| self.overridden_fabric(report));
        [generic, assumed, overridden].into_iter().flatten().collect()
    }

    /// Returns a note about each label of a `--namespace-labels` that a later one replaces.
    fn replaced_labels(&self) -> Vec<String> {
        let maps = self.namespace_labels.as_deref().unwrap_or_default();
        let mut last: BTreeMap<&str, &str> = BTreeMap::new();
        let mut notes = Vec::new();
        for (key, value) in maps.iter().flatten() {
            if let Some(replaced) = last.insert(key, value).filter(|replaced| replaced != value) {
                notes.push(format!("--namespace-labels {key}={value} replaces {key}={replaced}: the last one counts"));
            }
        }
        notes
    }

    /// Reads the namespaces and runtimes in the input, wherever they occur. The second pass over the input reports
    /// errors. Prints a note if `--set` names a variable that no document contains. It may be misspelled, or one of a list for
    /// many manifests.
    pub(super) fn read_context(&self, inputs: &Inputs) -> anyhow::Result<ManifestContext> {
        for note in self.replaced_labels() {
            print_note(&mut stderr(ColorChoice::Auto), format_args!("{note}"));
        }
        let labels = self.namespace_labels.as_ref().map(|maps| maps.iter().flatten());
        let labels = labels.map(|entries| entries.map(|(key, value)| (key.clone(), value.clone())).collect());
        let mut context = ManifestContext::new(labels);
        if let Some(fabric) = &self.fabric {
            context = context.with_label(keys::FABRIC, fabric);
        }
        if let Some(gang) = self.gang {
            context = context.with_label(keys::GANG, gang.name());
        }
        let kinds = CONTEXT_KINDS.map(str::as_bytes);
        for document in inputs.documents_containing(&kinds).flatten() {
            context.add(&document, self.namespace());
        }
        runtime::read(&self.runtime, self.namespace(), inputs.substitutions(), &mut context)?;
        if let [first, others @ ..] = &*context.replaced_namespaces() {
            let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
            print_note(
                &mut stderr(ColorChoice::Auto),
                format_args!(
                    "--namespace-labels replaces the labels of Namespace {first}{more} in the input: leave it out to use them"
                ),
            );
        }
        for name in inputs.substitutions().unused() {
            print_note(
                &mut stderr(ColorChoice::Auto),
                format_args!("--set {name} has no effect: no manifest contains ${{{name}}} or ${name}"),
            );
        }
        Ok(context)
    }
}

fn gang_mode_parser() -> impl TypedValueParser<Value = GangMode> {
    let parse = |name: String| GangMode::parse(&name).ok_or("unknown mode");
    PossibleValuesParser::new(GangMode::names()).try_map(parse)
}

/// Returns the error of a workload kind with the position of its field, in the document or in the runtime of a `TrainJob`.
pub(super) fn document_error(preview: &Preview, document: &Document, error: &RenderError) -> DocumentError {
    let kind = document.value.get("kind").and_then(Value::as_str).unwrap_or_default();
    // The other messages about a Namespace contain its name.
    let name = document.value.pointer("/metadata/name").and_then(Value::as_str).filter(|_| kind == "Namespace");
    let name = name.map(|name| format!(" {name}")).unwrap_or_default();
    let message = match error {
        RenderError::Version { .. } | RenderError::Kind { .. } => error.to_string(),
        _ => format!("{kind}{name}: {error}{}", placeholder_hint(error)),
    };
    let ErrorPosition { source, document: index, line } = preview.error_position(document, error);
    DocumentError {
        source,
        document: index,
        line: Some(line),
        message: document.item.map(|item| format!("items[{item}]: ")).unwrap_or_default() + &message,
        skipped: None,
        placeholders: match error {
            RenderError::Placeholder { names, .. } => names.clone(),
            _ => Vec::new(),
        },
    }
}

/// Returns how to replace the placeholders of all documents, if several have them.
pub(super) fn placeholder_note(errors: &[DocumentError]) -> Option<String> {
    let lists = errors.iter().map(|error| &error.placeholders).filter(|names| !names.is_empty());
    let mut known = BTreeSet::new();
    let names: Vec<&str> = lists.clone().flatten().map(String::as_str).filter(|name| known.insert(*name)).collect();
    let is_complete = lists.clone().any(|list| list.len() == names.len());
    (!names.is_empty() && !is_complete)
        .then(|| format!("{} documents contain placeholders: {}", lists.count(), placeholder_advice(names.into_iter())))
}

/// Returns the hint for a value that a script replaces in a way that `--set` does not support.
fn placeholder_hint(error: &RenderError) -> &'static str {
    let RenderError::Invalid { found, .. } = error else { return "" };
    let found = found.trim_matches('"');
    if found.starts_with("${") {
        "; a placeholder of this form is not supported: render the manifest first"
    } else if found.contains("PLACEHOLDER") || found.len() > 4 && found.starts_with("__") && found.ends_with("__") {
        "; it looks like a placeholder of a script: replace it first, for example with sed"
    } else {
        ""
    }
}

/// Parses a namespace. An empty one is that of the default.
pub(super) fn parse_namespace(text: &str) -> Result<String, String> {
    let is_valid = text.is_empty() || dns::is_subdomain(text) && !text.contains('.');
    if is_valid { Ok(text.to_owned()) } else { Err("not a valid name of a namespace".to_owned()) }
}

/// Parses labels, separated by commas. A key has one value.
pub(super) fn parse_labels(text: &str) -> Result<BTreeMap<String, String>, String> {
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    let mut parsed: BTreeMap<String, String> = BTreeMap::new();
    for entry in entries {
        let label = entry.split_once('=').filter(|(key, value)| labels::is_key(key) && labels::is_value(value));
        let Some((key, value)) = label else { return Err(format!("{entry:?} is not a valid label KEY=VALUE")) };
        if let Some(other) = parsed.insert(key.to_owned(), value.to_owned()).filter(|other| other != value) {
            return Err(format!("{key} has the values {other:?} and {value:?}: remove one"));
        }
    }
    Ok(parsed)
}
