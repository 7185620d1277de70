//! Workers that run before their master has started.

use jiff::SignedDuration;

use super::group::Group;
use crate::diagnosis::context::Context;
use crate::diagnosis::job::{Job, is_older, pod_names, verb};
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};

/// Time by which the start of a master may normally differ.
const GRACE: SignedDuration = SignedDuration::from_mins(2);
/// Default time-out of a connection to the master with NCCL.
const CONNECTION: SignedDuration = SignedDuration::from_mins(10);

/// Reports workers that wait for a master which is starting.
pub(super) fn check(job: &Job<'_>, group: &Group<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let Some(master) = group.master else { return };
    let Some(reason) = master.container.starting_reason() else { return };
    let waiting = group.members.iter().filter(|member| is_older(member.container.running_since(), GRACE, context.now));
    let waiting: Vec<_> = waiting.collect();
    let Some(since) = waiting.iter().filter_map(|member| member.container.running_since()).min() else { return };
    let is_overdue = is_older(Some(since), CONNECTION, context.now);
    let recovery = if is_overdue { Recovery::WorkersOverdue } else { Recovery::WorkersRetry };
    let pods: Vec<&PodRecord> = waiting.iter().map(|member| member.pod).collect();
    let run = verb(pods.len(), "runs", "run");
    let message = format!("{} {run}, and {} has not started", pod_names(&pods), master.pod.short_name());
    let field = master.container.status_field("state.waiting");
    let evidence = Evidence::new(master.pod.title(), field, reason, master.pod.created);
    let code = DiagnosisCode::MasterAwaited;
    found.push(
        Diagnosis::new(code, job.workload_name(), recovery, &message).with_evidence([evidence]).with_waste(job.waste(
            &[master.pod],
            Some(since),
            context.now,
        )),
    );
}
