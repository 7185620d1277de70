//! The rules: what each may see, what it answers, and the order in which they are asked.

mod fabric;
mod managed;
mod mesh;

use std::borrow::Cow;

use super::plan::{annotation, label};
use super::{Plan, Reason, RuleId, Snapshot, Verdict};
use crate::pod::{Injection, NotInjected, Pod, Proxy, injection};
use crate::scope::Mode;

/// A rule.
pub(super) struct Rule {
    /// Its name.
    pub(super) id: RuleId,
    /// Decides, and adds to the plan what is to be written.
    pub(super) decide: fn(&Facts<'_>, &mut Plan) -> Ruling,
}

/// The rules in the order in which they are asked: a rule may look at what the ones before it have planned.
pub(super) static RULES: &[Rule] = &[
    Rule { id: RuleId::Fabric, decide: fabric::decide },
    Rule { id: RuleId::MeshTraffic, decide: mesh::traffic::decide },
    Rule { id: RuleId::MeshNative, decide: mesh::native::decide },
    Rule { id: RuleId::MeshHold, decide: mesh::hold::decide },
    Rule { id: RuleId::TerminationManaged, decide: managed::decide },
];

/// What a rule sees: the pod, the snapshot, and what every rule would otherwise work out again.
pub(super) struct Facts<'a> {
    pub(super) pod: Pod<'a>,
    pub(super) snapshot: &'a Snapshot<'a>,
    /// The proxy of a pod that has been injected already.
    pub(super) proxy: Option<Proxy<'a>>,
    /// What Istio will do with a pod that has not.
    pub(super) injection: Injection,
}

/// What a rule answers.
pub(super) struct Ruling {
    pub(super) verdict: Verdict,
    pub(super) reason: Reason,
    /// What is particular to this pod.
    pub(super) detail: Option<String>,
    /// JSON pointer of the field that the decision is about.
    pub(super) field: Option<String>,
    pub(super) warnings: Vec<String>,
    /// What was decided of every part, where there are several.
    pub(super) parts: Vec<String>,
    /// What is in force, as the annotation `trainmesh.dev/applied` says it, where that is more than the rule's name.
    pub(super) in_force: Option<String>,
}

impl<'a> Facts<'a> {
    pub(super) fn new(pod: Pod<'a>, snapshot: &'a Snapshot<'a>) -> Self {
        let injection = injection(pod, snapshot.namespace, snapshot.labels);
        Self { pod, snapshot, proxy: pod.proxy(), injection }
    }

    /// Whether this is the drop-in for istio-aux, which knows no rules but the hold and those of termination.
    fn istio_aux(&self) -> bool {
        self.snapshot.mode == Mode::IstioAux
    }
}

impl Ruling {
    fn new(verdict: Verdict, reason: Reason) -> Self {
        Self { verdict, reason, detail: None, field: None, warnings: Vec::new(), parts: Vec::new(), in_force: None }
    }

    fn applied(reason: Reason, field: impl Into<String>) -> Self {
        Self::new(Verdict::Applied, reason).at(field)
    }

    fn skipped(reason: Reason) -> Self {
        Self::new(Verdict::Skipped, reason)
    }

    /// A refusal always says `warning` to the user.
    fn refused(reason: Reason, detail: impl Into<String>, warning: String) -> Self {
        Self::new(Verdict::Refused, reason).saying(detail).warn(warning)
    }

    /// What the annotation `trainmesh.dev/applied` says of it, beside what other rules changed.
    pub(super) fn word(&self, rule: RuleId) -> Option<Cow<'static, str>> {
        let applied = (self.verdict == Verdict::Applied).then(|| Cow::Borrowed(rule.name()));
        self.in_force.clone().map(Cow::Owned).or(applied)
    }

    fn saying(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    fn at(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    fn warn(mut self, warning: impl Into<String>) -> Self {
        self.warnings.push(warning.into());
        self
    }
}

/// The JSON pointer of annotation `key`.
fn annotation_pointer(key: &str) -> String {
    annotation(key).to_string()
}

/// The JSON pointer of label `key`.
fn label_pointer(key: &str) -> String {
    label(key).to_string()
}

impl From<NotInjected> for Reason {
    fn from(why: NotInjected) -> Self {
        match why {
            NotInjected::HostNetwork => Self::HostNetwork,
            NotInjected::PodOptedOut => Self::InjectionOptedOut,
            NotInjected::NamespaceOptedOut => Self::InjectionDisabled,
            NotInjected::NotRequested => Self::InjectionNotRequested,
            NotInjected::Ambient => Self::Ambient,
            NotInjected::SystemNamespace => Self::SystemNamespace,
        }
    }
}
