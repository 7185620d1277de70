//! `JobSets`: version 0.12, `api/jobset/v1alpha2/jobset_types.go`.

use super::super::{Fields, Shape};

static DEPENDS_ON: Fields = Fields {
    owner: "DependsOn",
    names: &["name", "status"],
    nested: &[("status", Shape::OneOf(&["Ready", "Complete"]))],
};
static REPLICATED_JOB: Fields = Fields {
    owner: "ReplicatedJob",
    names: &["name", "groupName", "template", "replicas", "dependsOn"],
    nested: &[("template", Shape::JobTemplate), ("dependsOn", Shape::List(&DEPENDS_ON))],
};
static NETWORK: Fields =
    Fields { owner: "Network", names: &["enableDNSHostnames", "subdomain", "publishNotReadyAddresses"], nested: &[] };
static SUCCESS_POLICY: Fields = Fields {
    owner: "SuccessPolicy",
    names: &["operator", "targetReplicatedJobs"],
    nested: &[("operator", Shape::OneOf(&["All", "Any"]))],
};
/// Reasons why a Job fails (`pkg/webhooks/jobset_webhook.go`).
const REASONS: &[&str] =
    &["BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "PodFailurePolicy"];
static FAILURE_POLICY_RULE: Fields = Fields {
    owner: "FailurePolicyRule",
    names: &["name", "action", "onJobFailureReasons", "onJobFailureMessagePatterns", "targetReplicatedJobs"],
    nested: &[
        (
            "action",
            Shape::OneOf(&[
                "FailJobSet",
                "RestartJobSet",
                "RestartJobSetAndIgnoreMaxRestarts",
                "RestartJob",
                "RestartJobAndIgnoreMaxRestarts",
            ]),
        ),
        ("onJobFailureReasons", Shape::SomeOf(REASONS)),
    ],
};
static FAILURE_POLICY: Fields = Fields {
    owner: "FailurePolicy",
    names: &["maxRestarts", "rules", "restartStrategy"],
    nested: &[
        ("rules", Shape::List(&FAILURE_POLICY_RULE)),
        ("restartStrategy", Shape::OneOf(&["Recreate", "BlockingRecreate", "InPlaceRestart"])),
    ],
};
static STARTUP_POLICY: Fields = Fields {
    owner: "StartupPolicy",
    names: &["startupPolicyOrder"],
    nested: &[("startupPolicyOrder", Shape::OneOf(&["AnyOrder", "InOrder"]))],
};
static COORDINATOR: Fields =
    Fields { owner: "Coordinator", names: &["replicatedJob", "jobIndex", "podIndex"], nested: &[] };
pub(super) static JOB_SET: Fields = Fields {
    owner: "JobSetSpec",
    names: &[
        "replicatedJobs",
        "network",
        "successPolicy",
        "failurePolicy",
        "startupPolicy",
        "suspend",
        "coordinator",
        "managedBy",
        "ttlSecondsAfterFinished",
        "volumeClaimPolicies",
    ],
    nested: &[
        ("replicatedJobs", Shape::List(&REPLICATED_JOB)),
        ("network", Shape::Object(&NETWORK)),
        ("successPolicy", Shape::Object(&SUCCESS_POLICY)),
        ("failurePolicy", Shape::Object(&FAILURE_POLICY)),
        ("startupPolicy", Shape::Object(&STARTUP_POLICY)),
        ("coordinator", Shape::Object(&COORDINATOR)),
    ],
};
