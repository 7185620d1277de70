//! Deprecated, obsolete and debugging variables: FP024 to FP026.

use super::context::CheckContext;
use super::setting::Origin;
use super::sink::FindingSink;
use crate::config::profile::Transport;
use crate::fabric::nccl::variable;
use crate::finding::Severity;

/// FP024: deprecated variables.
pub(super) fn deprecated(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        for name in container.settings.iter().map(|setting| setting.name) {
            if let Some(note) = variable(name).and_then(|variable| variable.deprecated) {
                let message = format!("{}: {name}: {note}", container.display_name());
                findings.push(container.settings.field(name), message);
            }
        }
    }
}

/// FP025: variables that only the first releases for EFA needed.
pub(super) fn obsolete_efa(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let by_profile = context.input.profile.is_some_and(|profile| profile.transport == Transport::Efa);
    for container in &context.containers {
        let settings = &container.settings;
        let value_is =
            |name: &str, expected: &str| settings.value(name).is_some_and(|value| value.eq_ignore_ascii_case(expected));
        let is_efa_provider = value_is("FI_PROVIDER", "efa");
        let uses_efa =
            by_profile || is_efa_provider || context.target_adapters(container).any(|adapter| context.is_efa(adapter));
        let obsolete = [
            ("FI_PROVIDER", is_efa_provider),
            ("FI_EFA_FORK_SAFE", settings.get("FI_EFA_FORK_SAFE").is_some()),
            ("RDMAV_FORK_SAFE", settings.get("RDMAV_FORK_SAFE").is_some()),
            ("NCCL_PROTO", uses_efa && value_is("NCCL_PROTO", "simple")),
        ];
        for (name, _) in obsolete.into_iter().filter(|(_, set)| *set) {
            let message = format!("{}: {name} is no longer needed for EFA", container.display_name());
            findings.push(settings.field(name), message);
        }
    }
}

/// FP026: variables for debugging, which slow down production jobs.
pub(super) fn debugging(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        let settings = &container.settings;
        // For NCCL, only the value 1 sets these.
        let is_one = |name: &'static str| (name, settings.number(name) == Some(1));
        let is_set = |name: &'static str| (name, settings.value(name).is_some());
        let is_trace = settings.value("NCCL_DEBUG").is_some_and(|level| level.eq_ignore_ascii_case("TRACE"));
        // EFA once needed this protocol, which FP025 reports.
        let is_for_efa = settings.value("NCCL_PROTO").is_some_and(|value| value.eq_ignore_ascii_case("simple"))
            && (context.target_adapters(container).any(|adapter| context.is_efa(adapter))
                || settings.get("FI_PROVIDER").is_some());
        let set = [
            is_one("NCCL_P2P_DISABLE"),
            is_one("NCCL_SHM_DISABLE"),
            ("NCCL_DEBUG", is_trace),
            is_set("NCCL_ALGO"),
            ("NCCL_PROTO", settings.value("NCCL_PROTO").is_some() && !is_for_efa),
        ];
        for (name, _) in set.into_iter().filter(|(_, set)| *set) {
            let value = settings.value(name).unwrap_or_default();
            let message = format!("{}: {name}={value} is for debugging only", container.display_name());
            // `mpirun -x` sets the variable for one run, such as a benchmark; NCCL warns only about permanent settings.
            let is_passed = settings.get(name).is_some_and(|setting| matches!(setting.origin, Origin::Mpirun(_)));
            let severity = if is_passed { Severity::Info } else { Severity::Warning };
            findings.push_as(severity, settings.field(name), message);
        }
    }
}
