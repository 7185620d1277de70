//! Explains a pod that exists in a cluster: what the webhook applied and refused when the pod was created, according to
//! the pod's annotations, and what the webhook would decide now about the other rules.

mod recorded;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use recorded::Recorded;

use super::{PodReport, Preview, WebhookResult, WebhookTrace};
use crate::lint::{JobContext, LintInput, mesh_findings};
use crate::mutate::{
    Outcome, Patch, Reason, RuleOutcome, Snapshot, Verdict, before_injection, draft, excluded, lint_input,
    missed_rules, mutate,
};
use crate::pod::Pod;
use crate::scope::Mode;
use crate::workload::SOLE_ROLE;

/// A pod that exists in a cluster.
#[derive(Clone, Copy, Debug)]
pub struct LivePod<'a> {
    /// Namespace of the pod.
    pub namespace: &'a str,
    /// The pod, as the apiserver returns it.
    pub pod: &'a Value,
    /// Latest time at which the opt-in label of the namespace may have been set; `None` if unknown.
    pub opted_in_since: Option<Timestamp>,
    /// Reason why the apiserver calls no webhook of trainmesh now; `None` if it does, or if that is unknown.
    pub webhook_absence: Option<&'a str>,
    /// False if the configuration of the cluster could not be read, so that only the pod's annotations count.
    pub is_configuration_known: bool,
}

/// A namespace of a cluster.
#[derive(Clone, Debug, Default)]
pub struct LiveNamespace {
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Latest time at which the opt-in label of the namespace may have been set; `None` if unknown.
    pub opted_in_since: Option<Timestamp>,
}

impl Preview {
    /// Explains a pod that exists in a cluster. The report contains the decisions that the pod's annotations record;
    /// for the other rules, the current labels and configuration decide. Without the configuration, nothing is known about
    /// these rules, and there are no findings. The patch is empty, because a pod is changed only when it is created.
    #[must_use]
    pub fn live_pod(&self, live: &LivePod<'_>) -> PodReport {
        let LivePod { namespace, pod: raw, .. } = *live;
        let pod = Pod::new(raw);
        let namespace_labels = self.context.labels(namespace);
        let recorded = Recorded::read(pod, live.is_configuration_known.then_some(&self.config));
        let (mut outcome, trace) = match self.installation.pod_mode(pod, namespace, namespace_labels) {
            Err(exclusion) => {
                let trace = WebhookTrace::new(WebhookResult::Excluded, Some(Reason::from(exclusion).text()));
                (excluded(pod, exclusion, namespace_labels, &self.config.fabric), trace)
            }
            Ok(mode) => {
                let (config, config_hash) = (&self.config, self.config_hash.as_str());
                let cluster = self.facts.view(namespace, None);
                let snapshot = Snapshot {
                    mode,
                    namespace,
                    namespace_labels,
                    labels_assumed: false,
                    config,
                    config_hash,
                    replicas: None,
                    cluster,
                };
                let (mut outcome, trace) = explain(live, &recorded, &snapshot);
                let input = LintInput { rules: &outcome.rules, ..lint_input(pod, pod, &snapshot) };
                outcome.findings.extend(mesh_findings(&input, &self.config.fabric.lint));
                (outcome, trace)
            }
        };
        if !live.is_configuration_known {
            // Profiles and severities are those of the configuration.
            outcome.findings.clear();
        }
        let copied = matches!(trace.webhook, WebhookResult::Excluded | WebhookResult::Audited) && !recorded.is_empty();
        let warnings = copied.then(|| COPIED.to_owned()).into_iter().collect();
        let text = |pointer: &str| raw.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        PodReport {
            source: SOURCE.to_owned(),
            document: 0,
            item: None,
            line: None,
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            namespace: namespace.to_owned(),
            name: text("/metadata/name"),
            role: SOLE_ROLE.to_owned(),
            replicas: Some(1),
            generic: false,
            assumed_runtime: None,
            runtime: None,
            changed: false,
            rules: outcome.rules,
            warnings,
            notes: Vec::new(),
            rule_positions: Vec::new(),
            namespace_findings: Vec::new(),
            labels_assumed: false,
            component: None,
            lacks_queue: false,
            invalid: Vec::new(),
            lint: outcome.findings,
            original: raw.clone(),
            patch: Patch::default(),
            pod: raw.clone(),
            job: Arc::new(JobContext::default()),
            objects: Vec::new(),
            cluster: None,
            quota: None,
            live: Some(trace),
        }
    }
}

/// Source of the report.
const SOURCE: &str = "cluster";
/// Warning about annotations that the webhook cannot have written under the current labels.
const COPIED: &str = "the annotations trainmesh.dev/applied and trainmesh.dev/refused are from another pod, whose template was \
                      copied, or from a time when the labels were different";

/// Explains a pod that the apiserver's selectors send to the webhook.
fn explain(live: &LivePod<'_>, recorded: &Recorded, snapshot: &Snapshot<'_>) -> (Outcome, WebhookTrace) {
    let mut pod = live.pod.clone();
    // A pod that is being deleted is exempt, but was not when it was created.
    if let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("deletionTimestamp");
    }
    let mut current = mutate(&before_injection(&pod), snapshot);
    if snapshot.mode == Mode::Audit {
        if !live.is_configuration_known {
            current.rules = current.rules.iter().map(recorded::undecided).collect();
        }
        return (current, WebhookTrace::new(WebhookResult::Audited, None));
    }
    let missed = missed_rules(&pod, snapshot);
    let is_unrecorded = |rule: &RuleOutcome| rule.outcome == Verdict::Refused && snapshot.mode == Mode::Enabled;
    let trace = if !recorded.is_empty() {
        WebhookTrace::new(WebhookResult::Handled, None)
    } else if !live.is_configuration_known {
        WebhookTrace::new(WebhookResult::Unknown, None)
    } else if missed.is_empty() && !current.rules.iter().any(is_unrecorded) {
        WebhookTrace::new(WebhookResult::NotNeeded, None)
    } else {
        WebhookTrace::new(WebhookResult::Missed, Some(&cause(live)))
    };
    let rendered = draft(&pod, snapshot).rules;
    let rules = current.rules.into_iter().map(|rule| {
        let rendered = rendered.iter().find(|rendered| rendered.rule == rule.rule);
        let is_missed = missed.contains(&rule.rule);
        recorded.decision(rule, rendered, is_missed)
    });
    current.rules = rules.collect();
    (current, WebhookTrace { fabric: recorded.fabric.clone(), ..trace })
}

/// Returns the probable cause of a missed pod.
fn cause(live: &LivePod<'_>) -> String {
    if let Some(absence) = live.webhook_absence {
        return format!(
            "{absence}, so that no new pod is changed either: run trainmesh doctor, and then create the pod again"
        );
    }
    let created = live.pod.pointer("/metadata/creationTimestamp").and_then(Value::as_str);
    let created = created.and_then(|created| created.parse::<Timestamp>().ok());
    match live.opted_in_since.zip(created) {
        Some((since, created)) if since > created => {
            format!("the labels of the namespace were changed at {since}, after the pod was created. Create it again")
        }
        Some(_) => "the webhook was not available when the pod was created (failurePolicy: Ignore), or the configuration was \
                    changed afterwards. Create it again"
            .to_owned(),
        None => {
            "the webhook was not available when the pod was created (failurePolicy: Ignore), or the labels of the namespace \
                 or the configuration were changed afterwards. Create it again"
                .to_owned()
        }
    }
}
