//! Part of FP031: roles of a manifest that get the same fabric profile, of which only a part gets its settings for a machine.

use std::collections::BTreeSet;

use super::deviation::{Deviation, MAX_COMPARED};
use super::run_order::RunOrder;
use super::setting::{ContainerSettings, NcclConf};
use crate::config::profile::Condition;
use crate::config::{Profile, Profiles};
use crate::finding::Severity;
use crate::json;
use crate::names::join_up_to;
use crate::pod::Pod;

/// A role that gets a fabric profile.
pub(super) struct ProfiledRole<'a> {
    name: &'a str,
    profile: &'a str,
    /// Names of the settings of its container with accelerators.
    settings: BTreeSet<&'a str>,
    /// True if `envFrom` may set others.
    may_have_others: bool,
}

impl<'a> ProfiledRole<'a> {
    /// Reads the settings of `pod`, the patched pod of the role. Returns `None` if no container requests accelerators.
    pub(super) fn new(name: &'a str, profile: &'a str, pod: Pod<'a>) -> Option<Self> {
        let container = pod.containers().find(|container| container.accelerators().is_some())?;
        let settings = ContainerSettings::new(&NcclConf::from_pod(pod), container);
        let settings = settings.iter().map(|setting| setting.name).collect();
        let may_have_others = json::items(container.raw(), "envFrom").next().is_some();
        Some(Self { name, profile, settings, may_have_others })
    }
}

/// Returns the first role that lacks settings for a machine which another role with the same profile has while both run. `fix` is
/// how to fix it.
pub(super) fn without_settings(
    roles: &[ProfiledRole<'_>],
    order: &RunOrder<'_>,
    profiles: &Profiles,
    fix: &'static str,
) -> Option<Deviation> {
    roles.iter().take(MAX_COMPARED).find_map(|role| {
        let names: Vec<&str> =
            for_machines(&profiles.find(role.profile)?.profile).filter(|name| role.settings.contains(name)).collect();
        let apart = order.apart_from(role.name);
        let mut peers = roles.iter().filter(|other| other.profile == role.profile && !apart.contains(other.name));
        let (other, lacking) = peers.find_map(|other| {
            let lacking = names.iter().filter(|name| !other.settings.contains(*name) && !other.may_have_others);
            let lacking: BTreeSet<&&str> = lacking.collect();
            (!lacking.is_empty()).then_some((other, lacking))
        })?;
        let (with, profile, without) = (role.name, role.profile, other.name);
        let lacking = join_up_to(1, lacking);
        let message = format!("{with} gets {lacking} of {profile}, but not {without}: NCCL may hang");
        Some(Deviation { role: without.to_owned(), message, severity: Severity::Warning, fix: Some(fix) })
    })
}

/// Returns the names of the settings of `profile` that depend on the machine.
fn for_machines(profile: &Profile) -> impl Iterator<Item = &str> {
    let depends = |when: &Condition| !when.sku.is_empty();
    let settings = profile.env.iter().filter(|setting| !setting.opt_in);
    settings.filter(move |setting| setting.when.as_ref().is_some_and(depends)).map(|setting| setting.name.as_str())
}
