//! The stable machine-readable form of a preview: one report for each role of a workload.

use std::iter;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::causes::{self, Cause, is_warning_of};
use super::invalid_field::{has_null_quantity, invalid_fields};
use super::invalid_quantity::invalid_quantities;
use super::origins::{FieldPosition, PodOrigin};
use super::{ClusterState, InvalidField, WebhookTrace};
use crate::accounting::JobAccount;
use crate::config::LintSettings;
use crate::finding::{self, Finding, Severity};
use crate::lint::{self, JobContext, UNKNOWN_FIELDS, is_of_findings};
use crate::manifest::Document;
use crate::mutate::{Outcome, Patch, Reason, RuleId, RuleOutcome, Verdict, WITHHELD, is_note};
use crate::workload::{AssumedRuntime, RoleComponent, RolePod};

/// Start of the warning of the rule `gang` about each pod of a workload without a queue of Kueue.
const QUEUE_WARNING: &str = "gang kueue: ";

/// Preview of the pods of a role.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, most of which are fields of the JSON output")]
pub struct PodReport {
    /// File that contains the manifest; `stdin` for standard input.
    pub source: String,
    /// Zero-based index of the document in the file, including empty documents.
    pub document: usize,
    /// Index in a `List`.
    pub item: Option<usize>,
    /// Line of the source at which the object starts; `None` if the manifest is not from a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// `apiVersion` of the manifest.
    pub api_version: String,
    /// `kind` of the manifest.
    pub kind: String,
    /// Namespace of the pods.
    pub namespace: String,
    /// `name` or `generateName` of the workload.
    pub name: String,
    /// Name of the role.
    pub role: String,
    /// Number of pods of the role; `None` if unknown.
    pub replicas: Option<u64>,
    /// True if the kind is not supported: the pod is that of its template, without the changes of its operator.
    #[serde(skip_serializing_if = "is_false")]
    pub generic: bool,
    /// True if the labels of the namespace are not known but assumed.
    #[serde(skip)]
    pub labels_assumed: bool,
    /// Component of an `AppWrapper` that creates the pods.
    #[serde(skip)]
    pub component: Option<RoleComponent>,
    /// True if a warning about the workload reports that it names no queue of Kueue.
    #[serde(skip)]
    pub lacks_queue: bool,
    /// True if the patch is not empty.
    pub changed: bool,
    /// Outcomes of the rules.
    pub rules: Vec<RuleOutcome>,
    /// Positions of the fields of rules that are refused or have a warning.
    #[serde(skip)]
    pub rule_positions: Vec<(RuleId, FieldPosition)>,
    /// Warnings that the webhook would return.
    pub warnings: Vec<String>,
    /// Those of the warnings that are only notes, because no manifest can prevent them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Fields of `original` that do not decode, or contain an invalid quantity.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_text")]
    pub invalid: Vec<InvalidField>,
    /// Lint findings for the patched pod.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lint: Vec<Finding>,
    /// Findings about the labels of the namespace that the warnings about its Namespace contain, and not `lint`.
    #[serde(skip)]
    pub namespace_findings: Vec<Finding>,
    /// Stock runtime of a `TrainJob` that is assumed, because its own is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumed_runtime: Option<AssumedRuntime>,
    /// Manifest of the runtime of a `TrainJob`, if the input contains it.
    #[serde(skip)]
    pub runtime: Option<Arc<Document>>,
    /// Pod that the operator would create for replica 0.
    pub original: Value,
    /// Patch that the webhook would return for `original`.
    pub patch: Patch,
    /// `original` with `patch` applied.
    pub pod: Value,
    /// Facts of the whole workload, for the lint.
    #[serde(skip)]
    pub job: Arc<JobContext>,
    /// Objects that the controller would create for the workload.
    pub objects: Vec<Value>,
    /// State of the workload in the cluster, in its first report, if it exists there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterState>,
    /// Requests of the workload compared with quotas, in its first report, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<JobAccount>,
    /// Result of the webhook, if the pod exists in a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<WebhookTrace>,
}

impl PodReport {
    /// Creates the report of a role with the outcome for its pod, and the `pod` with its patch.
    pub(super) fn new(
        document: &Document,
        kind: &str,
        namespace: &str,
        role: RolePod,
        outcome: Outcome,
        pod: Value,
        job: Arc<JobContext>,
    ) -> Self {
        // A patch is verified, which includes that the pod decodes.
        // Pods with other invalid fields get no patch.
        let may_be_invalid = outcome.patch.is_empty() || has_null_quantity(&role.pod);
        let mut invalid = if may_be_invalid { invalid_fields(&role.pod) } else { Vec::new() };
        invalid.extend(invalid_quantities(&role.pod));
        // The list is limited: the fields that the others repeat may be the only ones in it.
        let is_copied = |field: &InvalidField| lint::is_copied(&role.pod, &field.pointer);
        if !invalid.iter().all(is_copied) {
            invalid.retain(|field| !is_copied(field));
        }
        let runtime = role.runtime.as_deref();
        PodOrigin { document, runtime, role: &role.name, pod: &role.pod }.locate_fields(&mut invalid);
        let mut findings = outcome.findings;
        let origin = PodOrigin { document, runtime, role: &role.name, pod: &pod };
        origin.locate(&mut findings);
        let mut rules = outcome.rules;
        // The field that does not decode prevents the rules, not those that they would write.
        if let Some(first) = invalid.first() {
            for rule in rules.iter_mut().filter(|rule| rule.reason == Reason::NotAPod) {
                rule.field = Some(first.pointer.clone());
            }
        }
        // The fields of other rules may be those that the patch adds.
        let has_own_field = |rule: &RuleOutcome| {
            rule.field.as_deref().is_some_and(|field| role.pod.pointer(field).is_some())
                && outcome.warnings.iter().any(|warning| is_warning_of(rule.rule, warning))
        };
        let located = rules.iter().filter(|rule| rule.outcome == Verdict::Refused || has_own_field(rule));
        let rule_positions =
            located.filter_map(|rule| Some((rule.rule, origin.position(rule.field.as_deref()?)))).collect();
        Self {
            source: document.source.to_string(),
            document: document.document,
            item: document.item,
            line: Some(document.object_line()),
            api_version: document.value.get("apiVersion").and_then(Value::as_str).unwrap_or_default().to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: super::name_of(document).to_owned(),
            role: role.name,
            replicas: role.replicas,
            generic: role.generic,
            assumed_runtime: role.assumed_runtime,
            runtime: role.runtime,
            labels_assumed: false,
            component: role.component,
            lacks_queue: false,
            changed: !outcome.patch.is_empty(),
            rules,
            rule_positions,
            notes: outcome.warnings.iter().filter(|warning| is_note(warning)).cloned().collect(),
            warnings: outcome.warnings,
            invalid,
            lint: findings,
            namespace_findings: Vec::new(),
            original: role.pod,
            patch: outcome.patch,
            pod,
            job,
            objects: Vec::new(),
            cluster: None,
            quota: None,
            live: None,
        }
    }

    /// Adds the findings about the invalid fields, which have their positions.
    pub(super) fn add_invalid(&mut self, settings: &LintSettings) {
        if self.invalid.is_empty() {
            return;
        }
        let problems: Vec<_> = self.invalid.iter().map(InvalidField::as_problem).collect();
        for mut finding in lint::invalid_fields(&problems, settings) {
            if let Some(field) = self.invalid.iter().find(|field| field.pointer == finding.subject) {
                (finding.source, finding.line) = (field.source.clone(), field.line);
            }
            self.lint.push(finding);
        }
        finding::sort(&mut self.lint);
    }

    /// Returns the fields and values of the pod that the apiserver rejects, or reads as another value.
    #[must_use]
    pub fn invalid_values(&self) -> Vec<Cause<'_>> {
        let is_rejected = |finding: &Finding| is_of_fields(finding) && finding.severity == Severity::Error;
        self.invalid.iter().map(Cause::Invalid).chain(causes::findings(self, is_rejected)).collect()
    }

    /// Returns true if a finding is about `field`.
    pub(crate) fn has_finding_about(&self, field: &InvalidField) -> bool {
        self.lint.iter().any(|finding| is_of_fields(finding) && finding.subject == field.pointer)
    }

    /// Returns true if `warning` is one about the findings, which are reported with their lines, or repeats that about the workload or
    /// the reason for which the pod has no patch.
    pub(crate) fn has_finding(&self, warning: &str) -> bool {
        if !self.invalid.is_empty() && warning.starts_with(WITHHELD) {
            return true;
        }
        if self.lacks_queue && warning.starts_with(QUEUE_WARNING) {
            return true;
        }
        [&self.lint, &self.namespace_findings].into_iter().any(|findings| is_of_findings(warning, findings))
    }

    /// Returns the file and line of the field that `rule`, refused or with a warning, is about, if they are not those of the workload.
    pub(crate) fn rule_position(&self, rule: RuleId) -> (Option<&str>, Option<u64>) {
        let found = self.rule_positions.iter().find(|(refused, _)| *refused == rule);
        found.map_or((None, None), |(_, (source, line))| (source.as_deref(), *line))
    }

    /// Returns true if `other` differs only by its role, so that both can be shown as one.
    #[must_use]
    pub fn has_same_outcome(&self, other: &Self) -> bool {
        (&self.source, self.document, self.item) == (&other.source, other.document, other.item)
            && self.patch == other.patch
            && self.rules == other.rules
            && self.warnings == other.warnings
            && (&self.namespace, &self.name) == (&other.namespace, &other.name)
            && iter::zip(&self.invalid, &other.invalid).all(|(a, b)| a.to_string() == b.to_string())
            && self.invalid.len() == other.invalid.len()
            && iter::zip(&self.lint, &other.lint).all(|(a, b)| a.is_same(b))
            && self.lint.len() == other.lint.len()
    }
}

/// Sets the positions of findings about the pod of `report`, which `document` creates.
pub fn locate(findings: &mut [Finding], document: &Document, report: &PodReport) {
    let runtime = report.runtime.as_deref();
    PodOrigin { document, runtime, role: &report.role, pod: &report.pod }.locate(findings);
}

/// Returns true if `finding` is about an unknown field or an invalid value.
fn is_of_fields(finding: &Finding) -> bool {
    finding.code == UNKNOWN_FIELDS.code()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

fn as_text<S: Serializer>(fields: &[InvalidField], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(fields.iter().map(ToString::to_string))
}
