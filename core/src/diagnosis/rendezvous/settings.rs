//! Settings of which the members of a process group have different values.

use jiff::SignedDuration;

use super::address::{Resolution, resolve};
use super::group::{Group, GroupMember};
use crate::diagnosis::context::Context;
use crate::diagnosis::job::{Job, is_older};
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};

/// Settings that are the same in all members, and whether torchrun's flags for the address replace them.
const SHARED: [(&str, bool); 9] = [
    ("MASTER_ADDR", true),
    ("MASTER_PORT", true),
    ("WORLD_SIZE", false),
    ("PET_MASTER_ADDR", false),
    ("PET_MASTER_PORT", false),
    ("PET_NNODES", false),
    ("PET_RDZV_BACKEND", false),
    ("PET_RDZV_ENDPOINT", false),
    ("PET_RDZV_ID", false),
];
/// Age of a pod from which its peers have been created too.
const CREATION: SignedDuration = SignedDuration::from_mins(1);

/// Returns the settings with different values.
pub(super) fn differing(job: &Job<'_>, group: &Group<'_>, context: &Context<'_>) -> Option<Diagnosis> {
    let is_old = |member: &&GroupMember<'_>| is_older(member.pod.created, CREATION, context.now);
    let members: Vec<&GroupMember<'_>> = group.members.iter().filter(is_old).collect();
    let mut evidence = Vec::new();
    let mut names = Vec::new();
    for (name, is_replaced) in SHARED {
        let values = members
            .iter()
            .filter(|member| !(is_replaced && member.has_address_flags()))
            .filter_map(|member| Some((**member, member.setting(name)?)))
            // Rank 0 may use the name of its own pod.
            .filter(|(member, value)| !(group.is_master(member.pod) && leads_to_itself(member, value, context)));
        let mut distinct: Vec<(GroupMember<'_>, &str)> = Vec::new();
        for (member, value) in values {
            if distinct.iter().all(|(_, known)| *known != value) {
                distinct.push((member, value));
            }
        }
        if distinct.len() > 1 {
            names.push(name);
            evidence.extend(distinct.iter().map(|(member, value)| setting_evidence(member, name, value)));
        }
    }
    if names.is_empty() {
        return None;
    }
    let message = format!("the members of the process group have different values of {}", names.join(", "));
    let pods: Vec<_> = job.active().collect();
    let code = DiagnosisCode::SettingsDiffer;
    let diagnosis = Diagnosis::new(code, job.workload_name(), Recovery::SettingsFixed, &message);
    let service = group.endpoint().and_then(|endpoint| match resolve(endpoint.host, endpoint.pod, context) {
        Resolution::Pods(pods) => Some(pods.service),
        _ => None,
    });
    let ports = service.filter(|_| names.iter().any(|name| name.ends_with("PORT"))).map(|service| {
        let ports = service.ports.iter().map(|port| port.port.to_string()).collect::<Vec<_>>().join(", ");
        Evidence::new(service.title(), "spec.ports", &ports, None)
    });
    let waste = job.waste(&pods, None, context.now);
    Some(diagnosis.with_evidence(evidence.into_iter().chain(ports)).with_waste(waste))
}

/// Returns true if a host, or a host with a port, is the pod itself.
fn leads_to_itself(member: &GroupMember<'_>, value: &str, context: &Context<'_>) -> bool {
    let host = value.rsplit_once(':').map_or(value, |(host, _)| host);
    let pod = member.pod;
    let is_own = [&pod.hostname, &pod.ip].iter().any(|own| own.as_deref() == Some(host)) || *pod.name == *host;
    is_own || matches!(resolve(host, pod, context), Resolution::Loopback)
}

/// Returns evidence from a setting of a member.
pub(super) fn setting_evidence(member: &GroupMember<'_>, name: &str, value: &str) -> Evidence {
    let GroupMember { pod, container } = member;
    let field = if container.rendezvous.has_flag(&[name]) {
        // A variable of torchrun is its flag in upper case.
        let flag = name.strip_prefix("PET_").map(|flag| format!("--{}", flag.to_ascii_lowercase().replace('_', "-")));
        format!("{} in the command of container {}", flag.as_deref().unwrap_or(name), container.name)
    } else {
        format!("{name} of container {}", container.name)
    };
    Evidence::new(pod.title(), field, value, pod.created)
}
