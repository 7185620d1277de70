//! The pod as a member of its job: FP031.

use super::JobContext;
use super::context::CheckContext;
use super::deviation::Deviation;
use super::sink::FindingSink;
use crate::keys;

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
    let Some(Deviation { role: deviating, message, severity, fix }) = &job.deviation else { return };
    if role != Some(deviating) {
        return;
    }
    match fix {
        Some(fix) => findings.push_with_fix(*severity, "/metadata/labels", message.as_str(), fix),
        None => findings.push_as(*severity, "/metadata/labels", message.as_str()),
    }
}
