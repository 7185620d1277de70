//! Previews the webhook: runs its engine on the pods that the operator of a manifest would create.

mod api_types;
mod causes;
mod claim_quantities;
mod cluster_state;
mod components;
mod decide;
mod difference;
mod duplicate_variables;
mod duplicates;
mod gang_keys;
mod gangs;
mod invalid_field;
mod invalid_quantity;
mod job_policies;
mod live;
mod manifest_context;
mod metadata_values;
mod misplaced;
mod missing_queue;
mod namespace;
mod namespace_metadata;
mod object_fields;
mod objects;
mod omitted;
mod operator_fields;
mod origins;
mod placeholders;
mod queue_labels;
mod report;
mod requests;
mod runtime_keys;
mod severities;
mod similar_namespace;
mod summary;
mod training;
mod unknown_fields;
mod unknown_kind;
mod walk;
mod webhook_absence;
mod webhook_trace;

use std::mem;

use serde_json::Value;

pub use causes::{Cause, Condition};
pub(crate) use cluster_state::workload_state;
pub use cluster_state::{ClusterState, LiveGroup, LiveWorkload};
pub use difference::{FieldDifference, dry_run_pod, find_differences, without_owners};
pub use invalid_field::InvalidField;
pub use live::{LiveNamespace, LivePod};
pub use manifest_context::{CONTEXT_KINDS, ManifestContext};
pub(crate) use namespace::{label_in_namespace, refused_label_in_namespace};
pub use origins::{ErrorPosition, FieldPosition};
pub use report::{PodReport, locate};
pub use summary::Summary;
pub use webhook_absence::webhook_absence;
pub use webhook_trace::{AppliedFabric, WebhookResult, WebhookTrace};

use crate::cluster_facts::ClusterFacts;
use crate::config::Configuration;
use crate::dra::ClaimFacts;
use crate::finding;
use crate::gang::{Creator, GangView};
use crate::json;
use crate::lint::{UNKNOWN_FIELDS, unknown_fields};
use crate::manifest::{Document, DocumentWarning};
use crate::mutate::Outcome;
use crate::pod::Pod;
use crate::scope::Installation;
use crate::workload::{self, Fidelity, Manifest, RenderError, RolePod, SOLE_ROLE};
use gangs::Gangs;

/// Note about pods of a kind that is not supported.
pub const GENERIC_NOTE: &str = "generic: the labels and the environment that its operator adds are not shown";

/// Maximum number of warnings of one check about a document. More only repeat the same mistake.
const MAX_WARNINGS: usize = 20;

/// Kind whose roles may belong to several workloads.
const INDEPENDENT: &str = "AppWrapper";

/// Preview of the documents of one input with one configuration.
#[derive(Debug)]
pub struct Preview {
    config: Configuration,
    config_hash: String,
    context: ManifestContext,
    /// Known state of the cluster.
    facts: ClusterFacts,
    /// Namespace of documents without one.
    namespace: String,
    installation: Installation,
}

/// Preview of a document.
#[derive(Debug)]
pub enum DocumentPreview {
    /// The document is a workload, or an object of another kind that contains pod templates.
    Pods {
        /// One report for each role, in the order of the manifest.
        reports: Vec<PodReport>,
        /// Notes for the user, one sentence each.
        notes: Vec<String>,
        /// Labels and annotations of trainmesh outside the pod templates, where they have no effect, and templates that are not shown.
        warnings: Vec<DocumentWarning>,
    },
    /// The document is a Namespace; contains warnings about its labels.
    Namespace(Vec<DocumentWarning>),
    /// The document installs manifests that a controller renders, and that may create pods; contains the message.
    Unrendered(String),
    /// The document creates no pods, or contains no pod template; contains the message.
    Skipped(String),
    /// The document may create pods, but its kind is not supported, and its pods cannot be shown; contains the message.
    Unsupported(String),
}

impl Preview {
    /// Creates a preview.
    #[must_use]
    pub fn new(config: Configuration, context: ManifestContext, namespace: String) -> Self {
        let (config_hash, installation) = (config.hash(), Installation::default());
        let preview = Self { config_hash, config, context, facts: ClusterFacts::default(), namespace, installation };
        preview.with_facts(ClusterFacts::default())
    }

    /// Sets the installation that handles the pods.
    #[must_use]
    pub fn with_installation(self, installation: Installation) -> Self {
        Self { installation, ..self }
    }

    /// Sets the known state of the cluster. Claims and device classes of the input replace those of the cluster.
    #[must_use]
    pub fn with_facts(self, mut facts: ClusterFacts) -> Self {
        // The preview shows what the webhook does: it does not read claims if that is disabled.
        let is_read = self.config.fabric.resource_claims;
        facts.claims = if is_read { self.context.claims(&facts.claims) } else { ClaimFacts::default() };
        facts.mesh = self.context.mesh(facts.mesh.as_deref());
        Self { facts, ..self }
    }

    /// Returns the hash of the configuration.
    #[must_use]
    pub fn config_hash(&self) -> &str {
        &self.config_hash
    }

    /// Returns the context of the manifests.
    #[must_use]
    pub fn context(&self) -> &ManifestContext {
        &self.context
    }

    /// Returns a warning about each label that has no effect, of the labels of all namespaces that do not depend on the input.
    #[must_use]
    pub fn override_warnings(&self) -> Vec<DocumentWarning> {
        let labels = self.context.override_labels();
        let added = self.context.added_labels();
        let warnings = labels.map(|labels| namespace::override_warnings(labels, added, &self.config.fabric));
        severities::configured(warnings.unwrap_or_default(), &self.config.fabric.lint)
    }

    /// Takes the warnings about `document` as a whole, which do not depend on its pods: those about its text and its fields, that
    /// it replaces another object of the input, and those about the labels of a training runtime.
    pub fn take_warnings(&self, document: &mut Document) -> Vec<DocumentWarning> {
        let mut warnings = mem::take(&mut document.warnings);
        warnings.extend(self.context.duplicate(document).cloned());
        let namespace = namespace_of(document, &self.namespace);
        let (stock, fabric) = (self.context.runtimes().stock, &self.config.fabric);
        warnings.extend(duplicate_variables::warnings(document, namespace));
        warnings.extend(unknown_fields::warnings(document, namespace, stock, &fabric.lint));
        warnings.extend(runtime_keys::warnings(document, namespace, &self.context, fabric));
        severities::configured(warnings, &fabric.lint)
    }

    /// Removes those of `warnings`, of one document, that are about the field of `error`, the error about this document.
    pub fn remove_repeated(warnings: &mut Vec<DocumentWarning>, error: &RenderError) {
        if matches!(error, RenderError::Invalid { .. } | RenderError::Misspelled { .. }) {
            warnings.retain(|warning| !warning.is_about(UNKNOWN_FIELDS.code(), error.path()));
        }
    }

    /// Previews the pods of `document`.
    pub fn document(&self, document: &Document) -> Result<DocumentPreview, RenderError> {
        let text = |key: &str| document.value.get(key).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let Some(workload_kind) = workload::find(api_version, kind) else {
            return self.unknown_kind(document, api_version, kind);
        };
        self.reject_placeholders(document)?;
        operator_fields::require_types(&document.value)?;
        let (namespace, runtimes) = (namespace_of(document, &self.namespace), self.context.runtimes());
        let key = LiveWorkload::key(document, &self.namespace);
        let live = key.map(|key| self.context.live_workloads(&key)).unwrap_or_default();
        let raw = cluster_state::with_status(&document.value, live);
        let manifest = Manifest { raw: &raw, namespace, runtimes };
        // The operators' own fields first: their errors name the accepted values.
        let mut roles = (workload_kind.render)(&manifest)?;
        api_types::require(&document.value)?;
        for role in &mut roles {
            for object in live {
                object.identify(&mut role.pod);
            }
        }
        let mut gangs = Gangs::read(workload_kind, &manifest, &roles);
        gangs.identify(live);
        // A minimum of the wrong type is an error also where no gang mode reads it.
        let shape = workload_kind.gang.shape.filter(|_| gangs.first().is_none());
        if let Some(Err(error @ RenderError::Invalid { .. })) = shape.map(|shape| shape(&manifest)) {
            return Err(error);
        }
        let note = (workload_kind.fidelity == Fidelity::Documented).then(|| {
            format!("{kind}: the pods contain the fields that the operator is documented to set; it may set more")
        });
        let mut preview = self.pods(document, kind, roles, &gangs, note.into_iter().collect());
        if let DocumentPreview::Pods { reports, .. } = &mut preview
            && !live.is_empty()
        {
            let group_names = gangs.group_names(live, reports);
            if let Some(first) = reports.first_mut() {
                first.objects.retain(|object| !cluster_state::is_obsolete(object, live));
                first.cluster = Some(ClusterState { workloads: live.to_vec(), pod_groups: Vec::new(), group_names });
            }
        }
        Ok(preview)
    }

    /// Previews the pods of the roles of `document`.
    fn pods(
        &self,
        document: &Document,
        kind: &str,
        roles: Vec<RolePod>,
        gangs: &Gangs,
        kind_notes: Vec<String>,
    ) -> DocumentPreview {
        let namespace = namespace_of(document, &self.namespace).to_owned();
        let mut notes = kind_notes;
        if roles.iter().any(|role| role.generic) {
            notes.push(format!("{kind}: {GENERIC_NOTE}"));
        }
        if let Some(assumed) = roles.iter().find_map(|role| role.assumed_runtime.as_ref()) {
            notes.push(format!("{kind}: {assumed}"));
        }
        let labels = self.context.labels(&namespace);
        let has_default_queue = self.context.objects(&namespace).has_default_queue();
        let creator = Some(creator(&document.value, kind, has_default_queue));
        let lacks_controller = self.installation.lacks_controller();
        let outcome = |role: &RolePod| {
            let workload = gangs.lookup(Pod::new(&role.pod), &namespace);
            let gang = GangView { facts: None, namespace: &namespace, workload, creator, pin: None, lacks_controller };
            self.outcome(role, &namespace, labels, gang)
        };
        let outcomes: Vec<(Outcome, Value)> = roles.iter().map(outcome).collect();
        let jobs = self.job_contexts(&document.value, &namespace, &roles, &outcomes, gangs);
        let reports = roles.into_iter().zip(outcomes).zip(jobs).map(|((role, (mut outcome, patched)), job)| {
            if !role.generic {
                outcome.findings.extend(unknown_fields(Pod::new(&role.pod), &self.config.fabric.lint));
            }
            self.lint_in_job(&role, &patched, &namespace, &job, &mut outcome);
            let namespace_findings = self.locate_in_namespace(&namespace, &mut outcome.findings);
            finding::sort(&mut outcome.findings);
            let subject = if role.name == SOLE_ROLE { kind.to_owned() } else { format!("{kind} {}", role.name) };
            notes.extend(role.notes.iter().map(|note| format!("{subject}: {note}")));
            let report = PodReport::new(document, kind, &namespace, role, outcome, patched, job);
            let labels_assumed = self.context.is_assumed(&namespace);
            let mut report = PodReport { labels_assumed, namespace_findings, ..report };
            report.add_invalid(&self.config.fabric.lint);
            self.locate_rules_in_namespace(&mut report);
            report
        });
        let mut reports: Vec<PodReport> = reports.collect();
        let objects = gangs.objects(&reports);
        if let Some(first) = reports.first_mut() {
            first.objects = objects;
        }
        self.lint_training(document, gangs.first(), &mut reports);
        let fabric = &self.config.fabric;
        let mut warnings = misplaced::warnings(document, kind, Some(&namespace), &reports, fabric);
        warnings.extend(gang_keys::warnings(document, kind, &namespace, &fabric.lint));
        warnings.extend(queue_labels::warnings(document, kind, &namespace, &fabric.lint));
        let queue = missing_queue::warnings(document, kind, &namespace, &reports, has_default_queue, &fabric.lint);
        for report in &mut reports {
            report.lacks_queue = !queue.is_empty();
        }
        warnings.extend(queue);
        warnings.extend(omitted::warning(document, kind, &namespace));
        warnings.extend(similar_namespace::warning(document, kind, &self.context));
        let warnings = severities::configured(warnings, &fabric.lint);
        DocumentPreview::Pods { reports, notes, warnings }
    }
}

/// Returns `manifest`, of this `kind`, as the object that creates a workload.
fn creator<'a>(manifest: &'a Value, kind: &'a str, has_default_queue: bool) -> Creator<'a> {
    let api_version = json::text(manifest, "apiVersion").unwrap_or_default();
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    Creator { group, kind, queue: workload::kueue_queue(manifest), has_default_queue }
}

/// Returns the namespace in which `document` is created: its own, that of its admission review, or else `default`.
#[must_use]
pub fn namespace_of<'a>(document: &'a Document, default: &'a str) -> &'a str {
    let object_namespace =
        document.value.pointer("/metadata/namespace").and_then(Value::as_str).filter(|name| !name.is_empty());
    object_namespace.or(document.namespace.as_deref()).unwrap_or(default)
}

/// Returns the `name` or `generateName` of the object.
fn name_of(document: &Document) -> &str {
    let metadata = |key: &str| document.value.get("metadata")?.get(key)?.as_str();
    metadata("name").or_else(|| metadata("generateName")).unwrap_or_default()
}
