//! Members of a static group that restarted alone: their peers wait in a collective operation until its time-out.

use std::collections::{HashMap, HashSet};
use std::ptr;

use jiff::{SignedDuration, Timestamp};

use super::group::{Group, GroupMember};
use crate::diagnosis::context::{Context, event_evidence};
use crate::diagnosis::job::{Job, is_older, pod_names};
use crate::diagnosis::replacement::Replacement;
use crate::diagnosis::snapshot::container::ContainerRecord;
use crate::diagnosis::snapshot::event::{EventRecord, UNHEALTHY};
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::snapshot::workload::WorkloadRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::finding::Severity;

/// Default time after which NCCL's watchdog aborts a collective operation. That of Gloo is 30 minutes.
const COLLECTIVE_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
/// Shortest run of a container in which a group forms: imports and the first connection. A member that restarts
/// before that still finds its peers in their connection retries.
const MIN_RUN: SignedDuration = SignedDuration::from_secs(30);
/// Time within which peers notice a closed connection, if they notice it at all.
const GRACE: SignedDuration = SignedDuration::from_mins(1);
/// Default time-outs of the first connection with NCCL, and with Gloo: members that have run for longer had a group.
const CONNECTION: (SignedDuration, SignedDuration) = (SignedDuration::from_mins(10), SignedDuration::from_mins(30));
/// Number of restarts from which another one is likely.
const REPEATED: u64 = 3;

/// Starts of the messages about probes because of which the kubelet restarts a container.
const KILLING: [&str; 2] = ["Liveness probe", "Startup probe"];
/// Exit codes of processes that the kubelet terminates: by SIGKILL and by SIGTERM.
const KILLED: [i64; 2] = [137, 143];
/// Time from the last failure of a probe to the end of the container: four times the default grace period.
const TERMINATION: SignedDuration = SignedDuration::from_mins(2);
const PROBE_FIX: &str = "\
    the kubelet restarts a container whose probe fails, as in the evidence: correct the probe, or raise its timeoutSeconds and \
    failureThreshold; then restart all members: delete their pods, or recreate the job";

/// A member that restarted or was recreated.
struct Restarted<'a> {
    member: GroupMember<'a>,
    at: Timestamp,
    evidence: Evidence,
    /// False if the time-outs of the group may be longer than the defaults, so that the member may be the first one of its rank.
    is_certain: bool,
}

/// Former members of a group, and its start.
struct History<'a> {
    /// Pods by role and index that have run for long enough to join the group, and are finished or being deleted; the oldest first.
    formers: HashMap<(Option<&'a str>, u64), Vec<&'a PodRecord>>,
    /// Time since which a member runs.
    first: Option<Timestamp>,
}

/// Reports members that run again, while their peers have not restarted.
pub(super) fn check(job: &Job<'_>, group: &Group<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let history = History::new(job, group);
    let restarted: Vec<Restarted<'_>> =
        group.members.iter().filter_map(|member| restart(member, job, &history, context)).collect();
    let Some(first) = restarted.iter().map(|restarted| restarted.at).min() else { return };
    let behind = peers_behind(group, &restarted, first);
    if behind.is_empty() {
        return;
    }
    let pods: Vec<&PodRecord> = restarted.iter().map(|restarted| restarted.member.pod).collect();
    let is_master = pods.iter().any(|pod| group.is_master(pod));
    let code = if is_master { DiagnosisCode::MasterRestarted } else { DiagnosisCode::WorkerRestarted };
    let restarts = restarted.iter().map(|restarted| restarted.member.container.restarts).max().unwrap_or_default();
    let recovery = recovery(job, &behind, first, restarts, context);
    let message = format!("{} restarted, and {} did not", pod_names(&pods), pod_names(&behind));
    let starts = behind.iter().filter_map(|pod| {
        let container = pod.main().next()?;
        Some(Evidence::new(
            pod.title(),
            container.status_field("state.running.startedAt"),
            "not restarted",
            container.running_since(),
        ))
    });
    let mut diagnosis = Diagnosis::new(code, job.workload_name(), recovery, &message);
    if !restarted.iter().any(|restarted| restarted.is_certain) {
        diagnosis.finding.severity = Severity::Warning;
    }
    let unwatched = behind.iter().filter_map(|pod| {
        let variable = pod.transport.unwatched.filter(|_| recovery == Recovery::PeersNotAborted)?;
        Some(Evidence::new(pod.title(), "spec.containers[].env", &format!("{variable}=0"), None))
    });
    let probes = restarted.iter().filter_map(|restarted| failed_probe(restarted.member, context));
    let probe = probes.max_by_key(|(is_cause, _)| *is_cause);
    let is_probed = probe.is_some_and(|(is_cause, _)| is_cause);
    let probe = probe.map(|(_, event)| event_evidence(event));
    let evidence = restarted.into_iter().map(|restarted| restarted.evidence);
    let evidence = evidence.chain(unwatched.take(1)).chain(probe).chain(starts);
    let diagnosis = diagnosis.with_evidence(evidence).with_waste(job.waste(&pods, Some(first), context.now));
    found.push(diagnosis.with_fix(is_probed.then_some(PROBE_FIX)));
}

impl<'a> History<'a> {
    fn new(job: &Job<'a>, group: &Group<'a>) -> Self {
        let has_joined = |former: &PodRecord| {
            let mut runs = former.main().filter_map(ContainerRecord::last_termination);
            runs.any(|run| {
                run.started.zip(run.finished).is_some_and(|(start, end)| end.duration_since(start) >= MIN_RUN)
            })
        };
        // The index of a pod may be that in another Job of its role.
        let is_gone = |former: &PodRecord| former.is_finished() || former.deleted.is_some();
        let mut formers: HashMap<(Option<&'a str>, u64), Vec<&'a PodRecord>> = HashMap::new();
        for pod in job.pods.iter().copied().filter(|pod| is_gone(pod) && has_joined(pod)) {
            if let Some(position) = pod.position() {
                formers.entry(position).or_default().push(pod);
            }
        }
        for formers in formers.values_mut() {
            formers.sort_by_key(|former| former.created);
        }
        let first = group.members.iter().filter_map(|peer| peer.container.running_since()).min();
        Self { formers, first }
    }

    /// Returns the last earlier pod of the same rank.
    fn predecessor(&self, pod: &PodRecord) -> Option<&'a PodRecord> {
        let formers = self.formers.get(&pod.position()?)?;
        formers[..formers.partition_point(|former| former.created < pod.created)].last().copied()
    }
}

/// Returns the peers that have run since before `lost`.
fn peers_behind<'a>(group: &Group<'a>, restarted: &[Restarted<'a>], lost: Timestamp) -> Vec<&'a PodRecord> {
    let restarted: HashSet<*const PodRecord> =
        restarted.iter().map(|restarted| ptr::from_ref(restarted.member.pod)).collect();
    let is_behind = |member: &&GroupMember<'a>| {
        let is_restarted = restarted.contains(&ptr::from_ref(member.pod));
        member.container.running_since().is_some_and(|started| started < lost) && !is_restarted
    };
    group.members.iter().filter(is_behind).map(|member| member.pod).collect()
}

/// Returns the restart of a member that runs again for longer than [`GRACE`].
fn restart<'a>(
    member: &GroupMember<'a>,
    job: &Job<'_>,
    history: &History<'_>,
    context: &Context<'_>,
) -> Option<Restarted<'a>> {
    let GroupMember { pod, container } = *member;
    let started = container.running_since().filter(|started| is_older(Some(*started), GRACE, context.now))?;
    if let Some(last) = container.last.as_ref().filter(|_| container.restarts > 0) {
        let at = last.finished.filter(|at| *at <= started)?;
        let has_joined = last.started.is_some_and(|started| at.duration_since(started) >= MIN_RUN);
        let field = container.status_field("lastState.terminated");
        let value = format!("{}, {}", last.summary(), container.restarts_text());
        let evidence = Evidence::new(pod.title(), field, &value, Some(at));
        return has_joined.then_some(Restarted { member: *member, at, evidence, is_certain: true });
    }
    // A pod that its owner recreated has no restarts.
    let at = pod.created?;
    let recreated = |value: &str, is_certain: bool| {
        let evidence = Evidence::new(pod.title(), "metadata.creationTimestamp", value, Some(at));
        Restarted { member: *member, at, evidence, is_certain }
    };
    if let Some(former) = history.predecessor(pod) {
        return Some(recreated(&format!("replaces {}", former.name), true));
    }
    // Its peers have run since before it existed.
    let ahead = at.duration_since(history.first.filter(|first| *first < at)?);
    let timeout = if pod.accelerators() > 0 { CONNECTION.0 } else { CONNECTION.1 };
    if was_recreated(pod, job, context) {
        Some(recreated("recreated after its peers started", true))
    } else {
        (ahead >= timeout).then(|| recreated("created long after its peers started", false))
    }
}

/// Returns the newest event about a failed probe of a container that restarted, or the one because of which the kubelet terminated it,
/// for which the result has true.
fn failed_probe<'a>(member: GroupMember<'a>, context: &'a Context<'_>) -> Option<(bool, &'a EventRecord)> {
    let GroupMember { pod, container } = member;
    let ended = container.last.as_ref().filter(|_| container.restarts > 0)?;
    let is_killed = KILLED.contains(&ended.exit_code) && !ended.is_out_of_memory();
    let is_own = |event: &&EventRecord| {
        let is_of_container = event.container.as_deref() == Some(&*container.name);
        *event.reason == *UNHEALTHY && is_of_container && event.last.is_some() && event.last >= pod.created
    };
    let is_cause = |event: &EventRecord| {
        let time = ended.finished.zip(event.last).map(|(end, failed)| end.duration_since(failed));
        let is_before = time.is_some_and(|time| !time.is_negative() && time <= TERMINATION);
        is_killed && is_before && KILLING.iter().any(|start| event.message.starts_with(start))
    };
    let probes = context.pod_events(pod).iter().copied().filter(is_own).map(|event| (is_cause(event), event));
    probes.max_by_key(|(is_cause, event)| (*is_cause, event.last))
}

/// Returns true if a pod of the same name existed before, as its events or the conditions of the job show.
fn was_recreated(pod: &PodRecord, job: &Job<'_>, context: &Context<'_>) -> bool {
    let mut events = context.pod_events(pod).iter();
    let has_earlier = events.any(|event| event.last.is_some() && event.last < pod.created);
    let has_restarted =
        |workload: &WorkloadRecord| workload.conditions.iter().any(|found| &*found.kind == "Restarting");
    has_earlier || job.workload.is_some_and(has_restarted)
}

/// Decides whether the peers restart too, and rejoin.
fn recovery(job: &Job<'_>, behind: &[&PodRecord], lost: Timestamp, restarts: u64, context: &Context<'_>) -> Recovery {
    let unwatched = || behind.iter().any(|pod| pod.transport.unwatched.is_some());
    let uses_gloo = || behind.iter().any(|pod| pod.accelerators() == 0 && !pod.usage.claims_devices);
    match job.replacement(behind) {
        Replacement::Never => Recovery::PeersStay,
        Replacement::Unknown => Recovery::PeersUnknown,
        Replacement::LimitReached => Recovery::BackoffUsedUp,
        Replacement::Restarts if uses_gloo() => Recovery::PeersWithoutWatchdog,
        Replacement::Restarts if unwatched() => Recovery::PeersNotAborted,
        Replacement::Restarts if restarts >= REPEATED => Recovery::MemberRestartsAgain,
        Replacement::Restarts if is_older(Some(lost), COLLECTIVE_TIMEOUT * 2, context.now) => Recovery::PeersStalled,
        Replacement::Restarts => Recovery::PeersRejoin,
    }
}
