//! Checks of pods with an Istio proxy or other sidecars.

mod role_sizes;
mod sidecar;

use jiff::{SignedDuration, Timestamp};

use super::context::{Context, event_evidence};
use super::job::{Job, is_older, pod_names, verb};
use super::snapshot::container::{ContainerRecord, TerminationRecord};
use super::snapshot::event::UNHEALTHY;
use super::snapshot::mesh::CaptureAnnotation;
use super::snapshot::peer_authentication::PeerAuthenticationRecord;
use super::snapshot::pod::PodRecord;
use super::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::keys;
use crate::lifecycle::{Completion, ProxyOverview};
use crate::mutate::Reason;
use role_sizes::RoleSizes;

/// Time that a proxy may need to become ready: its default startup probe allows 10 minutes, but peers wait by then.
const STARTUP: SignedDuration = SignedDuration::from_mins(2);

/// Fix for pods of the mode `direct` without the ranges of addresses that it excludes.
const POD_CIDRS_FIX: &str = "\
    set mesh.podCIDRs in trainmesh's configuration, for which trainmesh doctor suggests ranges, or use the mode disableCapture; then \
    recreate the pods: their label alone has no effect";
/// Fix for pods of which trainmesh refused to exclude the traffic for another reason.
const REFUSED_FIX: &str = "\
    correct what the reason names (docs/rules.md#reasons), or use the mode disableCapture; then recreate the pods: until then, \
    their label has no effect";

/// Checks a workload.
pub(super) fn check_job(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    found.extend(sidecar::check(job, context));
    let ended = active(job, |pod| lost_proxy(pod).is_some());
    if !ended.is_empty() {
        let proxies = ended.iter().filter_map(|pod| Some((pod, lost_proxy(pod)?)));
        let evidence = proxies.map(|(pod, proxy)| {
            let last = proxy.last_termination();
            let value = last.map(TerminationRecord::summary).unwrap_or_default();
            Evidence::new(
                pod.title(),
                proxy.status_field("state.terminated"),
                &value,
                last.and_then(|last| last.finished),
            )
        });
        let message = format!("the proxy of {} has exited and the main containers run", pod_names(&ended));
        found.push(
            diagnosis(DiagnosisCode::ProxyEndedEarly, job, Recovery::ProxyLost, &message).with_evidence(evidence),
        );
    }
    let unready = active(job, |pod| is_proxy_late(pod, context.now));
    if !unready.is_empty() {
        found.push(proxy_not_ready(job, context, &unready));
    }
    check_spec(job, context, found);
}

fn proxy_not_ready(job: &Job<'_>, context: &Context<'_>, unready: &[&PodRecord]) -> Diagnosis {
    let proxies = unready.iter().filter_map(|pod| {
        let proxy = unready_proxy(pod)?;
        Some(Evidence::new(pod.title(), proxy.status_field("ready"), "false", proxy.running_since()))
    });
    // No other container of such a pod runs, so that its failed probes are those of the proxy.
    let blocked = || unready.iter().filter(|pod| !pod.is_running());
    let probes = blocked().filter_map(|pod| context.newest_pod_event(pod, &[UNHEALTHY]).map(event_evidence));
    let waits = blocked().filter_map(|pod| {
        let (container, reason, _) = pod.waiting().find(|(container, ..)| container.is_main)?;
        Some(Evidence::new(pod.title(), container.status_field("state.waiting"), reason, pod.held_since()))
    });
    let absent: Vec<&PodRecord> = unready.iter().copied().filter(|pod| !was_ready(pod)).collect();
    let since = absent.iter().filter_map(|pod| pod.created).min();
    let message = format!("the proxy of {} is not ready{}", pod_names(unready), job.waiting_peers(&absent));
    diagnosis(DiagnosisCode::ProxyNotReady, job, Recovery::ProxyStarts, &message)
        .with_evidence(proxies.chain(probes).chain(waits))
        .with_waste(job.waste(&absent, since, context.now))
}

/// Reports problems that the spec shows.
fn check_spec(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    // A hold matters only while the main containers start.
    let has_crashed = |pod: &PodRecord| pod.main().any(|container| container.last_termination().is_some());
    let unheld = active(job, |pod| pod.mesh.lacks_hold && has_crashed(pod));
    if !unheld.is_empty() {
        let field = "metadata.annotations[proxy.istio.io/config]";
        let evidence = unheld.iter().map(|pod| {
            let value = "requests the hold, but the proxy is not the first container with pilot-agent wait";
            Evidence::new(pod.title(), field, value, pod.created)
        });
        let message = format!("{} crashed, and started without the hold that was requested", pod_names(&unheld));
        found.push(
            diagnosis(DiagnosisCode::HoldNotRendered, job, Recovery::HoldMissing, &message).with_evidence(evidence),
        );
    }
    check_capture(job, context, found);
    let injected = active(job, |pod| pod.proxy != ProxyOverview::Absent);
    if job.workload.is_some_and(|workload| workload.disables_injection) && !injected.is_empty() {
        let key = "metadata: sidecar.istio.io/inject";
        let evidence = Evidence::new(job.workload_name().to_string(), key, "false", None);
        let (pods, have) = (pod_names(&injected), verb(injected.len(), "has", "have"));
        let message = format!("{pods} {have} a proxy, although the {} disables injection", job.kind);
        found.push(
            diagnosis(DiagnosisCode::InjectionKeyOnWorkload, job, Recovery::InjectionStays, &message)
                .with_evidence([evidence]),
        );
    }
}

/// Reports ranks whose traffic with their peers passes through Envoy, or only its inbound part.
fn check_capture(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let ranks = job.active().filter(|pod| pod.is_rank()).count() as u64;
    let has_peers = ranks.max(job.workload.and_then(|workload| workload.pods).unwrap_or_default()) > 1;
    let sizes = RoleSizes::new(job);
    let is_member = |pod: &PodRecord| {
        let has_finished = matches!(pod.completion, Completion::Completed(_));
        let has_peers = || pod.mesh.has_peers || (has_peers && job.is_one_group()) || sizes.is_first_of_several(pod);
        !has_finished && pod.is_rank() && has_peers()
    };
    let policy = PeerAuthenticationRecord::effective(&context.snapshot.peer_authentications, job.namespace);
    let policy = policy.filter(|policy| policy.is_strict());
    let captured = active(job, |pod| pod.mesh.captures && is_member(pod));
    if captured.is_empty() {
        let accepts_only = |pod: &PodRecord| pod.mesh.capture == CaptureAnnotation::InboundByDefault;
        let half_captured = active(job, |pod| accepts_only(pod) && is_member(pod));
        if let Some(policy) = policy.filter(|_| !half_captured.is_empty()) {
            let cause = ": Envoy captures only the inbound traffic";
            let evidence = half_captured.iter().map(|pod| capture_evidence(pod));
            found.push(plaintext_rejected(job, policy, &half_captured, cause).with_evidence(evidence));
        }
        return;
    }
    let evidence = captured.iter().map(|pod| capture_evidence(pod));
    let refusal = captured.iter().find_map(|pod| Some((*pod, pod.mesh.refused?)));
    let mut diagnosis = if let Some(policy) = policy {
        // The launcher connects to the workers by ssh.
        let is_launcher = |pod: &PodRecord| pod.mesh.captures && !pod.is_rank() && job.is_awaited(pod);
        plaintext_rejected(job, policy, &[active(job, is_launcher), captured.clone()].concat(), "")
    } else {
        let cause = refusal.map(|(_, reason)| format!(": trainmesh refused to exclude it, because {}", reason.text()));
        let cause = cause.unwrap_or_default();
        let message = format!("all traffic of {} passes through Envoy{cause}", pod_names(&captured));
        diagnosis(DiagnosisCode::TrafficCaptured, job, Recovery::TrafficStays, &message)
    };
    if let Some((pod, reason)) = refusal {
        let field = format!("metadata.annotations[{}]", keys::REFUSED);
        let value = format!("mesh.traffic={}", reason.code());
        let fix = if reason == Reason::PodCidrsMissing { POD_CIDRS_FIX } else { REFUSED_FIX };
        diagnosis = diagnosis.with_evidence([Evidence::new(pod.title(), field, &value, pod.created)]).with_fix(fix);
    }
    found.push(diagnosis.with_evidence(evidence));
}

/// Returns the finding about pods that connect in plaintext to peers whose Envoy requires mutual TLS, without the evidence of the pods.
fn plaintext_rejected(job: &Job<'_>, policy: &PeerAuthenticationRecord, pods: &[&PodRecord], cause: &str) -> Diagnosis {
    let connect = verb(pods.len(), "connects", "connect");
    let message =
        format!("{} requires mutual TLS, and {} {connect} without it{cause}", policy.title(), pod_names(pods));
    let mode = Evidence::new(policy.title(), "spec.mtls.mode", "STRICT", None);
    diagnosis(DiagnosisCode::PlaintextRejected, job, Recovery::PlaintextStays, &message).with_evidence([mode])
}

/// Returns the annotation by which the traffic of a pod is captured.
fn capture_evidence(pod: &PodRecord) -> Evidence {
    let (key, value) = pod.mesh.capture.setting();
    Evidence::new(pod.title(), format!("metadata.annotations[{key}]"), value, pod.created)
}

/// Returns the affected pods of a job, except those that are being deleted.
fn active<'a>(job: &Job<'a>, is_affected: impl Fn(&PodRecord) -> bool) -> Vec<&'a PodRecord> {
    job.active().filter(|pod| pod.deleted.is_none() && is_affected(pod)).collect()
}

fn diagnosis(code: DiagnosisCode, job: &Job<'_>, recovery: Recovery, message: &str) -> Diagnosis {
    Diagnosis::new(code, job.workload_name(), recovery, message)
}

/// Returns the classic proxy of a pod that has exited for good while a main container runs.
fn lost_proxy(pod: &PodRecord) -> Option<&ContainerRecord> {
    let ProxyOverview::Classic { name, terminated: true, .. } = &pod.proxy else { return None };
    let runs = pod.completion == Completion::Pending && pod.main().any(ContainerRecord::is_running);
    pod.containers.iter().find(|container| container.name == *name).filter(|_| runs)
}

/// Returns the proxy of a pod that runs and is not ready, while the main containers run, or while they wait for it: for the
/// startup probe of a native sidecar, or the hold of a classic proxy.
pub(super) fn unready_proxy(pod: &PodRecord) -> Option<&ContainerRecord> {
    let (name, is_native) = match &pod.proxy {
        ProxyOverview::Absent => return None,
        ProxyOverview::Native { name } => (name, true),
        ProxyOverview::Classic { name, .. } => (name, false),
    };
    let proxy = pod.containers.iter().find(|container| container.name == *name)?;
    let is_awaited = || pod.main().all(ContainerRecord::is_about_to_start) && !(is_native && proxy.started);
    (proxy.is_running() && !proxy.ready && (pod.is_running() || is_awaited())).then_some(proxy)
}

/// Returns true if the proxy of a pod has not become ready in time.
fn is_proxy_late(pod: &PodRecord, now: Timestamp) -> bool {
    unready_proxy(pod).is_some_and(|proxy| {
        // The kubelet restarts a proxy whose startup probe fails, and the main containers continue to wait.
        let restarted = proxy.last.as_ref().filter(|_| !pod.is_running()).and_then(|last| last.started);
        is_older(restarted.or(proxy.running_since()), STARTUP, now)
    })
}

/// Returns true if a pod has been ready since its main containers started: ranks that have met do not need its DNS record.
fn was_ready(pod: &PodRecord) -> bool {
    let changed = pod.condition("Ready").and_then(|condition| condition.since);
    pod.is_running() && changed > pod.main().filter_map(ContainerRecord::running_since).max()
}
