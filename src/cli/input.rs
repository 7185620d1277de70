//! The manifests that a command reads, and what surrounds them: flags that several commands share.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use serde_json::Value;

use crate::manifest::Inputs;
use trainmesh_core::keys;
use trainmesh_core::labels;
use trainmesh_core::manifest::{Document, DocumentError};
use trainmesh_core::preview::{CONTEXT_KINDS, ManifestContext};
use trainmesh_core::workload::RenderError;

/// The manifests, and what surrounds them.
#[derive(Debug, clap::Args)]
pub(super) struct Input {
    /// A manifest, a folder of manifests, or `-` for standard input; may be given several times
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    filename: Vec<PathBuf>,
    /// Read sub-folders too
    #[arg(short = 'R', long)]
    recursive: bool,
    /// The namespace of documents that name none
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default")]
    namespace: String,
    /// A configuration instead of the embedded one, or the manifest of its config map
    #[arg(long, value_name = "FILE", env = "TRAINMESH_CONFIG")]
    pub(super) config: Option<PathBuf>,
    /// The labels of every namespace, completely; empty for none
    #[arg(long, value_name = "KEY=VALUE,…", value_parser = read_labels)]
    namespace_labels: Option<BTreeMap<String, String>>,
    /// Label every namespace trainmesh.dev/fabric=PROFILE; a pod's own label beats it
    #[arg(long, value_name = "PROFILE")]
    pub(super) fabric: Option<String>,
}

impl Input {
    /// The namespace of documents that name none.
    pub(super) fn namespace(&self) -> &str {
        if self.namespace.is_empty() { "default" } else { &self.namespace }
    }

    /// Finds the manifests.
    pub(super) fn open(&self) -> anyhow::Result<Inputs> {
        Ok(Inputs::open(&self.filename, self.recursive, io::stdin())?)
    }

    /// The first pass: what the input says of namespaces and runtimes, wherever it stands. Errors are left to the second.
    pub(super) fn survey(&self, inputs: &Inputs) -> ManifestContext {
        let mut context = ManifestContext::new(self.namespace_labels.clone());
        if let Some(fabric) = &self.fabric {
            context = context.with_label(keys::FABRIC, fabric);
        }
        let words = CONTEXT_KINDS.map(str::as_bytes);
        for document in inputs.documents_mentioning(&words).flatten() {
            context.note(&document, self.namespace());
        }
        context
    }
}

/// An error that the manifest's kind found, with the document's place.
pub(super) fn failed(document: &Document, error: &RenderError) -> DocumentError {
    let kind = document.value.get("kind").and_then(Value::as_str).unwrap_or_default();
    let message = match error {
        RenderError::Version { .. } => error.to_string(),
        _ => format!("{kind}: {error}"),
    };
    DocumentError {
        source: document.source.clone(),
        document: document.document,
        line: Some(document.line),
        message: document.item.map(|item| format!("items[{item}]: ")).unwrap_or_default() + &message,
    }
}

fn read_labels(text: &str) -> Result<BTreeMap<String, String>, String> {
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    entries
        .map(|entry| match entry.split_once('=') {
            Some((key, value)) if labels::is_key(key) && labels::is_value(value) => {
                Ok((key.to_owned(), value.to_owned()))
            }
            _ => Err(format!("{entry:?} is not a label KEY=VALUE")),
        })
        .collect()
}
