//! Containers that do not start: their image cannot be pulled, or they cannot be created.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use crate::diagnosis::context::{Context, event_evidence};
use crate::diagnosis::job::{Job, is_older, pod_names};
use crate::diagnosis::snapshot::container::ContainerRecord;
use crate::diagnosis::snapshot::event::EventRecord;
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};

/// Reasons of the kubelet for an image that it does not have.
const IMAGE_REASONS: [&str; 7] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
];
/// Reasons for which another pull does not help.
const INVALID_REASONS: [&str; 2] = ["InvalidImageName", "ErrImageNeverPull"];
/// Parts of the messages of registries that have no such image, or deny access.
const MISSING: [&str; 6] = ["not found", "manifest unknown", "denied", "unauthorized", "forbidden", "does not exist"];
/// Parts of the messages of registries that limit the number of pulls.
const LIMITED: [&str; 3] = ["toomanyrequests", "too many requests", "rate limit"];
const LIMITED_FIX: &str = "\
    the registry limits the number of pulls: wait until its limit resets, or pull from a mirror or with the credentials of an account with a \
    higher limit (imagePullSecrets)";
/// Parts of the messages about an image without a variant for the architecture of the node.
const PLATFORM: [&str; 3] =
    ["no match for platform", "no matching manifest for", "no image found in image index for architecture"];
const PLATFORM_FIX: &str = "\
    the image does not exist for the architecture of the node: push a variant for it (docker buildx build --platform), or select nodes of \
    the image's architecture (kubernetes.io/arch)";
/// Part of the messages about a node without space for the image.
const DISK: [&str; 1] = ["no space left on device"];
const DISK_FIX: &str = "\
    the disk of the node is full: free space for images on it or cordon it, and recreate the pod on another node";
/// Parts of the messages about a registry that the node does not reach.
const UNREACHED: [&str; 5] =
    ["no such host", "server misbehaving", "i/o timeout", "connection refused", "network is unreachable"];
const UNREACHED_FIX: &str = "\
    the node does not reach the registry: correct its name in the image, or check the DNS, the proxy and the network of the node, and the \
    registry itself";
/// Reason and start of the message of the event of the kubelet about a pull that failed.
const PULL_FAILED: (&str, &str) = ("Failed", "Failed to pull image");
/// Part of a status message with a cause. Others only repeat the reason.
const CAUSE: &str = ": ";
/// Reasons for a container that cannot be created.
const CREATION_REASONS: [&str; 4] =
    ["CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PreCreateHookError"];
/// Age of a pod until which its operator may still create its `ConfigMap` or Secret.
const CREATION_GRACE: SignedDuration = SignedDuration::from_mins(2);

/// Parts of the messages about containers that the driver, the runtime or the disk of a node does not let start.
const NODE_FAULTS: [&str; 7] = [
    "nvidia-container-cli: initialization error",
    "nvidia-container-cli: device error",
    "unresolvable cdi devices",
    "nvml",
    "driver rpc error",
    "deadline exceeded",
    "no space left on device",
];
const NODE_FIX: &str = "\
    check the node in the evidence: its driver and devices (nvidia-smi), CDI specification, container runtime and disk; cordon it until it \
    is repaired, and recreate the pod on another one";

/// Fix for images that the kubelet does not pull at all.
const INVALID_FIX: &str =
    "read the message: correct the image name or imagePullPolicy in the pod template; then recreate the pods";

/// A container that waits, with its pod and message.
type Waiting<'a> = (&'a PodRecord, &'a ContainerRecord, &'a str, Option<&'a str>);

/// Reports each image that cannot be pulled.
pub(super) fn check_images(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let mut by_image: BTreeMap<&str, Vec<Waiting<'_>>> = BTreeMap::new();
    for waiting in waiting(job, &IMAGE_REASONS) {
        by_image.entry(&waiting.1.image).or_default().push(waiting);
    }
    for (image, waiting) in by_image {
        let events: Vec<&EventRecord> = waiting.iter().filter_map(|waiting| pull_failure(waiting, context)).collect();
        let messages = waiting.iter().filter_map(|(.., message)| *message);
        let messages: Vec<String> =
            messages.chain(events.iter().map(|event| &*event.message)).map(str::to_ascii_lowercase).collect();
        let has_any = |texts: &[&str]| messages.iter().any(|message| texts.iter().any(|text| message.contains(text)));
        let (recovery, fix) = if waiting.iter().any(|(_, _, reason, _)| INVALID_REASONS.contains(reason)) {
            (Recovery::ImageInvalid, Some(INVALID_FIX))
        } else if has_any(&LIMITED) {
            (Recovery::ImageRetried, Some(LIMITED_FIX))
        } else if has_any(&PLATFORM) {
            (Recovery::ImageMissing, Some(PLATFORM_FIX))
        } else if has_any(&MISSING) {
            (Recovery::ImageMissing, None)
        } else if has_any(&DISK) {
            (Recovery::ImageRetried, Some(DISK_FIX))
        } else if has_any(&UNREACHED) {
            (Recovery::ImageRetried, Some(UNREACHED_FIX))
        } else {
            (Recovery::ImageRetried, None)
        };
        let problem = format!("cannot pull image {image}");
        let diagnosis = report(DiagnosisCode::ImagePullFails, job, context, &waiting, recovery, &problem);
        let evidence = events.iter().map(|event| event_evidence(event));
        found.push(diagnosis.with_evidence(evidence).with_fix(fix));
    }
}

/// Returns the newest event about the pull of the image, if the status does not show why it fails.
fn pull_failure<'a>((pod, container, _, message): &Waiting<'a>, context: &'a Context<'_>) -> Option<&'a EventRecord> {
    if message.is_some_and(|message| message.contains(CAUSE)) {
        return None;
    }
    let (reason, start) = PULL_FAILED;
    let is_failure = |event: &&EventRecord| {
        let is_of_image = event.message.starts_with(start) && event.message.contains(&*container.image);
        &*event.reason == reason && is_of_image && event.last >= pod.created
    };
    context.pod_events(pod).iter().copied().filter(is_failure).max_by_key(|event| event.last)
}

/// Reports containers that cannot be created.
pub(super) fn check_creation(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let is_old = |(pod, ..): &Waiting<'_>| is_older(pod.created, CREATION_GRACE, context.now);
    let waiting: Vec<Waiting<'_>> = waiting(job, &CREATION_REASONS).filter(is_old).collect();
    if let Some((_, container, ..)) = waiting.first() {
        let problem = format!("cannot create container {}", container.name);
        let code = DiagnosisCode::ContainerNotCreated;
        let is_fault = |(.., message): &Waiting<'_>| {
            let message = message.unwrap_or_default().to_ascii_lowercase();
            NODE_FAULTS.iter().any(|text| message.contains(text))
        };
        if !waiting.iter().all(is_fault) {
            found.push(report(code, job, context, &waiting, Recovery::ConfigurationMissing, &problem));
            return;
        }
        let nodes = waiting.iter().filter_map(|(pod, ..)| {
            Some(Evidence::new(pod.title(), "spec.nodeName", pod.node.as_deref()?, pod.held_since()))
        });
        let diagnosis = report(code, job, context, &waiting, Recovery::NodeFaulty, &problem);
        found.push(diagnosis.with_evidence(nodes).with_fix(NODE_FIX));
    }
}

fn waiting<'a>(job: &Job<'a>, reasons: &'static [&'static str]) -> impl Iterator<Item = Waiting<'a>> {
    let active: Vec<&PodRecord> = job.active().collect();
    active.into_iter().flat_map(move |pod| {
        let waiting = pod.waiting().filter(|(_, reason, _)| reasons.contains(reason));
        waiting.map(move |(container, reason, message)| (pod, container, reason, message))
    })
}

fn report(
    code: DiagnosisCode,
    job: &Job<'_>,
    context: &Context<'_>,
    waiting: &[Waiting<'_>],
    recovery: Recovery,
    problem: &str,
) -> Diagnosis {
    let mut pods: Vec<&PodRecord> = waiting.iter().map(|(pod, ..)| *pod).collect();
    pods.dedup_by_key(|pod| &pod.name);
    // Peers of a pod that replaces another one have worked before.
    let since = pods.iter().filter_map(|pod| pod.created).min();
    let message = format!("{} {problem}{}", pod_names(&pods), job.waiting_peers(&pods));
    let evidence = waiting.iter().map(|(pod, container, reason, message)| {
        let value = message.map_or_else(|| (*reason).to_owned(), |message| format!("{reason}: {message}"));
        Evidence::new(pod.title(), container.status_field("state.waiting"), &value, pod.held_since().or(pod.created))
    });
    Diagnosis::new(code, job.workload_name(), recovery, &message).with_evidence(evidence).with_waste(job.waste(
        &pods,
        since,
        context.now,
    ))
}
