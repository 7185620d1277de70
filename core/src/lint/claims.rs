//! Claims of dynamic resource allocation: FP048, FP051.

use super::LintInput;
use super::claimed_devices::read_claims;
use super::context::CheckContext;
use super::display_name::display_name;
use super::sink::FindingSink;
use crate::dra::{ClaimSource, Count, DeviceKind};
use crate::finding::Severity;

impl CheckContext<'_> {
    /// Returns true if claims of the pod add network interfaces, or may add them.
    pub(super) fn claims_may_add_interfaces(&self) -> bool {
        let adds = |kind: Option<DeviceKind>| {
            kind.is_none_or(|kind| kind.is_adapter() || matches!(kind, DeviceKind::Interface | DeviceKind::Other))
        };
        let claims = self.claims.claims();
        self.claims.is_truncated()
            || claims.iter().any(|claim| claim.devices().map_or(true, |mut devices| devices.any(|it| adds(it.kind))))
    }
}

/// FP048: the pods of a job share accelerators by one `ResourceClaim`.
pub(super) fn shared_accelerators(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in context.gpu_containers() {
        let mut claimed = context
            .claims
            .devices(container.spec)
            .filter(|(_, devices)| !devices.is_admin && devices.kind.is_some_and(DeviceKind::is_accelerator));
        let shared = claimed.find_map(|(claim, devices)| match claim.source {
            ClaimSource::Claim(name) => Some((sharing_pods(context, name)?, devices.count, claim.source)),
            ClaimSource::Template(_) | ClaimSource::Pod(_) => None,
        });
        if let Some((pods, count, source)) = shared {
            let noun = if count == Count::exactly(1) { "accelerator" } else { "accelerators" };
            let message = format!("{}: {pods} share {count} {noun} by {source}", container.display_name());
            findings.push(container.pointer(&context.claims.reference_pointer(container.spec, source)), message);
        }
    }
}

/// FP051: a claim, class or request that does not show which devices it provides.
pub(super) fn unknown(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    check_unknown(context.input, findings);
}

/// Runs FP051 without a [`CheckContext`], for the pod as its owner creates it: the templates of a profile are its own.
pub(super) fn check_unknown(input: &LintInput<'_>, findings: &mut FindingSink<'_>) {
    // Only a profile depends on the devices.
    if input.profile.is_none() {
        return;
    }
    let claims = read_claims(input.original, input.profile, input.cluster.claims);
    for container in input.original.containers() {
        if let Some(unknown) = claims.uncertainty(container, |_| false) {
            let list = || "/resources/claims".to_owned();
            let reference = unknown.source().map_or_else(list, |source| claims.reference_pointer(container, source));
            let field = format!("/spec/{}/{}{reference}", container.kind.spec_list(), container.index);
            findings.push_with_fix(
                Severity::Warning,
                field,
                format!("{}: {unknown}", display_name(container)),
                unknown.fix(),
            );
        }
    }
}

/// Returns the pods of the job that share the `ResourceClaim` called `name`, if there are several.
fn sharing_pods(context: &CheckContext<'_>, name: &str) -> Option<String> {
    match context.input.job {
        Some(job) => {
            let pods = job.facts.shared_claims.get(name).copied().flatten().filter(|pods| *pods > 1);
            pods.map(|pods| format!("{pods} pods"))
        }
        None => context.has_several_pods().then(|| "the job's pods".to_owned()),
    }
}
