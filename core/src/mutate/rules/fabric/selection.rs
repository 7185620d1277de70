//! Selection of the fabric profile and its revision.
//!
//! The pod's label selects the profile, else the namespace's label, else the configuration. Pods of one job must use
//! the same revision: a new pod gets the revision of its siblings, the running pods of its gang. If that revision is no
//! longer available, or the siblings use another profile, the pod is left unchanged with a warning.

use super::super::{RuleContext, RuleDecision};
use super::TCP;
use super::suggestion::suggestion;
use crate::config::Profile;
use crate::config::profile::OnConflict;
use crate::keys;
use crate::labels;
use crate::mutate::{ProfileChoice, Reason};
use crate::own_keys::{excerpt, shown};

/// Profile selected for a pod.
pub(super) struct Selection<'a> {
    pub(super) name: &'a str,
    pub(super) profile: &'a Profile,
    pub(super) revision: &'a str,
    /// True if siblings use this revision.
    pub(super) pinned: bool,
    /// True if siblings fell back to TCP.
    pub(super) siblings_fell_back: bool,
    /// Difference from the siblings that prevents every profile.
    sibling_conflict: Option<String>,
}

/// Returns the profile for a pod, or the decision if no profile applies.
pub(super) fn select<'a>(context: &RuleContext<'a>) -> Result<Selection<'a>, Box<RuleDecision>> {
    let config = &context.snapshot.config.fabric;
    let name = match context.snapshot.fabric_profile(context.pod) {
        ProfileChoice::Profile(name) => name,
        ProfileChoice::None => return Err(Box::new(RuleDecision::skipped(Reason::FabricOptedOut))),
        ProfileChoice::Unset => return Err(Box::new(skip_unset(context))),
    };
    let current = config.profiles.find(name);
    let pin = context.snapshot.cluster.pin;
    let pinned = pin.filter(|pin| pin.profile == name);
    let at_revision = |profile, revision| Selection {
        name,
        profile,
        revision,
        pinned: pinned.is_some(),
        siblings_fell_back: false,
        sibling_conflict: None,
    };
    match (current, pinned) {
        (Some(entry), None) => {
            let mut selection = at_revision(&entry.profile, &entry.revision);
            selection.siblings_fell_back =
                pin.is_some_and(|pin| pin.profile == TCP) && entry.profile.on_conflict == OnConflict::Tcp;
            selection.sibling_conflict = pin.map(|pin| format!("they use {}", pin.profile));
            Ok(selection)
        }
        (Some(entry), Some(pin)) if entry.revision == pin.revision => Ok(at_revision(&entry.profile, &entry.revision)),
        (current, Some(pin)) => match (pin.body, current) {
            (Some(body), _) => Ok(at_revision(body, pin.revision)),
            (None, Some(entry)) => {
                let mut selection = at_revision(&entry.profile, &entry.revision);
                selection.sibling_conflict = Some(format!("their revision {} is no longer available", pin.revision));
                Ok(selection)
            }
            (None, None) => Err(Box::new(refuse_unknown(context, name))),
        },
        (None, None) => Err(Box::new(refuse_unknown(context, name))),
    }
}

impl Selection<'_> {
    /// Returns true if the pod's namespace may use the profile. This checks the active configuration, not the pinned
    /// profile, because pods that are still running may use a profile that the namespace may no longer use.
    pub(super) fn is_allowed(&self, context: &RuleContext<'_>) -> bool {
        let configured = context.snapshot.config.fabric.profiles.find(self.name);
        let profile = configured.map_or(self.profile, |entry| &entry.profile);
        profile.allows(context.snapshot.namespace, context.snapshot.namespace_labels)
    }

    /// Returns the decision for a pod whose namespace may not use the profile.
    pub(super) fn refuse_namespace(&self, context: &RuleContext<'_>) -> RuleDecision {
        let snapshot = context.snapshot;
        let is_labeled =
            context.pod.label(keys::FABRIC).is_some() || snapshot.namespace_labels.contains_key(keys::FABRIC);
        let kind = if is_labeled { "" } else { "default " };
        let namespace = snapshot.namespace;
        let problem = format!("the {kind}profile is not available in namespace {namespace}: select another one");
        let warning = format!("fabric {} not applied: {problem}", self.name);
        let detail =
            format!("{kind}{} in {namespace}: select another one, or add the namespace to the profile", self.name);
        RuleDecision::refused(Reason::FabricNotAllowed, detail, warning)
    }

    /// Returns true if siblings prevent every profile.
    pub(super) fn conflicts_with_siblings(&self) -> bool {
        self.sibling_conflict.is_some() && !self.siblings_fell_back
    }

    /// Returns the decision for a pod whose siblings prevent every profile.
    pub(super) fn refuse_for_siblings(&self) -> RuleDecision {
        let problem = self.sibling_conflict.as_deref().unwrap_or_default();
        let warning = format!(
            "fabric {} not applied: pods of the job are still running and {problem}: restart the job",
            self.name
        );
        RuleDecision::refused(Reason::FabricOfSiblings, format!("{}: {problem}", self.name), warning)
    }
}

/// Returns the decision for a pod that selects no profile.
fn skip_unset(context: &RuleContext<'_>) -> RuleDecision {
    let decision = RuleDecision::skipped(Reason::FabricNotNamed);
    match suggestion(context) {
        Some(suggestion) => decision.with_detail(suggestion),
        None => decision,
    }
}

fn refuse_unknown(context: &RuleContext<'_>, name: &str) -> RuleDecision {
    if !labels::is_value(name) {
        let name = excerpt(name);
        let problem = format!("{name:?} is not a valid label value: trainmesh fabric list shows the names");
        let warning = format!("fabric: {problem}");
        return RuleDecision::refused(Reason::UnknownFabric, problem, warning);
    }
    let fix = context.snapshot.config.fabric.profiles.advice(name);
    let name = shown(name);
    RuleDecision::refused(
        Reason::UnknownFabric,
        format!("{name}: {fix}"),
        format!("fabric: no profile is named {name}: {fix}"),
    )
}
