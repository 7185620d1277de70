//! Settings of which the members of a process group have different values.

use jiff::SignedDuration;

use super::address::{Resolution, resolve};
use super::group::{Endpoint, Group, GroupMember};
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
/// Fix for a Job, whose pods have one template and no operator.
const JOB_FIX: &str = "\
    set the same value for all pods: they have one template, so that the value depends on a variable such as JOB_COMPLETION_INDEX, or the \
    pods are of different versions of it";
/// Age of a pod from which its peers have been created too.
const CREATION: SignedDuration = SignedDuration::from_mins(1);

impl Endpoint<'_> {
    /// Returns the name of the setting for people.
    pub(super) fn name(&self) -> String {
        setting_name(&self.member(), self.field)
    }

    /// Returns evidence from the setting.
    pub(super) fn evidence(&self) -> Evidence {
        setting_evidence(&self.member(), self.field, self.host)
    }
}

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
            names.push(common_name(&distinct, name));
            evidence.extend(distinct.iter().map(|(member, value)| setting_evidence(member, name, value)));
        }
    }
    if names.is_empty() {
        return None;
    }
    let message = format!("the members of the process group have different values of {}", names.join(", "));
    let code = DiagnosisCode::SettingsDiffer;
    let diagnosis = Diagnosis::new(code, job.workload_name(), Recovery::SettingsFixed, &message);
    let service = group.endpoint().and_then(|endpoint| match resolve(endpoint.host, endpoint.pod, context) {
        Resolution::Pods(pods) => Some(pods.service),
        _ => None,
    });
    let ports = service
        .filter(|_| names.iter().any(|name| name.ends_with("PORT")))
        .map(|service| Evidence::new(service.title(), "spec.ports", &service.ports_text(), None));
    let diagnosis =
        diagnosis.with_evidence(evidence.into_iter().chain(ports)).with_waste(job.waste_of_all(context.now));
    Some(diagnosis.with_fix(job.is_plain().then_some(JOB_FIX)))
}

/// Returns true if a host, or a host with a port, is the pod itself.
fn leads_to_itself(member: &GroupMember<'_>, value: &str, context: &Context<'_>) -> bool {
    let host = value.rsplit_once(':').map_or(value, |(host, _)| host);
    let pod = member.pod;
    let is_own = [&pod.hostname, &pod.ip].iter().any(|own| own.as_deref() == Some(host)) || *pod.name == *host;
    is_own || matches!(resolve(host, pod, context), Resolution::Loopback)
}

/// Returns the name of a setting for people: the flag of torchrun, if members set it by flags.
fn common_name(members: &[(GroupMember<'_>, &str)], name: &str) -> String {
    let names: Vec<String> = members.iter().map(|(member, _)| setting_name(member, name)).collect();
    match names.split_first() {
        Some((first, others)) if others.iter().all(|other| other == first) => first.clone(),
        _ => name.to_owned(),
    }
}

/// Returns the name of a setting of a member for people: the flag of torchrun, if its command sets it.
pub(super) fn setting_name(member: &GroupMember<'_>, name: &str) -> String {
    // A variable of torchrun is its flag in upper case.
    let flag = name.strip_prefix("PET_").filter(|_| member.container.rendezvous.has_flag(&[name]));
    flag.map_or_else(|| name.to_owned(), |flag| format!("--{}", flag.to_ascii_lowercase().replace('_', "-")))
}

/// Returns evidence from a setting of a member.
pub(super) fn setting_evidence(member: &GroupMember<'_>, name: &str, value: &str) -> Evidence {
    let GroupMember { pod, container } = member;
    let place = if container.rendezvous.has_flag(&[name]) { "in the command of container" } else { "of container" };
    let field = format!("{} {place} {}", setting_name(member, name), container.name);
    Evidence::new(pod.title(), field, value, pod.created)
}
