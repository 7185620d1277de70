//! The mutation rules, their context and their decisions.

mod checkpoint;
mod fabric;
mod gang;
pub(super) mod managed;
mod mesh;

use std::borrow::Cow;

pub(super) use mesh::consequence::{in_audit, is_consequence};

use super::plan::{annotation_path, label_path};
use super::{Plan, Reason, RuleId, Snapshot, Verdict};
use crate::finding::Finding;
use crate::lint::{self, NAMESPACE_FIELD};
use crate::pod::{Injection, NotInjected, Pod, Proxy, predict_injection};
use crate::rule::Note;
use crate::scope::Mode;

/// A mutation rule.
pub(super) struct Rule {
    pub(super) id: RuleId,
    /// Returns true if the rule runs for a pod. Only an optional rule does not run for all pods.
    pub(super) is_selected: fn(Pod<'_>) -> bool,
    /// Decides whether the rule applies, and adds its writes to the plan.
    pub(super) decide: fn(&RuleContext<'_>, &mut Plan) -> RuleDecision,
}

/// Rules in evaluation order: a rule may depend on the writes that earlier rules planned.
pub(super) static RULES: &[Rule] = &[
    Rule { id: RuleId::Fabric, is_selected: |_| true, decide: fabric::decide },
    Rule { id: RuleId::Gang, is_selected: |_| true, decide: gang::decide },
    Rule { id: RuleId::Checkpoint, is_selected: checkpoint::is_selected, decide: checkpoint::decide },
    Rule { id: RuleId::MeshTraffic, is_selected: |_| true, decide: mesh::traffic::decide },
    Rule { id: RuleId::MeshNative, is_selected: |_| true, decide: mesh::native::decide },
    Rule { id: RuleId::MeshHold, is_selected: |_| true, decide: mesh::hold::decide },
    Rule { id: RuleId::TerminationManaged, is_selected: |_| true, decide: managed::decide },
];

/// Field of a refusal that concerns the pod as a whole.
const WHOLE_POD: &str = "/spec";

/// Input of a rule: the pod, the snapshot, and properties that several rules share.
pub(super) struct RuleContext<'a> {
    pub(super) pod: Pod<'a>,
    pub(super) snapshot: &'a Snapshot<'a>,
    /// Proxy of a pod that is already injected.
    pub(super) proxy: Option<Proxy<'a>>,
    /// Predicted injection of a pod that is not injected yet.
    pub(super) injection: Injection,
}

/// Decision of a rule about a pod.
pub(super) struct RuleDecision {
    pub(super) verdict: Verdict,
    pub(super) reason: Reason,
    /// Details that are specific to this pod.
    pub(super) detail: Option<String>,
    /// JSON pointer of the field that the decision is about.
    pub(super) field: Option<String>,
    pub(super) warnings: Vec<String>,
    /// Finding of the lint that is one of the warnings.
    pub(super) finding: Option<Finding>,
    /// Notes about the parts of a profile, or about each of several conflicts.
    pub(super) notes: Vec<Note>,
    /// True if Istio rejects the pod because of what the rule refuses.
    pub(super) is_rejected_by_istio: bool,
    /// Entry in the annotation `trainmesh.dev/applied`, if it differs from the rule's name.
    pub(super) marker: Option<String>,
}

impl<'a> RuleContext<'a> {
    pub(super) fn new(pod: Pod<'a>, snapshot: &'a Snapshot<'a>) -> Self {
        let injection = predict_injection(pod, snapshot.namespace, snapshot.namespace_labels);
        Self { pod, snapshot, proxy: pod.proxy(), injection }
    }

    /// Returns true in a namespace labeled for istio-aux, where only the hold and termination apply.
    fn is_istio_aux(&self) -> bool {
        self.snapshot.mode == Mode::IstioAux
    }
}

impl RuleDecision {
    fn new(verdict: Verdict, reason: Reason) -> Self {
        Self {
            verdict,
            reason,
            detail: None,
            field: None,
            warnings: Vec::new(),
            finding: None,
            notes: Vec::new(),
            is_rejected_by_istio: false,
            marker: None,
        }
    }

    fn applied(reason: Reason, field: impl Into<String>) -> Self {
        Self::new(Verdict::Applied, reason).with_field(field)
    }

    fn skipped(reason: Reason) -> Self {
        Self::new(Verdict::Skipped, reason)
    }

    /// Refuses to apply the rule. A refusal always warns the user.
    fn refused(reason: Reason, detail: impl Into<String>, warning: String) -> Self {
        Self::new(Verdict::Refused, reason).with_detail(detail).with_warning(warning)
    }

    /// Returns the entry for the annotation `trainmesh.dev/applied`, if the rule has one.
    pub(super) fn applied_marker(&self, rule: RuleId) -> Option<Cow<'static, str>> {
        let applied = (self.verdict == Verdict::Applied).then(|| Cow::Borrowed(rule.name()));
        self.marker.clone().map(Cow::Owned).or(applied)
    }

    fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    fn with_field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Adds the field of a refusal and of its notes, if the rule has not: the label or annotation of the pod that selects what the
    /// rule applies, the namespace whose label selects what does not exist there, or else the whole pod.
    pub(super) fn with_responsible_field(mut self, rule: RuleId, context: &RuleContext<'_>) -> Self {
        if self.verdict != Verdict::Refused {
            return self;
        }
        let pod = context.pod;
        let label = rule.selected_by().filter(|key| pod.label(key).is_some());
        let annotation = checkpoint::selected_by(pod).filter(|_| rule == RuleId::Checkpoint);
        let of_namespace = rule.selected_by().filter(|key| context.snapshot.namespace_labels.contains_key(*key));
        // Other refusals depend on the pod, too.
        let is_of_selection = matches!(
            self.reason,
            Reason::UnknownFabric | Reason::FabricNotAllowed | Reason::UnknownGangMode | Reason::UnknownTrafficMode
        );
        let default = label.map(label_pointer).or(annotation.map(annotation_pointer));
        let default = default.unwrap_or_else(|| match of_namespace.filter(|_| is_of_selection) {
            Some(_) => NAMESPACE_FIELD.to_owned(),
            None => WHOLE_POD.to_owned(),
        });
        let first = self.notes.first().and_then(|note| note.field.clone());
        for note in &mut self.notes {
            note.field.get_or_insert_with(|| default.clone());
        }
        self.field = self.field.or(first).or(Some(default));
        self
    }

    fn with_notes(mut self, notes: impl IntoIterator<Item = impl Into<Note>>) -> Self {
        self.notes = notes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the entry in the annotation `trainmesh.dev/applied`, also for a pod that needs no change.
    fn with_marker(mut self, marker: String) -> Self {
        self.marker = Some(marker);
        self
    }

    /// Adds a finding of the lint and its warning.
    fn with_finding(self, finding: Finding) -> Self {
        let warned = self.with_warning(lint::warning_line(&finding));
        Self { finding: Some(finding), ..warned }
    }

    fn with_warning(mut self, warning: impl Into<String>) -> Self {
        self.warnings.push(warning.into());
        self
    }
}

/// Returns the JSON pointer of annotation `key`.
fn annotation_pointer(key: &str) -> String {
    annotation_path(key).to_string()
}

/// Returns the JSON pointer of label `key`.
pub(super) fn label_pointer(key: &str) -> String {
    label_path(key).to_string()
}

impl From<NotInjected> for Reason {
    fn from(reason: NotInjected) -> Self {
        match reason {
            NotInjected::HostNetwork => Self::HostNetwork,
            NotInjected::PodOptedOut => Self::InjectionOptedOut,
            NotInjected::NamespaceOptedOut => Self::InjectionDisabled,
            NotInjected::NotRequested => Self::InjectionNotRequested,
            NotInjected::Ambient => Self::Ambient,
            NotInjected::SystemNamespace => Self::SystemNamespace,
        }
    }
}
