//! Which profile, and in which revision.
//!
//! The pod's label decides, else the namespace's, else the configuration. Pods of one job must not differ: while siblings
//! live, their revision holds. Where it is not known any more, or they carry a profile of another name, nothing is
//! guessed: the pod is left as it is, and the user told.

use super::super::{Facts, Ruling};
use super::TCP;
use crate::config::Profile;
use crate::config::profile::OnConflict;
use crate::labels;
use crate::mutate::{ProfileChoice, Reason};

/// The profile of a pod.
pub(super) struct Selected<'a> {
    pub(super) name: &'a str,
    pub(super) profile: &'a Profile,
    pub(super) revision: &'a str,
    /// Whether living siblings carry this revision.
    pub(super) pinned: bool,
    /// Whether living siblings were given TCP instead.
    pub(super) siblings_fell_back: bool,
    /// What siblings carry instead, where that forbids any.
    siblings: Option<String>,
}

/// The profile of a pod; else the ruling that says why there is none.
pub(super) fn select<'a>(facts: &Facts<'a>) -> Result<Selected<'a>, Box<Ruling>> {
    let config = &facts.snapshot.config.fabric;
    let name = match facts.snapshot.fabric_of(facts.pod) {
        ProfileChoice::Profile(name) => name,
        ProfileChoice::None => return Err(Box::new(Ruling::skipped(Reason::FabricOptedOut))),
        ProfileChoice::Unset => return Err(Box::new(Ruling::skipped(Reason::FabricNotNamed))),
    };
    let current = config.profiles.find(name);
    let pin = facts.snapshot.cluster.pin;
    let pinned = pin.filter(|pin| pin.profile == name);
    let own = |profile, revision| Selected {
        name,
        profile,
        revision,
        pinned: pinned.is_some(),
        siblings_fell_back: false,
        siblings: None,
    };
    match (current, pinned) {
        (Some(entry), None) => {
            let mut selected = own(&entry.profile, &entry.revision);
            selected.siblings_fell_back =
                pin.is_some_and(|pin| pin.profile == TCP) && entry.profile.on_conflict == OnConflict::Tcp;
            selected.siblings = pin.map(|pin| format!("they carry {}", pin.profile));
            Ok(selected)
        }
        (Some(entry), Some(pin)) if entry.revision == pin.revision => Ok(own(&entry.profile, &entry.revision)),
        (current, Some(pin)) => match (pin.body, current) {
            (Some(body), _) => Ok(own(body, pin.revision)),
            (None, Some(entry)) => {
                let mut selected = own(&entry.profile, &entry.revision);
                selected.siblings = Some(format!("revision {} is not known any more", pin.revision));
                Ok(selected)
            }
            (None, None) => Err(Box::new(unknown(facts, name))),
        },
        (None, None) => Err(Box::new(unknown(facts, name))),
    }
}

impl Selected<'_> {
    /// Whether the pod's namespace may use the profile. The configuration in force decides, and not the body that a pin
    /// kept: it would outlive a permission, and goes back to what pods carry.
    pub(super) fn is_allowed(&self, facts: &Facts<'_>) -> bool {
        let configured = facts.snapshot.config.fabric.profiles.find(self.name);
        let profile = configured.map_or(self.profile, |entry| &entry.profile);
        profile.allows(facts.snapshot.namespace, facts.snapshot.labels)
    }

    /// The ruling where the pod's namespace may not use the profile.
    pub(super) fn not_allowed(&self, facts: &Facts<'_>) -> Ruling {
        let why = format!("it is not for namespace {}", facts.snapshot.namespace);
        let warning = format!("fabric {} not given: {why}", self.name);
        Ruling::refused(Reason::FabricNotAllowed, format!("{}: {why}", self.name), warning)
    }

    /// Whether siblings forbid to give the pod anything.
    pub(super) fn refuses(&self) -> bool {
        self.siblings.is_some() && !self.siblings_fell_back
    }

    /// The ruling where siblings forbid it.
    pub(super) fn refusal(&self) -> Ruling {
        let why = self.siblings.as_deref().unwrap_or_default();
        let warning = format!("fabric {} not given: pods of the job still run, and {why}: restart the job", self.name);
        Ruling::refused(Reason::FabricOfSiblings, format!("{}: {why}", self.name), warning)
    }
}

fn unknown(facts: &Facts<'_>, name: &str) -> Ruling {
    if !labels::is_value(name) {
        let what = "the name of the fabric is not a label value";
        return Ruling::refused(Reason::UnknownFabric, what, format!("fabric: {what}"));
    }
    let profiles = &facts.snapshot.config.fabric.profiles;
    let cure = if let Some(near) = profiles.nearest(name) {
        format!("did you mean {near}?")
    } else {
        format!("the nearest is {}, trainmesh fabric list shows all", profiles.closest(name).unwrap_or_default())
    };
    Ruling::refused(
        Reason::UnknownFabric,
        format!("{name}: {cure}"),
        format!("fabric: no profile is called {name}: {cure}"),
    )
}
