//! What the pods of a manifest would get: the webhook's engine over the pods that the manifest's operator would create.

mod drift;
mod hints;
mod report;
mod surroundings;

use std::collections::BTreeMap;

use serde_json::Value;

pub use drift::{Drift, drift, probe};
pub use report::PodReport;
pub use surroundings::{SURROUNDING_KINDS, Surroundings};

use crate::config::Configuration;
use crate::manifest::Document;
use crate::mutate::{Outcome, Snapshot, mutate, not_called, selected_mode};
use crate::pod::Pod;
use crate::workload::{self, Fidelity, Kind, Manifest, RenderError, Role};

/// A preview under one configuration, for one input.
#[derive(Debug)]
pub struct Preview {
    config: Configuration,
    config_hash: String,
    surroundings: Surroundings,
    /// The namespace of documents that name none.
    namespace: String,
}

/// What became of a document.
#[derive(Debug)]
pub enum Previewed {
    /// The pods it makes, one report for each role.
    Pods {
        /// One for each role, in the order of the manifest.
        reports: Vec<PodReport>,
        /// What a reader must know beside the reports, one sentence each.
        notes: Vec<String>,
    },
    /// It makes no pods: `apiVersion` and `kind` are named.
    PassedOver(String),
}

impl Preview {
    /// Prepares a preview.
    #[must_use]
    pub fn new(config: Configuration, surroundings: Surroundings, namespace: String) -> Self {
        Self { config_hash: config.hash(), config, surroundings, namespace }
    }

    /// The hash of the configuration in force.
    #[must_use]
    pub fn config_hash(&self) -> &str {
        &self.config_hash
    }

    /// Works out what the pods of `document` would get.
    pub fn document(&self, document: &Document) -> Result<Previewed, RenderError> {
        let text = |key: &str| document.value.get(key).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let Some(known) = workload::find(api_version, kind) else {
            return Ok(Previewed::PassedOver(format!("{api_version} {kind}")));
        };
        let namespace = namespace_of(document, &self.namespace).to_owned();
        let runtimes = self.surroundings.runtimes();
        let roles = (known.render)(&Manifest { raw: &document.value, namespace: &namespace, runtimes })?;
        let mut notes: Vec<String> =
            hints::misplaced(&document.value).into_iter().map(|note| format!("{kind}: {note}")).collect();
        if known.fidelity == Fidelity::Documented {
            notes.push(format!("{kind}: the pods hold what the operator is documented to set; it may set more"));
        }
        let labels = self.surroundings.labels(&namespace);
        let reports = roles.into_iter().map(|role| {
            let outcome = self.outcome(&role.pod, &namespace, labels);
            let subject = if role.name == "Pod" { kind.to_owned() } else { format!("{kind} {}", role.name) };
            let early = hints::early_network(&role, &outcome);
            notes.extend(early.iter().chain(&role.notes).map(|note| format!("{subject}: {note}")));
            report(document, known, &namespace, role, outcome)
        });
        let reports = reports.collect();
        Ok(Previewed::Pods { reports, notes })
    }

    fn outcome(&self, pod: &Value, namespace: &str, labels: &BTreeMap<String, String>) -> Outcome {
        match selected_mode(Pod::new(pod), namespace, labels) {
            Err(why) => not_called(why),
            Ok(mode) => {
                let (config, config_hash) = (&self.config, self.config_hash.as_str());
                mutate(pod, &Snapshot { mode, namespace, labels, config, config_hash })
            }
        }
    }
}

/// The namespace that `document` is created in: its own, that of the review it came in, else `default`.
#[must_use]
pub fn namespace_of<'a>(document: &'a Document, default: &'a str) -> &'a str {
    let own = document.value.pointer("/metadata/namespace").and_then(Value::as_str).filter(|name| !name.is_empty());
    own.or(document.namespace.as_deref()).unwrap_or(default)
}

fn report(document: &Document, known: &Kind, namespace: &str, role: Role, outcome: Outcome) -> PodReport {
    let metadata = |key: &str| document.value.get("metadata")?.get(key)?.as_str();
    let mut pod = role.pod.clone();
    // The engine has applied this very patch to this very pod before it let it out.
    let applied = outcome.patch.apply(&mut pod);
    debug_assert!(applied.is_ok(), "a checked patch applies: {applied:?}");
    PodReport {
        source: document.source.to_string(),
        document: document.document,
        item: document.item,
        api_version: document.value.get("apiVersion").and_then(Value::as_str).unwrap_or_default().to_owned(),
        kind: known.kind,
        namespace: namespace.to_owned(),
        name: metadata("name").or_else(|| metadata("generateName")).unwrap_or_default().to_owned(),
        role: role.name,
        replicas: role.replicas,
        changed: !outcome.patch.is_empty(),
        rules: outcome.rules,
        warnings: outcome.warnings,
        original: role.pod,
        patch: outcome.patch,
        pod,
        objects: Vec::new(),
    }
}
