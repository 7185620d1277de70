//! The pod as a member of its job: FP031.

use json_patch::jsonptr::PointerBuf;

use super::LintInput;
use super::context::CheckContext;
use super::deviation::Deviation;
use super::sink::FindingSink;
use crate::keys;

/// FP031: the pods of one job have different fabric revisions.
pub(super) fn mixed_revisions(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    compare_roles(context.input, findings);
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

/// Part of FP031: the profile is applied to a part of the roles of a manifest only.
pub(super) fn compare_roles(input: &LintInput<'_>, findings: &mut FindingSink<'_>) {
    let deviation = input.job.and_then(|job| job.deviation.as_ref());
    let Some(Deviation { role, message, severity, fix }) = deviation else { return };
    if input.role != Some(role) {
        return;
    }
    let field = match input.original.label(keys::FABRIC) {
        Some(_) => PointerBuf::from_tokens(["metadata", "labels", keys::FABRIC]).to_string(),
        None => "/metadata/labels".to_owned(),
    };
    match fix {
        Some(fix) => findings.push_with_fix(*severity, field, message.as_str(), fix),
        None => findings.push_as(*severity, field, message.as_str()),
    }
}
