//! Checks of pods with an Istio proxy or other sidecars.

use jiff::{SignedDuration, Timestamp};

use super::context::Context;
use super::job::{Job, is_older, pod_names, verb};
use super::snapshot::container::{ContainerRecord, TerminationRecord};
use super::snapshot::peer_authentication::PeerAuthenticationRecord;
use super::snapshot::pod::PodRecord;
use super::snapshot::usage::Management;
use super::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::lifecycle::{Completion, PodPhase, ProxyOverview};

/// Time after completion within which the controller terminates sidecars, with all of its retries.
const TERMINATION: SignedDuration = SignedDuration::from_mins(1);
/// Time that a proxy may need to become ready: its default startup probe allows 10 minutes, but peers wait by then.
const STARTUP: SignedDuration = SignedDuration::from_mins(2);

/// Fix for pods that a label excludes: neither the controller nor `sweep` changes them.
const EXCLUDED_FIX: &str = "\
    the label trainmesh.dev/inject=disabled excludes the pod: remove it from the pod template, or set the label \
    sidecar.istio.io/inject: \"false\" there";
/// Fix for pods of which the controller should have terminated the sidecar.
const ENABLED_FIX: &str = "\
    the controller of trainmesh should have terminated it: check the events of the pod (ProxyEndFailed), and the \
    controller with trainmesh doctor; until then: trainmesh sweep --apply";

/// Checks a workload.
pub(super) fn check_job(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let outlived = active(job, |pod| outlives_main(pod, context.now));
    if !outlived.is_empty() {
        let since = outlived.iter().filter_map(|pod| completed_at(pod)).min();
        let evidence = outlived.iter().map(|pod| {
            let names = pod.running_sidecars.join(", ");
            Evidence::new(pod.title(), "status.containerStatuses: running", &names, completed_at(pod))
        });
        let message = format!("sidecars of {} run after the main containers have finished", pod_names(&outlived));
        let mut diagnosis = diagnosis(DiagnosisCode::SidecarOutlivesMain, job, Recovery::SidecarRuns, &message)
            .with_evidence(evidence)
            .with_waste(Job::held_by(&outlived, since, context.now));
        let is_enabled = |pod: &&PodRecord| {
            pod.usage.management == Management::Managed || context.snapshot.enabled_namespaces.contains(&*pod.namespace)
        };
        if outlived.iter().any(|pod| pod.usage.management == Management::Excluded) {
            diagnosis = diagnosis.with_fix(EXCLUDED_FIX);
        } else if outlived.iter().any(is_enabled) {
            diagnosis = diagnosis.with_fix(ENABLED_FIX);
        }
        found.push(diagnosis);
    }
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
    let unready = active(job, |pod| unready_proxy(pod, context.now).is_some());
    if !unready.is_empty() {
        let proxies = unready.iter().filter_map(|pod| Some((pod, unready_proxy(pod, context.now)?)));
        let evidence = proxies.map(|(pod, proxy)| {
            Evidence::new(pod.title(), proxy.status_field("ready"), "false", proxy.running_since())
        });
        let message = format!("the proxy of {} is not ready{}", pod_names(&unready), job.waiting_peers(&unready));
        found.push(
            diagnosis(DiagnosisCode::ProxyNotReady, job, Recovery::ProxyStarts, &message).with_evidence(evidence),
        );
    }
    check_spec(job, context, found);
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
    let ranks = job.active().filter(|pod| pod.is_rank()).count() as u64;
    let has_peers = ranks.max(job.workload.and_then(|workload| workload.pods).unwrap_or_default()) > 1;
    let captured = active(job, |pod| {
        let has_finished = matches!(pod.completion, Completion::Completed(_));
        pod.mesh.captures && !has_finished && pod.is_rank() && (pod.mesh.has_peers || (has_peers && job.is_one_group()))
    });
    if !captured.is_empty() {
        let field = "metadata.annotations[traffic.sidecar.istio.io/includeOutboundIPRanges]";
        let evidence = captured.iter().map(|pod| Evidence::new(pod.title(), field, "not set", pod.created));
        let policy = PeerAuthenticationRecord::effective(&context.snapshot.peer_authentications, job.namespace);
        found.push(if let Some(policy) = policy.filter(|policy| policy.is_strict()) {
            let pods = pod_names(&captured);
            let connect = verb(captured.len(), "connects", "connect");
            let message = format!("{} requires mutual TLS, and {pods} {connect} without it", policy.title());
            let mode = Evidence::new(policy.title(), "spec.mtls.mode", "STRICT", None);
            diagnosis(DiagnosisCode::PlaintextRejected, job, Recovery::PlaintextStays, &message)
                .with_evidence([mode])
                .with_evidence(evidence)
        } else {
            let message = format!("all traffic of {} passes through Envoy", pod_names(&captured));
            diagnosis(DiagnosisCode::TrafficCaptured, job, Recovery::TrafficStays, &message).with_evidence(evidence)
        });
    }
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

/// Returns the affected pods of a job, except those that are being deleted.
fn active<'a>(job: &Job<'a>, is_affected: impl Fn(&PodRecord) -> bool) -> Vec<&'a PodRecord> {
    job.active().filter(|pod| pod.deleted.is_none() && is_affected(pod)).collect()
}

fn diagnosis(code: DiagnosisCode, job: &Job<'_>, recovery: Recovery, message: &str) -> Diagnosis {
    Diagnosis::new(code, job.workload_name(), recovery, message)
}

fn outlives_main(pod: &PodRecord, now: Timestamp) -> bool {
    pod.phase == PodPhase::Running && !pod.running_sidecars.is_empty() && is_older(completed_at(pod), TERMINATION, now)
}

fn completed_at(pod: &PodRecord) -> Option<Timestamp> {
    if let Completion::Completed(at) = pod.completion { at } else { None }
}

/// Returns the classic proxy of a pod that has exited for good while a main container runs.
fn lost_proxy(pod: &PodRecord) -> Option<&ContainerRecord> {
    let ProxyOverview::Classic { name, terminated: true, .. } = &pod.proxy else { return None };
    let runs = pod.completion == Completion::Pending && pod.main().any(ContainerRecord::is_running);
    pod.containers.iter().find(|container| container.name == *name).filter(|_| runs)
}

/// Returns the proxy of a pod that runs without becoming ready, although the main containers run.
fn unready_proxy(pod: &PodRecord, now: Timestamp) -> Option<&ContainerRecord> {
    let ProxyOverview::Classic { name, running: true, .. } = &pod.proxy else { return None };
    let proxy = pod.containers.iter().find(|container| container.name == *name)?;
    let is_late = !proxy.ready && is_older(proxy.running_since(), STARTUP, now);
    (is_late && pod.is_running()).then_some(proxy)
}
