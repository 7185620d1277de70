//! Gangs of Koordinator with fewer pods than the minimum that the pods contain.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use crate::diagnosis::context::Context;
use crate::diagnosis::job::{Job, is_older, pod_names, verb};
use crate::diagnosis::snapshot::ObjectKind;
use crate::diagnosis::snapshot::gang_key::DeclaredGang;
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};

/// Age of a pod until which the other pods of its gang may still be created.
const CREATION: SignedDuration = SignedDuration::from_mins(1);
/// Field of a pod with the minimum of its gang.
const MINIMUM: &str = "metadata.annotations[gang.scheduling.koordinator.sh/min-available]";

/// A pod and the gang that it declares.
type DeclaredMember<'a> = (&'a PodRecord, &'a DeclaredGang);

/// Reports gangs that Koordinator does not place, because too few pods declare them.
pub(super) fn check(context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    for job in context.jobs.iter() {
        let mut gangs: BTreeMap<&str, Vec<DeclaredMember<'_>>> = BTreeMap::new();
        for pod in job.pods.iter().copied() {
            if let Some(gang) = &pod.declared_gang {
                gangs.entry(&*gang.name).or_default().push((pod, gang));
            }
        }
        found.extend(gangs.values().filter_map(|members| incomplete(job, members, context)));
    }
}

fn incomplete(job: &Job<'_>, members: &[DeclaredMember<'_>], context: &Context<'_>) -> Option<Diagnosis> {
    // Koordinator takes the minimum of the first pod, and does not wait again once it was reached.
    let (_, DeclaredGang { minimum, .. }) = members.iter().min_by_key(|(pod, _)| pod.created)?;
    let waiting: Vec<&PodRecord> = members.iter().map(|(pod, _)| *pod).filter(|pod| !pod.is_finished()).collect();
    let is_settled = waiting.iter().all(|pod| is_older(pod.created, CREATION, context.now));
    let is_placed = members.iter().any(|(pod, _)| pod.is_scheduled());
    let is_short = !waiting.is_empty() && (waiting.len() as u64) < *minimum;
    if !is_short || !is_settled || is_placed || !context.snapshot.is_complete(ObjectKind::Pod, job.namespace) {
        return None;
    }
    let others: Vec<&PodRecord> = job.active().filter(|pod| pod.declared_gang.is_none()).collect();
    let without = match others.len() {
        0 => String::new(),
        count => format!("; {} {} not in the gang", pod_names(&others), verb(count, "is", "are")),
    };
    let (names, count) = (pod_names(&waiting), waiting.len());
    let wait = verb(count, "waits", "wait");
    let message = format!("{names} {wait} for a gang of {minimum} pods, which has {count}{without}");
    let evidence = waiting.iter().map(|pod| Evidence::new(pod.title(), MINIMUM, &minimum.to_string(), pod.created));
    let code = DiagnosisCode::GangIncomplete;
    let diagnosis = Diagnosis::new(code, job.workload_name(), Recovery::GangAwaited, &message);
    Some(diagnosis.with_evidence(evidence).with_waste(job.waste(&waiting, None, context.now)))
}
