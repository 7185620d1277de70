//! What the pods of a manifest would get: the webhook's engine over the pods that the manifest's operator would create.

mod drift;
mod hints;
mod manifest_context;
mod report;

use std::collections::BTreeMap;

use serde_json::Value;

pub use drift::{Drift, drift, probe};
pub use manifest_context::{CONTEXT_KINDS, ManifestContext};
pub use report::PodReport;

use crate::cluster_facts::ClusterFacts;
use crate::config::Configuration;
use crate::finding::Finding;
use crate::lint::lint;
use crate::manifest::Document;
use crate::mutate::{Outcome, Snapshot, excluded, mutate, subject};
use crate::pod::Pod;
use crate::scope::{Installation, Mode};
use crate::workload::{self, Fidelity, Kind, Manifest, RenderError, Role, SOLE_ROLE};

/// A preview under one configuration, for one input.
#[derive(Debug)]
pub struct Preview {
    config: Configuration,
    config_hash: String,
    context: ManifestContext,
    /// What is known of the cluster.
    facts: ClusterFacts,
    /// The namespace of documents that name none.
    namespace: String,
    installation: Installation,
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
    /// It may make pods, but not of a kind that is known here.
    Unknown(String),
}

impl Preview {
    /// Prepares a preview.
    #[must_use]
    pub fn new(config: Configuration, context: ManifestContext, namespace: String) -> Self {
        let (config_hash, installation) = (config.hash(), Installation::default());
        Self { config_hash, config, context, facts: ClusterFacts::default(), namespace, installation }
    }

    /// The same for pods of a cluster with this installation.
    #[must_use]
    pub fn with_installation(self, installation: Installation) -> Self {
        Self { installation, ..self }
    }

    /// The same, in a cluster of which `facts` are known.
    #[must_use]
    pub fn in_cluster(self, facts: ClusterFacts) -> Self {
        Self { facts, ..self }
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
            return passed_over(document, api_version, kind);
        };
        let namespace = namespace_of(document, &self.namespace).to_owned();
        let runtimes = self.context.runtimes();
        let roles = (known.render)(&Manifest { raw: &document.value, namespace: &namespace, runtimes })?;
        let name = name_of(document);
        let misplaced = hints::misplaced(&document.value).into_iter();
        let mut notes: Vec<String> = misplaced.map(|note| format!("{kind} {namespace}/{name}: {note}")).collect();
        if known.fidelity == Fidelity::Documented {
            notes.push(format!("{kind}: the pods hold what the operator is documented to set; it may set more"));
        }
        let labels = self.context.labels(&namespace);
        let reports = roles.into_iter().map(|role| {
            let outcome = self.outcome(&role, &namespace, labels);
            let subject = if role.name == SOLE_ROLE { kind.to_owned() } else { format!("{kind} {}", role.name) };
            let early = hints::early_network(&role, &outcome);
            notes.extend(early.iter().chain(&role.notes).map(|note| format!("{subject}: {note}")));
            report(document, known, &namespace, role, outcome)
        });
        let reports = reports.collect();
        Ok(Previewed::Pods { reports, notes })
    }

    /// What the lint says of the pod of `report`: after the patch where a fabric profile is named, else as it came.
    #[must_use]
    pub fn lint(&self, report: &PodReport) -> Vec<Finding> {
        let (config, config_hash) = (&self.config, self.config_hash.as_str());
        let (namespace, labels) = (report.namespace.as_str(), self.context.labels(&report.namespace));
        let (mode, replicas) = (Mode::Enabled, Some(report.replicas));
        let cluster = self.facts.view(namespace, None);
        let snapshot = Snapshot { mode, namespace, labels, config, config_hash, replicas, cluster };
        let (original, patched) = (Pod::new(&report.original), Pod::new(&report.pod));
        let after = subject(original, patched, &snapshot);
        let subject = if after.profile.is_some() { after } else { subject(original, original, &snapshot) };
        lint(&subject, &config.fabric.lint)
    }

    fn outcome(&self, role: &Role, namespace: &str, labels: &BTreeMap<String, String>) -> Outcome {
        match self.installation.pod_mode(Pod::new(&role.pod), namespace, labels) {
            Err(why) => excluded(why),
            Ok(mode) => {
                let (config, config_hash) = (&self.config, self.config_hash.as_str());
                let replicas = Some(role.replicas);
                // The pods are those of a job that is new.
                let cluster = self.facts.view(namespace, None);
                mutate(&role.pod, &Snapshot { mode, namespace, labels, config, config_hash, replicas, cluster })
            }
        }
    }
}

/// What is said of a document of no known kind.
fn passed_over(document: &Document, api_version: &str, kind: &str) -> Result<Previewed, RenderError> {
    let name = format!("{api_version} {kind}");
    let group = |api_version: &str| api_version.split_once('/').map_or("", |(group, _)| group).to_owned();
    let namesakes = || workload::KINDS.iter().filter(|known| known.kind.eq_ignore_ascii_case(kind));
    if let Some(known) = namesakes().find(|known| known.group == group(api_version)) {
        return Err(RenderError::Version { found: name, known: known.name() });
    }
    if (api_version, kind) == ("v1", "Namespace") {
        manifest_context::check(&document.value)?;
    }
    if let Some(known) = namesakes().next() {
        return Ok(Previewed::Unknown(format!("{name} is not known: did you mean {}?", known.name())));
    }
    if !CONTEXT_KINDS.contains(&kind) && hints::makes_pods(&document.value) {
        return Ok(Previewed::Unknown(format!("{name} is not known: its pods are not shown")));
    }
    Ok(Previewed::PassedOver(name))
}

/// The namespace that `document` is created in: its own, that of the review it came in, else `default`.
#[must_use]
pub fn namespace_of<'a>(document: &'a Document, default: &'a str) -> &'a str {
    let own = document.value.pointer("/metadata/namespace").and_then(Value::as_str).filter(|name| !name.is_empty());
    own.or(document.namespace.as_deref()).unwrap_or(default)
}

/// Name or `generateName` of the object.
fn name_of(document: &Document) -> &str {
    let metadata = |key: &str| document.value.get("metadata")?.get(key)?.as_str();
    metadata("name").or_else(|| metadata("generateName")).unwrap_or_default()
}

fn report(document: &Document, known: &Kind, namespace: &str, role: Role, outcome: Outcome) -> PodReport {
    let mut pod = role.pod.clone();
    // The engine has applied this very patch to this very pod before it let it out.
    let applied = outcome.patch.apply(&mut pod);
    debug_assert!(applied.is_ok(), "a checked patch applies: {applied:?}");
    if applied.is_err() {
        pod.clone_from(&role.pod);
    }
    PodReport {
        source: document.source.to_string(),
        document: document.document,
        item: document.item,
        api_version: document.value.get("apiVersion").and_then(Value::as_str).unwrap_or_default().to_owned(),
        kind: known.kind,
        namespace: namespace.to_owned(),
        name: name_of(document).to_owned(),
        role: role.name,
        replicas: role.replicas,
        changed: !outcome.patch.is_empty(),
        rules: outcome.rules,
        warnings: outcome.warnings,
        lint: outcome.findings,
        original: role.pod,
        patch: outcome.patch,
        pod,
        objects: Vec::new(),
    }
}
