//! Jobs that meet in one rendezvous.

use std::collections::BTreeMap;

use super::address::{Resolution, resolve};
use super::group::{Backend, Group, GroupMember};
use super::settings::setting_evidence;
use crate::diagnosis::context::Context;
use crate::diagnosis::job::Job;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, MAX_EVIDENCE, Recovery};
use crate::names::join_names;

/// Identifier of torchrun if none is set.
const DEFAULT_ID: &str = "none";

/// Store and identifier of a rendezvous.
type RendezvousKey<'a> = (String, Option<u64>, &'a str);

/// Reports unfinished jobs with the same store and identifier.
pub(super) fn check(context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let mut by_key: BTreeMap<RendezvousKey<'_>, Vec<(&Job<'_>, Evidence)>> = BTreeMap::new();
    for job in context.jobs.iter() {
        let Some((key, evidence)) = rendezvous(job, context) else { continue };
        by_key.entry(key).or_default().push((job, evidence));
    }
    for ((store, _, id), jobs) in by_key {
        let Some((first, _)) = jobs.first().filter(|_| jobs.len() > 1) else { continue };
        let names = join_names(jobs.iter().map(|(job, _)| job.workload_name()));
        let message = format!("{names} use the rendezvous with the identifier {id} in {store}");
        let code = DiagnosisCode::RendezvousShared;
        let diagnosis = Diagnosis::new(code, first.workload_name(), Recovery::RendezvousMixed, &message);
        found.push(diagnosis.with_evidence(jobs.into_iter().map(|(_, evidence)| evidence).take(MAX_EVIDENCE)));
    }
}

fn rendezvous<'a>(job: &Job<'a>, context: &Context<'_>) -> Option<(RendezvousKey<'a>, Evidence)> {
    let group = Group::new(job).filter(|group| group.backend != Backend::Static)?;
    let endpoint = group.endpoint()?;
    let member: &GroupMember<'a> = group.members.first()?;
    let id = member.setting("PET_RDZV_ID").unwrap_or(DEFAULT_ID);
    let store = match resolve(endpoint.host, endpoint.pod, context) {
        Resolution::Loopback => return None,
        Resolution::Pods(pods) => pods.service.title(),
        // A short name is that of a Service of the namespace.
        _ if endpoint.host.contains('.') => endpoint.host.to_owned(),
        _ => format!("{}/{}", job.namespace, endpoint.host),
    };
    let value = if member.setting("PET_RDZV_ID").is_some() { id } else { "not set, so it is none" };
    let evidence = setting_evidence(member, "PET_RDZV_ID", value);
    let evidence = Evidence { object: job.workload_name().to_string(), ..evidence };
    Some(((store, endpoint.port, id), evidence))
}
