//! Variables that are out of date, or meant for debugging: FP024 to FP026.

use super::facts::Facts;
use super::finding::Found;
use super::rdma;
use crate::config::profile::Transport;
use crate::fabric::nccl::variable;

/// FP024: names of old.
pub(super) fn deprecated(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in &facts.containers {
        for name in seen.settings.all().map(|setting| setting.name) {
            if let Some(why) = variable(name).and_then(|variable| variable.retired) {
                found.add(seen.settings.field(name), format!("{}: {name}, {why}", seen.named()));
            }
        }
    }
}

/// FP025: what the first releases for EFA needed.
pub(super) fn obsolete_efa(facts: &Facts<'_>, found: &mut Found<'_>) {
    let by_profile = facts.subject.profile.is_some_and(|profile| profile.transport == Transport::Efa);
    for seen in &facts.containers {
        let settings = &seen.settings;
        let value_is =
            |name: &str, expected: &str| settings.value(name).is_some_and(|value| value.eq_ignore_ascii_case(expected));
        let provider = value_is("FI_PROVIDER", "efa");
        let efa = by_profile || provider || seen.adapters.iter().any(|(name, _)| rdma::is_efa(name));
        let obsolete = [
            ("FI_PROVIDER", provider),
            ("FI_EFA_FORK_SAFE", settings.get("FI_EFA_FORK_SAFE").is_some()),
            ("RDMAV_FORK_SAFE", settings.get("RDMAV_FORK_SAFE").is_some()),
            ("NCCL_PROTO", efa && value_is("NCCL_PROTO", "simple")),
        ];
        for (name, _) in obsolete.into_iter().filter(|(_, set)| *set) {
            found.add(settings.field(name), format!("{}: {name} is no longer needed for EFA", seen.named()));
        }
    }
}

/// FP026: what is for debugging, and slows a job that stays.
pub(super) fn debugging(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in &facts.containers {
        let settings = &seen.settings;
        // NCCL takes these as set where they are 1, and nothing else.
        let on = |name: &'static str| (name, settings.number(name) == Some(1));
        let any = |name: &'static str| (name, settings.value(name).is_some());
        let traced = settings.value("NCCL_DEBUG").is_some_and(|level| level.eq_ignore_ascii_case("TRACE"));
        let set = [
            on("NCCL_P2P_DISABLE"),
            on("NCCL_SHM_DISABLE"),
            ("NCCL_DEBUG", traced),
            any("NCCL_ALGO"),
            any("NCCL_PROTO"),
        ];
        for (name, _) in set.into_iter().filter(|(_, set)| *set) {
            let value = settings.value(name).unwrap_or_default();
            found.add(settings.field(name), format!("{}: {name}={value} is for debugging", seen.named()));
        }
    }
}
