//! Stores of torchrun's dynamic rendezvous: a member of the group (c10d), or etcd.

use jiff::{SignedDuration, Timestamp};

use super::address::{Resolution, ServicePods, resolve};
use super::group::{Endpoint, Group, GroupMember, SCHEME_SEPARATOR};
use super::reachability::has_met;
use super::settings::setting_evidence;
use crate::diagnosis::context::{Context, termination_evidence};
use crate::diagnosis::job::{Job, is_older, pod_names};
use crate::diagnosis::replacement::Replacement;
use crate::diagnosis::snapshot::ObjectKind;
use crate::diagnosis::snapshot::condition::ConditionRecord;
use crate::diagnosis::snapshot::container::{ContainerRecord, StateRecord, TerminationRecord};
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::snapshot::service::ServiceRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::pod::ContainerKind;

/// Time within which an agent forms a group after its start; a store that is lost before that is awaited.
const FORMATION: SignedDuration = SignedDuration::from_secs(30);
/// Default time for which an agent waits for its group to form.
const JOIN_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
/// Time within which the monitor of an agent fails without its store: its read time-out is 60 seconds.
const MONITOR: SignedDuration = SignedDuration::from_mins(2);

/// Fix for a store that a member serves, so that nothing has to be restored.
const HOST_FIX: &str = "\
    find out why the member with the store terminated: kubectl logs --previous; then restart the agents that do not restart by \
    themselves";

/// Fix for an endpoint with a scheme.
const URL_FIX: &str = "remove the scheme and the path from the endpoint in the evidence, so that it is HOST:PORT";
/// Fix for a port that the Service of etcd does not forward.
const PORT_FIX: &str = "\
    correct the port in the endpoint in the evidence (etcd serves its clients on 2379 by default), or add it to the Service";
/// Fix for an endpoint without a Service.
const SERVICE_FIX: &str = "\
    create the Service in the message, with etcd behind it, or correct the endpoint in the evidence; then restart the agents that do not \
    restart by themselves";
/// Fix for an etcd that terminates.
const ETCD_FIX: &str = "\
    find out why etcd terminates: kubectl logs --previous -c CONTAINER; then restart the agents that do not restart by themselves";

/// Reports a member with the c10d store that restarted, while the agents of its peers run on.
pub(super) fn check_host(job: &Job<'_>, group: &Group<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let Some(host) = group.master else { return };
    let container = host.container;
    let ended = container.last.as_ref().and_then(|ended| Some((ended, ended.finished?)));
    let Some((ended, lost)) = ended else { return };
    let has_formed = ended.started.is_some_and(|started| lost.duration_since(started) >= FORMATION);
    let started_before = |member: &&GroupMember<'_>| container_started(member).is_some_and(|started| started < lost);
    let behind: Vec<&PodRecord> = group.members.iter().filter(started_before).map(|member| member.pod).collect();
    if !has_formed || container.restarts == 0 || behind.is_empty() || !container.is_running() {
        return;
    }
    let recovery = recovery(job, &behind, lost, context);
    let message = format!("{} restarted with the store, and {} did not", host.pod.short_name(), pod_names(&behind));
    let field = container.status_field("lastState.terminated");
    let evidence = [Evidence::new(host.pod.title(), field, &ended.summary(), Some(lost))];
    let diagnosis = Diagnosis::new(DiagnosisCode::StoreLost, job.workload_name(), recovery, &message);
    // Without its store, not even the minimum of nodes forms a group.
    let waste = Job::held_by(&job.active().collect::<Vec<_>>(), Some(lost), context.now);
    found.push(diagnosis.with_evidence(evidence).with_since(Some(lost)).with_waste(waste).with_fix(HOST_FIX));
}

/// Reports an endpoint that is a URL, with which no agent of torchrun starts.
pub(super) fn check_url(job: &Job<'_>, group: &Group<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let endpoint = group.endpoint().filter(|endpoint| endpoint.host.contains(SCHEME_SEPARATOR));
    let Some(endpoint) = endpoint.filter(|_| !has_met(job, group, context)) else { return };
    let message = format!("{} is a URL, and torchrun needs HOST:PORT", endpoint.name());
    let waste = job.waste_of_all(context.now);
    let diagnosis = Diagnosis::new(DiagnosisCode::StoreLost, job.workload_name(), Recovery::SettingsFixed, &message);
    found.push(diagnosis.with_evidence([endpoint.evidence()]).with_waste(waste).with_fix(URL_FIX));
}

/// Reports an etcd that has no running pod, or does not serve the API of torchrun.
pub(super) fn check_etcd(job: &Job<'_>, group: &Group<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let Some(endpoint) = group.endpoint() else { return };
    let pods = match resolve(endpoint.host, endpoint.pod, context) {
        Resolution::Pods(pods) => pods,
        Resolution::Missing(service) => {
            let message = format!("{service}, which {} names, does not exist", endpoint.name());
            let evidence = [endpoint.evidence()];
            let report = Report { job, group, context };
            let diagnosis = report.etcd(DiagnosisCode::StoreLost, None, &message).with_evidence(evidence);
            found.push(diagnosis.with_fix(SERVICE_FIX));
            return;
        }
        Resolution::Loopback | Resolution::Address(_) | Resolution::Unknown => return,
    };
    let service = pods.service;
    if let Some(closed) = closed_port(job, &endpoint, service, context) {
        // Agents that have met reach etcd, whatever the Service shows.
        found.extend((!has_met(job, group, context)).then_some(closed));
        return;
    }
    let selected: Vec<&PodRecord> =
        context.pods_of_namespace(&service.namespace).iter().copied().filter(|pod| pods.contains(pod)).collect();
    if let Some((pod, container)) = selected.iter().find_map(|pod| Some((pod, without_v2(pod)?))) {
        let message = format!("{} does not serve version 2 of etcd's API", service.title());
        let image =
            Evidence::new(pod.title(), format!("image of container {}", container.name), &container.image, None);
        let code = DiagnosisCode::EtcdWithoutV2;
        let waste = job.waste_of_all(context.now);
        let diagnosis = Diagnosis::new(code, job.workload_name(), Recovery::EtcdReplaced, &message);
        found.push(diagnosis.with_evidence([image, endpoint.evidence()]).with_waste(waste));
    } else if context.snapshot.is_complete(ObjectKind::Pod, &service.namespace)
        && !selected.iter().any(|pod| is_up(pod))
    {
        let report = Report { job, group, context };
        found.push(report.etcd_down(&endpoint, &pods, &selected));
    }
}

/// Reports a port of the endpoint that a Service with a cluster IP does not forward.
fn closed_port(
    job: &Job<'_>,
    endpoint: &Endpoint<'_>,
    service: &ServiceRecord,
    context: &Context<'_>,
) -> Option<Diagnosis> {
    let port = endpoint.port.filter(|_| !service.is_headless && !service.ports.is_empty())?;
    if service.ports.iter().any(|entry| entry.port == port) {
        return None;
    }
    let message = format!("{} does not forward port {port}, which {} names", service.title(), endpoint.name());
    let ports = Evidence::new(service.title(), "spec.ports", &service.ports_text(), None);
    let address = format!("{}:{port}", endpoint.host);
    let setting = setting_evidence(&endpoint.member(), endpoint.field, &address);
    let code = DiagnosisCode::ServicePortClosed;
    Some(
        Diagnosis::new(code, job.workload_name(), Recovery::ServiceFixed, &message)
            .with_evidence([ports, setting])
            .with_waste(job.waste_of_all(context.now))
            .with_fix(PORT_FIX),
    )
}

/// Job whose store is checked.
struct Report<'a, 'b> {
    job: &'b Job<'a>,
    group: &'b Group<'a>,
    context: &'b Context<'b>,
}

impl Report<'_, '_> {
    fn etcd_down(&self, endpoint: &Endpoint<'_>, pods: &ServicePods<'_>, selected: &[&PodRecord]) -> Diagnosis {
        let service = pods.service;
        let lost = selected.iter().filter_map(|pod| down_since(pod)).max();
        let message = format!("no pod of {}, the store of the rendezvous, is ready", service.title());
        let selector = Evidence::new(service.title(), "spec.selector", &service.selector_text(), None);
        let states = selected.iter().flat_map(|pod| state(pod));
        let evidence: Vec<Evidence> = states.chain([selector, endpoint.evidence()]).collect();
        let is_own = |pod: &&PodRecord| *pod.namespace == *self.job.namespace;
        let has_log = selected.first().is_some_and(|pod| is_own(pod) && last_end(pod).is_some());
        let diagnosis = self.etcd(DiagnosisCode::StoreLost, lost, &message).with_evidence(evidence);
        diagnosis.with_fix(has_log.then_some(ETCD_FIX))
    }

    /// Creates the finding about an etcd that is down since `lost`; `None` if it has never existed.
    fn etcd(&self, code: DiagnosisCode, lost: Option<Timestamp>, message: &str) -> Diagnosis {
        let Self { job, group, context } = self;
        let members: Vec<&PodRecord> = group.members.iter().map(|member| member.pod).collect();
        let started = || group.members.iter().filter_map(container_started);
        let has_formed = |lost: Timestamp| {
            let formed = started().filter(|started| *started < lost).max();
            formed.is_some_and(|started| lost.duration_since(started) >= FORMATION)
        };
        // Agents that exit without their store restart until they find it again. One that exits for another reason decides
        // nothing about those that run on.
        let exits = |lost: Timestamp| {
            let has_exited = group.members.iter().any(|member| has_exited(member, lost));
            has_exited && !started().any(|started| started < lost)
        };
        let started = started().max();
        let recovery = match lost.filter(|lost| has_formed(*lost) || exits(*lost)) {
            Some(lost) if exits(lost) => obstacle(job, &members).unwrap_or(Recovery::AgentsRestart),
            Some(lost) => recovery(job, &members, lost, context),
            None if is_older(started, JOIN_TIMEOUT, context.now) => Recovery::StoreOverdue,
            None => Recovery::StoreAwaited,
        };
        let since = lost.max(started);
        Diagnosis::new(code, job.workload_name(), recovery, message).with_since(lost).with_waste(job.waste(
            &members,
            since,
            context.now,
        ))
    }
}

/// Decides whether agents that lose their store restart, and form a group again.
fn recovery(job: &Job<'_>, agents: &[&PodRecord], lost: Timestamp, context: &Context<'_>) -> Recovery {
    let is_overdue = is_older(Some(lost), MONITOR, context.now);
    let obstacle = obstacle(job, agents);
    obstacle.unwrap_or(if is_overdue { Recovery::AgentsStalled } else { Recovery::AgentsRestart })
}

/// Returns why agents that exit do not form a group again; `None` if they are restarted.
fn obstacle(job: &Job<'_>, agents: &[&PodRecord]) -> Option<Recovery> {
    match job.replacement(agents) {
        Replacement::Never => Some(Recovery::AgentsStay),
        Replacement::Unknown => Some(Recovery::PeersUnknown),
        Replacement::LimitReached => Some(Recovery::BackoffUsedUp),
        Replacement::Restarts => None,
    }
}

/// Returns true if the agent of a member exited with a failure after its store was lost.
fn has_exited(member: &GroupMember<'_>, lost: Timestamp) -> bool {
    let failure = member.container.last_termination().filter(|termination| termination.exit_code != 0);
    failure.is_some_and(|failure| failure.finished >= Some(lost))
}

fn container_started(member: &GroupMember<'_>) -> Option<Timestamp> {
    member.container.running_since()
}

/// Returns the most recent termination of a container that should run.
fn last_end(pod: &PodRecord) -> Option<(&ContainerRecord, &TerminationRecord)> {
    let containers = pod.containers.iter().filter(|container| container.kind != ContainerKind::Init);
    let ends = containers.filter_map(|container| Some((container, container.last_termination()?)));
    ends.max_by_key(|(_, ended)| ended.finished)
}

/// Returns the evidence that a pod of etcd is down.
fn state(pod: &PodRecord) -> Vec<Evidence> {
    let Some((container, ended)) = last_end(pod) else {
        return vec![Evidence::new(pod.title(), "status.containerStatuses", "not ready", down_since(pod))];
    };
    let waits = match &container.state {
        StateRecord::Waiting { reason, .. } => {
            Some(Evidence::new(pod.title(), container.status_field("state.waiting"), reason, None))
        }
        _ => None,
    };
    let end = termination_evidence(pod, container, ended);
    waits.into_iter().chain([end]).collect()
}

fn is_up(pod: &PodRecord) -> bool {
    pod.is_running() && pod.condition("Ready").is_none_or(ConditionRecord::is_true)
}

/// Returns the time since which a pod is not ready.
fn down_since(pod: &PodRecord) -> Option<Timestamp> {
    let unready = pod.condition("Ready").filter(|ready| !ready.is_true()).and_then(|ready| ready.since);
    let terminated = pod.containers.iter().filter_map(|container| container.last_termination()?.finished).max();
    unready.or(terminated)
}

/// Returns an etcd container without version 2 of the API, in a pod that runs.
fn without_v2(pod: &PodRecord) -> Option<&ContainerRecord> {
    pod.containers.iter().find(|container| container.serves_etcd_v2 == Some(false)).filter(|_| !pod.is_finished())
}
