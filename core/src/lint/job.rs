//! The pod as a member of its job: FP029, FP031.

use super::JobContext;
use super::context::CheckContext;
use super::role_fabrics::Deviation;
use super::sink::FindingSink;
use crate::finding::Severity;
use crate::keys;
use crate::pod::Container;

/// Label that Kueue sets on the pods of a job whose template it admitted.
const KUEUE_POD_SET: &str = "kueue.x-k8s.io/podset";
/// Label that Kueue sets on pods that it admits individually, after admission webhooks have changed them.
const KUEUE_MANAGED: &str = "kueue.x-k8s.io/managed";

/// How to fix roles with different profiles.
const FIX_FOR_ROLES: &str = "correct what prevents the profile in the other roles (FP046), or label all pods of the job \
                             trainmesh.dev/fabric=none";

/// FP029: the pod requests an adapter that is not in the template that Kueue admitted.
pub(super) fn adapter_outside_quota(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let pod = context.input.pod;
    if pod.label(KUEUE_POD_SET).is_none() || pod.label(KUEUE_MANAGED).is_some() {
        return;
    }
    let originals: Vec<Container<'_>> = context.input.original.containers().collect();
    for container in &context.containers {
        let original = originals
            .iter()
            .find(|original| (original.kind, original.name()) == (container.spec.kind, container.spec.name()));
        let requested_before = |adapter: &str| {
            let resources = original.and_then(|original| original.raw().get("resources"));
            ["limits", "requests"]
                .iter()
                .any(|kind| resources.and_then(|resources| resources.get(kind)?.get(adapter)).is_some())
        };
        if let Some((adapter, _)) = container.adapters.iter().find(|(adapter, _)| !requested_before(adapter)) {
            let message = format!("{}: {adapter} is not counted by Kueue", container.display_name());
            findings.push(container.pointer("/resources/limits"), message);
        }
    }
}

/// FP031: the pods of one job have different fabric revisions.
pub(super) fn mixed_revisions(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    if let Some(job) = context.input.job {
        check_roles(job, context.input.role, findings);
    }
    let Some(pin) = context.input.cluster.pin else { return };
    let has_gpu = context.containers.iter().any(|container| container.gpus.is_positive());
    let revision = context.input.pod.annotation(keys::FABRIC_REVISION);
    let message = match revision {
        Some(revision) if revision != pin.revision => {
            format!("fabric revision {revision}, but running pods of the job have {}", pin.revision)
        }
        None if has_gpu && context.input.profile.is_some() => {
            format!("no fabric, but running pods of the job have {} at revision {}", pin.profile, pin.revision)
        }
        _ => return,
    };
    findings.push("/metadata/annotations/trainmesh.dev~1fabric-revision", message);
}

/// Runs FP031 for a role of a manifest: the profile is applied to a part of the roles only.
pub(super) fn check_roles(job: &JobContext, role: Option<&str>, findings: &mut FindingSink<'_>) {
    if let Some(Deviation { role: deviating, message }) = &job.deviation
        && role == Some(deviating)
    {
        findings.push_with_fix(Severity::Error, "/metadata/labels", message.as_str(), FIX_FOR_ROLES);
    }
}
