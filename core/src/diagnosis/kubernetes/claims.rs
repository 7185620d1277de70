//! Claims for devices by which pods do not get a node.

use crate::diagnosis::context::Context;
use crate::diagnosis::job::{Job, pod_names, verb};
use crate::diagnosis::snapshot::ObjectKind;
use crate::diagnosis::snapshot::claim::ClaimReference;
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::finding::Severity;

/// Parts of the scheduler's messages about claims for devices and their classes. Those about volumes contain
/// `persistentvolumeclaim`.
const ABOUT_CLAIMS: [&str; 3] = ["resourceclaim", "allocate all claims", "device class"];

/// Problem of a claim of a pod.
#[derive(Clone, Copy, Debug)]
enum ClaimProblem<'a> {
    /// The claim does not exist.
    Missing(&'a str),
    /// No claim has been created from the template.
    NotCreated(&'a str),
    /// The claim has no device.
    NotAllocated(&'a str),
}

/// Reports pods that wait for a claim; `None` if no claim is the cause. `unscheduled` are the pods of the job without a node.
pub(super) fn report(job: &Job<'_>, context: &Context<'_>, unscheduled: &[&PodRecord]) -> Option<Diagnosis> {
    let mut waiting: Vec<(&PodRecord, ClaimProblem<'_>)> =
        unscheduled.iter().filter_map(|pod| Some((*pod, problem(pod, context)?))).collect();
    let definite = waiting.iter().find(|(_, problem)| problem.is_definite());
    let (_, first) = *definite.or_else(|| waiting.first())?;
    let has_scheduled = job.active().any(|pod| pod.is_rank() && pod.is_scheduled());
    if !first.is_definite() && has_scheduled {
        // Other ranks of the job got their devices, so that the gang is the better explanation.
        return None;
    }
    waiting.retain(|(_, problem)| problem.is_definite() == first.is_definite());
    let is_same = waiting.iter().all(|(_, problem)| problem.description() == first.description());
    let claims = match (is_same, first.is_definite()) {
        (true, _) => first.description(),
        (false, true) => "ResourceClaims that do not exist".to_owned(),
        (false, false) => "ResourceClaims that have no device".to_owned(),
    };
    let pods: Vec<&PodRecord> = waiting.iter().map(|(pod, _)| *pod).collect();
    let wait = verb(pods.len(), "waits", "wait");
    let message = format!("{} {wait} for {claims}{}", pod_names(&pods), job.waiting_peers(&pods));
    let evidence = waiting.iter().map(|(pod, problem)| problem.evidence(pod));
    let condition = pods.iter().find_map(|pod| {
        let condition = pod.condition("PodScheduled")?;
        Some(Evidence::new(pod.title(), "status.conditions[PodScheduled]", &condition.summary(), condition.since))
    });
    let mut diagnosis =
        Diagnosis::new(DiagnosisCode::ClaimNotAllocated, job.workload_name(), first.recovery(), &message)
            .with_evidence(condition.into_iter().chain(evidence))
            .with_waste(job.waste(&pods, None, context.now));
    if !first.is_definite() {
        // All devices may be in use.
        diagnosis.finding.severity = Severity::Warning;
    }
    Some(diagnosis)
}

/// Returns the first problem of the claims of a pod. All claims of a pod without a node may have no device, so that alone
/// is none.
fn problem<'a>(pod: &'a PodRecord, context: &Context<'_>) -> Option<ClaimProblem<'a>> {
    let is_listed = context.snapshot.is_complete(ObjectKind::ResourceClaim, &pod.namespace);
    let definite = pod.claims.iter().find_map(|reference| match reference {
        ClaimReference::Claim(name) => {
            let is_missing = is_listed && context.claim(&pod.namespace, name).is_none();
            is_missing.then_some(ClaimProblem::Missing(name))
        }
        ClaimReference::Template(name) => Some(ClaimProblem::NotCreated(name)),
    });
    let message = pod.condition("PodScheduled").and_then(|condition| condition.message.as_deref());
    let is_about_claims = message.is_some_and(|message| ABOUT_CLAIMS.iter().any(|part| message.contains(part)));
    definite.or_else(|| {
        let mut names = pod.claims.iter().filter_map(|reference| match reference {
            ClaimReference::Claim(name) => Some(&**name),
            ClaimReference::Template(_) => None,
        });
        let has_no_device = |name: &&str| context.claim(&pod.namespace, name).is_some_and(|claim| !claim.is_allocated);
        names.find(has_no_device).filter(|_| is_about_claims).map(ClaimProblem::NotAllocated)
    })
}

impl ClaimProblem<'_> {
    /// Returns true if no free device would help.
    fn is_definite(self) -> bool {
        !matches!(self, Self::NotAllocated(_))
    }

    fn recovery(self) -> Recovery {
        if self.is_definite() { Recovery::ClaimMissing } else { Recovery::ClaimAwaited }
    }

    fn description(self) -> String {
        match self {
            Self::Missing(name) => format!("ResourceClaim {name}, which does not exist"),
            Self::NotCreated(name) => format!("a ResourceClaim from the template {name}, which has not been created"),
            Self::NotAllocated(name) => format!("ResourceClaim {name}, which has no device"),
        }
    }

    fn evidence(self, pod: &PodRecord) -> Evidence {
        match self {
            Self::Missing(name) => Evidence::new(pod.title(), "spec.resourceClaims", name, pod.created),
            Self::NotCreated(name) => {
                Evidence::new(pod.title(), "status.resourceClaimStatuses", &format!("none from {name}"), pod.created)
            }
            Self::NotAllocated(name) => {
                let claim = format!("ResourceClaim {}/{name}", pod.namespace);
                Evidence::new(claim, "status.allocation", "not set", pod.created)
            }
        }
    }
}
