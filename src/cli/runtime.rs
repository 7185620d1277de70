//! `--runtime`: training runtimes that are not in the input.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use anstream::ColorChoice;
use anyhow::bail;

use super::live::LiveCluster;
use super::{print_note, stderr};
use crate::manifest::Inputs;
use trainmesh_core::manifest::{Document, Substitutions};
use trainmesh_core::preview::{ManifestContext, namespace_of};
use trainmesh_core::workload::{RuntimeReference, StockRuntimes, TrainerVersion};

/// Maximum number of runtimes that are read from a cluster, one request each. A platform has a few dozen.
const MAX_READ: usize = 100;

/// Source of training runtimes.
#[derive(Clone, Debug)]
pub(super) enum RuntimeSource {
    /// Manifests.
    File(PathBuf),
    /// The runtimes that a version of Kubeflow Trainer installs.
    Trainer(TrainerVersion),
}

impl RuntimeSource {
    /// Parses a version such as `v2.3`, or a path.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some(version) = TrainerVersion::parse(minor_version(text)) {
            return Ok(Self::Trainer(version));
        }
        let is_version = text.strip_prefix('v').is_some_and(|digits| {
            digits.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        });
        let with_prefix = TrainerVersion::parse(&format!("v{text}"));
        if let Some(version) = with_prefix.filter(|_| !Path::new(text).exists()) {
            return Err(format!("use {}", version.name()));
        }
        if text == "latest" && !Path::new(text).exists() {
            let newest = TrainerVersion::ALL.into_iter().next_back().map_or("", TrainerVersion::name);
            return Err(format!("use the newest known version, {newest}, or a file"));
        }
        if is_version {
            let known = TrainerVersion::ALL.map(TrainerVersion::name).join(", ");
            return Err(format!("the runtimes of this version are unknown: use {known}, or a file"));
        }
        Ok(Self::File(text.into()))
    }
}

/// Removes the patch version of a release: all releases of a minor version install the same runtimes.
fn minor_version(text: &str) -> &str {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    match text.rsplit_once('.') {
        Some((minor, patch)) if is_number(patch) && minor.contains('.') => minor,
        _ => text,
    }
}

/// Adds the runtimes of `sources` to `context`. `namespace` is the namespace of manifests without one; `substitutions` replace
/// placeholders in their text.
pub(super) fn read(
    sources: &[RuntimeSource],
    namespace: &str,
    substitutions: &Arc<Substitutions>,
    context: &mut ManifestContext,
) -> anyhow::Result<()> {
    let mut chosen: Option<TrainerVersion> = None;
    for source in sources {
        match source {
            RuntimeSource::File(path) => read_file(path, namespace, substitutions, context)?,
            RuntimeSource::Trainer(version) => {
                if let Some(other) = chosen.replace(*version).filter(|other| other != version) {
                    bail!("--runtime: both {} and {}: set one version", other.name(), version.name());
                }
                context.assume_runtimes(StockRuntimes::Version(*version));
            }
        }
    }
    Ok(())
}

fn read_file(
    path: &PathBuf,
    namespace: &str,
    substitutions: &Arc<Substitutions>,
    context: &mut ManifestContext,
) -> anyhow::Result<()> {
    let mut found = false;
    let inputs = Inputs::open(slice::from_ref(path), false, io::stdin())?.with_substitutions(Arc::clone(substitutions));
    for document in inputs.documents() {
        match document {
            Ok(document) => found |= context.add_runtime_manifest(&document, namespace),
            Err(error) if error.skipped.is_some() => {}
            Err(error) => bail!("--runtime: {error}"),
        }
    }
    if !found {
        bail!("--runtime: `{}` contains no TrainingRuntime and no ClusterTrainingRuntime", path.display());
    }
    Ok(())
}

/// Reads the runtimes that the input refers to and does not contain.
pub(super) fn read_from_cluster(
    live: &LiveCluster,
    inputs: &Inputs,
    namespace: &str,
    context: &mut ManifestContext,
) -> anyhow::Result<()> {
    let documents = inputs.documents_containing(&[b"TrainJob"]).flatten();
    let references = documents.flat_map(|document| {
        let namespace = namespace_of(&document, namespace);
        RuntimeReference::all(&document.value, namespace)
    });
    let missing: BTreeSet<RuntimeReference> =
        references.filter(|reference| !context.runtimes().by_name.contains_key(reference)).collect();
    if missing.len() > MAX_READ {
        bail!("the input refers to {} training runtimes, more than the limit of {MAX_READ}", missing.len());
    }
    let mut is_complete = true;
    for reference in missing {
        match live.runtime(&reference) {
            Ok(Some(manifest)) => context.add_runtime(reference, Document::generated("cluster", manifest)),
            Ok(None) => {}
            Err(error) => {
                is_complete = false;
                print_note(&mut stderr(ColorChoice::Auto), format_args!("{error:#}"));
            }
        }
    }
    // A version that the flag selects is assumed nevertheless.
    if is_complete && context.runtimes().stock == StockRuntimes::Newest {
        context.assume_runtimes(StockRuntimes::None);
    }
    Ok(())
}
