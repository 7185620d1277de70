//! The path from the members of a group to the pod with the store: name, Service, port and readiness.

use jiff::SignedDuration;

use super::address::{Mismatch, Resolution, ServicePods, resolve};
use super::group::{Endpoint, Group, GroupMember};
use super::settings::setting_evidence;
use crate::diagnosis::context::{Context, termination_evidence};
use crate::diagnosis::job::{Job, is_older, pod_names, verb};
use crate::diagnosis::snapshot::condition::ConditionRecord;
use crate::diagnosis::snapshot::container::{ContainerRecord, StateRecord};
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::snapshot::service::{ServicePort, ServiceRecord};
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::finding::Severity;
use crate::pod::ContainerKind;

/// Time that an operator may need to create the Service, and a master to become ready.
const GRACE: SignedDuration = SignedDuration::from_mins(2);

/// Fix for a master with a container that does not run, whatever its probes are.
const STOPPED_FIX: &str = "\
    find out why the container in the evidence does not run: kubectl logs --previous -c CONTAINER; or set \
    publishNotReadyAddresses in the Service";

/// Fix for an address that contains another host name than that of the master.
const HOSTNAME_FIX: &str = "correct the host name in the address, or hostname in the pod template";
/// Fix for a loopback address, or that of another pod, which no operator sets.
const ADDRESS_FIX: &str = "\
    remove the setting in the evidence from the pod template, so that the operator's applies, or set it to the name of the Service of the \
    master";
/// The same for a Job, which has no operator.
const JOB_ADDRESS_FIX: &str = "\
    set the address in the pod template to the name of a headless Service that selects the pods of the Job, or of its pod with index 0";
/// Fix for pods without a record in the Service.
const SUBDOMAIN_FIX: &str = "set subdomain in the pod template to the name of the Service";
/// Fix for a Job, for which no operator creates a Service.
const JOB_FIX: &str = "\
    create a headless Service (clusterIP: None) with this name, whose selector matches the pods of the Job, and set it as subdomain in the \
    pod template; or correct the address";

/// Reports the first problem on the path.
pub(super) fn check(job: &Job<'_>, group: &Group<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let (Some(endpoint), Some(master)) = (group.endpoint(), group.master) else { return };
    let is_new = !is_older(endpoint.pod.created, GRACE, context.now);
    if is_new || group.is_master(endpoint.pod) || has_met(job, group, context) {
        return;
    }
    let path = Path { job, group, context, endpoint, master };
    found.extend(match resolve(endpoint.host, endpoint.pod, context) {
        Resolution::Missing(service) => Some(path.missing(&service)),
        Resolution::Address(address) => path.wrong_address(&address.to_string()),
        Resolution::Pods(pods) => path.check_service(&pods),
        Resolution::Loopback => Some(path.loopback()),
        Resolution::Unknown => None,
    });
}

/// Returns true if the members have met, whatever the objects show now: a rank has completed, or the log of each member but the master
/// contains a connection between pods, and no later error about the store: the group of a former run proves nothing.
pub(super) fn has_met(job: &Job<'_>, group: &Group<'_>, context: &Context<'_>) -> bool {
    // Without settings, the container may be a sidecar that is not known.
    let has_completed = |container: &ContainerRecord| container.has_completed() && !container.rendezvous.is_empty();
    let completed = job.not_replaced(|pod| pod.is_rank() && pod.main().any(has_completed));
    let is_connected = |pod: &PodRecord| context.logs(pod).any(|log| log.is_connected);
    let mut peers = group.members.iter().filter(|member| !group.is_master(member.pod)).peekable();
    !completed.is_empty() || peers.peek().is_some() && peers.all(|peer| is_connected(peer.pod))
}

struct Path<'a, 'b> {
    job: &'b Job<'a>,
    group: &'b Group<'a>,
    context: &'b Context<'b>,
    endpoint: Endpoint<'a>,
    master: GroupMember<'a>,
}

impl Path<'_, '_> {
    fn missing(&self, service: &str) -> Diagnosis {
        let message = format!("{service}, which {} names, does not exist", self.endpoint.name());
        let is_plain = self.job.is_plain();
        let recovery = if is_plain { Recovery::ServiceNotCreated } else { Recovery::ServiceMissing };
        let diagnosis = self.report(DiagnosisCode::MasterUnresolvable, recovery, &message, [self.endpoint.evidence()]);
        diagnosis.with_fix(is_plain.then_some(JOB_FIX))
    }

    fn loopback(&self) -> Diagnosis {
        let Endpoint { field, host, .. } = self.endpoint;
        let is_affected = |member: &&GroupMember<'_>| {
            let endpoint = member.endpoint(self.group.backend);
            !self.group.is_master(member.pod) && endpoint.is_some_and(|own| (own.field, own.host) == (field, host))
        };
        let affected: Vec<&GroupMember<'_>> = self.group.members.iter().filter(is_affected).collect();
        let names = pod_names(&affected.iter().map(|member| member.pod).collect::<Vec<_>>());
        let themselves = verb(affected.len(), "itself", "themselves");
        let message = format!("{} leads {names} to {themselves} instead of the master", self.endpoint.name());
        let evidence: Vec<Evidence> = affected.iter().map(|member| setting_evidence(member, field, host)).collect();
        let code = DiagnosisCode::MasterUnresolvable;
        self.report(code, Recovery::SettingsFixed, &message, evidence).with_fix(self.address_fix())
    }

    fn address_fix(&self) -> &'static str {
        if self.job.is_plain() { JOB_ADDRESS_FIX } else { ADDRESS_FIX }
    }

    fn wrong_address(&self, address: &str) -> Option<Diagnosis> {
        let actual = self.master.pod.ip.as_deref().filter(|actual| *actual != address)?;
        let message = format!("{} is not the address of the master", self.endpoint.name());
        let evidence = [self.endpoint.evidence(), Evidence::new(self.master.pod.title(), "status.podIP", actual, None)];
        let diagnosis = self.report(DiagnosisCode::MasterUnresolvable, Recovery::SettingsFixed, &message, evidence);
        Some(diagnosis.with_fix(self.address_fix()))
    }

    fn check_service(&self, pods: &ServicePods<'_>) -> Option<Diagnosis> {
        let service = pods.service;
        if let Some(mismatch) = pods.mismatch(self.master.pod) {
            return Some(self.misses(service, mismatch));
        }
        self.closed_port(service).or_else(|| self.not_ready(service)).or_else(|| self.lookup(service))
    }

    /// Reports a Service, or a record of it, that does not lead to the master.
    fn misses(&self, service: &ServiceRecord, mismatch: Mismatch) -> Diagnosis {
        let code = DiagnosisCode::ServiceMissesMaster;
        let (title, master) = (service.title(), self.master.pod);
        let of_master = |field: &str, value: Option<&str>| {
            Evidence::new(master.title(), field, value.unwrap_or("not set"), master.created)
        };
        let message = format!("{title} does not lead to {}", master.short_name());
        match mismatch {
            Mismatch::Labels => {
                let selector = Evidence::new(title, "spec.selector", &service.selector_text(), None);
                let labels = of_master("metadata.labels", Some("do not match the selector"));
                self.report(code, Recovery::ServiceFixed, &message, [selector, labels, self.endpoint.evidence()])
            }
            Mismatch::Hostname => {
                let evidence = [of_master("spec.hostname", master.hostname.as_deref()), self.endpoint.evidence()];
                self.report(code, Recovery::SettingsFixed, &message, evidence).with_fix(HOSTNAME_FIX)
            }
            Mismatch::Subdomain => {
                let name = &service.name;
                let message = format!("{title} has no record for {}: its subdomain is not {name}", master.short_name());
                let evidence = [of_master("spec.subdomain", master.subdomain.as_deref()), self.endpoint.evidence()];
                self.report(code, Recovery::SettingsFixed, &message, evidence).with_fix(SUBDOMAIN_FIX)
            }
        }
    }

    /// Reports a port that a Service with a cluster IP does not forward. The ports of headless Services have no effect.
    fn closed_port(&self, service: &ServiceRecord) -> Option<Diagnosis> {
        let port = self.endpoint.port.filter(|_| !service.is_headless)?;
        // The master listens on the port that its own settings contain.
        let listens = self.master_port().unwrap_or(port);
        let forwards = |entry: &ServicePort| entry.port == port && entry.target.is_none_or(|target| target == listens);
        if service.ports.iter().any(forwards) {
            return None;
        }
        let ports = service.ports.iter().map(|entry| {
            let target = entry.target.map_or_else(|| "a named port".to_owned(), |target| target.to_string());
            format!("{} to {target}", entry.port)
        });
        let message = format!("{} does not forward port {port} to port {listens} of the master", service.title());
        let ports = Evidence::new(service.title(), "spec.ports", &ports.collect::<Vec<_>>().join(", "), None);
        let evidence = [ports, self.endpoint.evidence()];
        Some(self.report(DiagnosisCode::ServicePortClosed, Recovery::ServiceFixed, &message, evidence))
    }

    fn master_port(&self) -> Option<u64> {
        let name = if self.master.has_address_flags() { "PET_MASTER_PORT" } else { "MASTER_PORT" };
        self.master.setting(name)?.trim().parse().ok()
    }

    /// Reports a master that runs without being ready: it has no DNS record in a headless Service.
    fn not_ready(&self, service: &ServiceRecord) -> Option<Diagnosis> {
        let pod = self.master.pod;
        let condition = pod.condition("Ready").filter(|condition| !condition.is_true())?;
        // A proxy that is not ready is another finding.
        let is_proxy =
            pod.containers.iter().any(|container| !container.is_main && container.is_running() && !container.ready);
        let is_late = is_older(condition.since, GRACE, self.context.now);
        if service.publishes_not_ready || !pod.is_running() || is_proxy || !is_late {
            return None;
        }
        // A container that does not run comes first: without it, the probes of the others change nothing.
        let containers = || pod.containers.iter().filter(|container| container.kind != ContainerKind::Init);
        let stopped = containers().find(|container| !container.is_running());
        let unready = stopped.or_else(|| containers().find(|container| !container.ready));
        let reason = match (unready, stopped) {
            (Some(container), Some(_)) => format!(" because container {} does not run", container.name),
            (Some(container), None) => format!(" because container {} is not ready", container.name),
            (None, _) => String::new(),
        };
        let message =
            format!("{} is not ready{reason}, so {} has no address for it", pod.short_name(), service.title());
        let container = unready.map(|container| match (&container.state, container.last_termination()) {
            (StateRecord::Waiting { reason, .. }, _) => {
                Evidence::new(pod.title(), container.status_field("state.waiting"), reason, condition.since)
            }
            (StateRecord::Terminated(_), Some(ended)) => termination_evidence(pod, container, ended),
            _ => Evidence::new(pod.title(), container.status_field("ready"), "false", container.running_since()),
        });
        let evidence = Evidence::new(pod.title(), "status.conditions[Ready]", &condition.summary(), condition.since);
        let evidence: Vec<Evidence> = container.into_iter().chain([evidence]).collect();
        let mut diagnosis = self.report(DiagnosisCode::MasterNotReady, Recovery::MasterStarts, &message, evidence);
        if stopped.is_some() {
            diagnosis = diagnosis.with_fix(STOPPED_FIX);
            diagnosis.finding.severity = Severity::Warning;
        }
        Some(diagnosis)
    }

    /// Reports init containers that wait for a name which should resolve.
    fn lookup(&self, service: &ServiceRecord) -> Option<Diagnosis> {
        let is_ready = self.master.pod.condition("Ready").is_some_and(ConditionRecord::is_true);
        let waits = |pod: &&PodRecord| {
            pod.containers.iter().any(|container| {
                container.waits_for_master() && is_older(container.running_since(), GRACE, self.context.now)
            })
        };
        let waiting: Vec<&PodRecord> = self.job.active().filter(waits).collect();
        if waiting.is_empty() || !is_ready {
            return None;
        }
        let (pods, wait) = (pod_names(&waiting), verb(waiting.len(), "waits", "wait"));
        let message = format!("{pods} {wait} for the name of {}, which should resolve", service.title());
        let evidence = waiting.iter().map(|pod| {
            let container = pod.containers.iter().find(|container| container.waits_for_master());
            let since = container.and_then(ContainerRecord::running_since);
            let name = container.map(|container| &*container.name).unwrap_or_default();
            Evidence::new(pod.title(), format!("status.initContainerStatuses[{name}].state.running"), "waits", since)
        });
        let code = DiagnosisCode::MasterLookupFails;
        Some(self.report(code, Recovery::LookupRetried, &message, evidence.collect::<Vec<_>>()))
    }

    fn report(
        &self,
        code: DiagnosisCode,
        recovery: Recovery,
        message: &str,
        evidence: impl IntoIterator<Item = Evidence>,
    ) -> Diagnosis {
        Diagnosis::new(code, self.job.workload_name(), recovery, message)
            .with_evidence(evidence)
            .with_waste(self.job.waste_of_all(self.context.now))
    }
}
