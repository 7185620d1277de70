//! Controllers that cannot create pods: only events of the workload, or of an object that it owns, show it.

use jiff::SignedDuration;

use crate::diagnosis::context::{Context, event_evidence};
use crate::diagnosis::job::{Job, is_older};
use crate::diagnosis::snapshot::container::ContainerRecord;
use crate::diagnosis::snapshot::event::EventRecord;
use crate::diagnosis::snapshot::workload::WorkloadRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Recovery};
use crate::lifecycle::PodPhase;
use crate::quantity::milli_units;

/// Reasons of the Job controller, of training operators and of Ray.
const REASONS: [&str; 5] =
    ["FailedCreate", "FailedCreatePod", "FailedDeployPodGroup", "FailedToCreateWorkerPod", "FailedToCreateHeadPod"];
/// Age of an event from which the controller has probably succeeded: it retries at least every 16 minutes.
const RECENT: SignedDuration = SignedDuration::from_mins(30);
/// Text of the apiserver for a quota.
const QUOTA: &str = "exceeded quota";
/// Start of the text of the apiserver for a webhook that does not answer, before its name in quotes.
const UNANSWERED: &str = "failed calling webhook \"";
/// Text of the apiserver for a pod whose `ServiceAccount` does not exist.
const NO_ACCOUNT: &str = "error looking up service account";
/// Text of the apiserver for a pod that its Pod Security level forbids.
const POD_SECURITY: &str = "violates PodSecurity";
/// End of the names of trainmesh's webhooks.
const OWN_WEBHOOK: &str = ".trainmesh.dev";

/// Fix for trainmesh's own webhook, which rejects pods only with failurePolicy Fail.
const OWN_FIX: &str = "\
    run trainmesh doctor, and follow docs/operations.md#trainmeshfailsclosed; until the webhook answers, set its failurePolicy to \
    Ignore, the default";
/// Fix for other webhooks.
const WEBHOOK_FIX: &str = "\
    read the message, and check the pods, the Service and the certificate of the webhook; the controllers try again";
/// Fix for Pod Security: what the pod template lacks, a fabric profile or another webhook has added.
const POD_SECURITY_FIX: &str = "\
    correct the fields in the message; those that the pod template lacks, such as IPC_LOCK or a host path, come from a fabric profile: \
    set fabric.podSecurityDefault (docs/fabric.md#pod-security), or another webhook";
/// Fix for a quota that no pod of the job fits.
const SMALL_QUOTA_FIX: &str = "raise the ResourceQuota in the message, or lower the requests of the pods: the quota is too small even if nothing else uses it";
/// Fix for a missing `ServiceAccount`.
const ACCOUNT_FIX: &str =
    "create the ServiceAccount in the message, or correct spec.serviceAccountName of the pod template";

/// Reports the last failure to create a pod, while pods are missing.
pub(super) fn check(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let is_failure = |event: &&&EventRecord| {
        REASONS.contains(&&*event.reason) && event.last.is_some() && !is_older(event.last, RECENT, context.now)
    };
    let events = context.job_events(job).iter().filter(is_failure);
    let Some(event) = events.max_by_key(|event| event.last) else { return };
    let created_since = job.pods.iter().any(|pod| pod.created > event.last);
    // A failed pod is replaced, unless the job has ended.
    let existing = job.pods.iter().filter(|pod| pod.phase != PodPhase::Failed).count();
    let is_complete = job.expected_pods().is_some_and(|expected| existing as u64 >= expected);
    let has_ended = job.workload.is_some_and(WorkloadRecord::is_finished);
    if created_since || is_complete || has_ended {
        return;
    }
    let cause = Cause::new(&event.message);
    let existing = match (existing, job.expected_pods()) {
        (0, _) if job.pods.is_empty() => "no pod of the job can be created".to_owned(),
        (0, _) => "no pod of the job can be replaced".to_owned(),
        (count, Some(expected)) => format!("only {count} of {expected} pods could be created"),
        (count, None) => format!("{count} pods exist, and no more can be created"),
    };
    let active: Vec<_> = job.active().collect();
    let code = DiagnosisCode::PodCreationFails;
    let message = format!("{existing}: {}", cause.summary());
    let diagnosis = Diagnosis::new(code, job.workload_name(), cause.recovery(), &message);
    // Before the newest start, the job may have worked with all pods.
    let since = active.iter().flat_map(|pod| pod.main()).filter_map(ContainerRecord::running_since).max();
    let waits = job.is_collective_if_complete() && !job.runs_with_fewer();
    let waste = if waits { job.waste(&active, since, context.now) } else { None };
    let diagnosis = diagnosis.with_evidence([event_evidence(event)]).with_waste(waste);
    found.push(diagnosis.with_fix(cause.fix()));
}

/// Reason for which the apiserver rejects a pod.
#[derive(Clone, Copy, Debug)]
enum Cause<'a> {
    Quota,
    /// A pod requests more than the quota in all.
    SmallQuota,
    /// A webhook of this name does not answer.
    Webhook(&'a str),
    ServiceAccount,
    PodSecurity,
    Denied,
}

impl<'a> Cause<'a> {
    fn new(message: &'a str) -> Self {
        let webhook = message.split_once(UNANSWERED).and_then(|(_, rest)| rest.split_once('"'));
        match webhook {
            Some((name, _)) => Self::Webhook(name),
            None if message.contains(QUOTA) && exceeds_quota(message) => Self::SmallQuota,
            None if message.contains(QUOTA) => Self::Quota,
            None if message.contains(NO_ACCOUNT) => Self::ServiceAccount,
            None if message.contains(POD_SECURITY) => Self::PodSecurity,
            None => Self::Denied,
        }
    }

    fn summary(self) -> String {
        match self {
            Self::Quota => "the quota is used up".to_owned(),
            Self::SmallQuota => "each requests more than the quota allows in all".to_owned(),
            Self::Webhook(name) => format!("webhook {name} did not answer"),
            Self::ServiceAccount => "their ServiceAccount does not exist".to_owned(),
            Self::PodSecurity => "the Pod Security level forbids the pod".to_owned(),
            Self::Denied => "the apiserver denied the pod".to_owned(),
        }
    }

    fn recovery(self) -> Recovery {
        match self {
            Self::Quota => Recovery::CreationRetried,
            Self::SmallQuota => Recovery::CreationExceedsQuota,
            Self::Webhook(_) => Recovery::WebhookUnavailable,
            Self::ServiceAccount | Self::PodSecurity | Self::Denied => Recovery::CreationDenied,
        }
    }

    /// Returns the fix, if it is not that of the finding.
    fn fix(self) -> Option<&'static str> {
        match self {
            Self::Webhook(name) if name.ends_with(OWN_WEBHOOK) => Some(OWN_FIX),
            Self::Webhook(_) => Some(WEBHOOK_FIX),
            Self::ServiceAccount => Some(ACCOUNT_FIX),
            Self::PodSecurity => Some(POD_SECURITY_FIX),
            Self::SmallQuota => Some(SMALL_QUOTA_FIX),
            Self::Quota | Self::Denied => None,
        }
    }
}

/// Returns true if the message of the apiserver about a quota, `…, requested: R=Q,…, used: R=Q,…, limited: R=Q,…`, contains a request
/// above the limit.
fn exceeds_quota(message: &str) -> bool {
    let list = |name: &str| message.split_once(name).map(|(_, rest)| rest.split(": ").next().unwrap_or_default());
    let (Some(requested), Some(limited)) = (list("requested: "), list("limited: ")) else { return false };
    let entries = |list: &'_ str| -> Vec<(String, Option<u64>)> {
        let pairs = list.split(',').filter_map(|entry| entry.trim().split_once('='));
        pairs.map(|(name, text)| (name.to_owned(), milli_units(&text.into()))).collect()
    };
    let limits = entries(limited);
    entries(requested).iter().any(|(name, requested)| {
        let limit = limits.iter().find(|(known, _)| known == name).and_then(|(_, limit)| *limit);
        requested.zip(limit).is_some_and(|(requested, limit)| requested > limit)
    })
}
