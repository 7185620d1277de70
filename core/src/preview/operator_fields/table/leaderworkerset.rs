//! `LeaderWorkerSets`: version 0.9, `api/leaderworkerset/v1/leaderworkerset_types.go`.

use super::super::{Fields, Shape};

static SUB_GROUP_POLICY: Fields = Fields {
    owner: "SubGroupPolicy",
    names: &["subGroupPolicyType", "subGroupSize"],
    nested: &[("subGroupPolicyType", Shape::OneOf(&["LeaderWorker", "LeaderExcluded"]))],
};
static LEADER_WORKER_TEMPLATE: Fields = Fields {
    owner: "LeaderWorkerTemplate",
    names: &[
        "leaderTemplate",
        "workerTemplate",
        "size",
        "restartPolicy",
        "subGroupPolicy",
        "volumeClaimTemplates",
        "persistentVolumeClaimRetentionPolicy",
    ],
    nested: &[
        ("leaderTemplate", Shape::PodTemplate),
        ("workerTemplate", Shape::PodTemplate),
        ("restartPolicy", Shape::OneOf(&["Default", "RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "None"])),
        ("subGroupPolicy", Shape::Object(&SUB_GROUP_POLICY)),
    ],
};
static ROLLING_UPDATE: Fields =
    Fields { owner: "RollingUpdateConfiguration", names: &["partition", "maxUnavailable", "maxSurge"], nested: &[] };
static ROLLOUT_STRATEGY: Fields = Fields {
    owner: "RolloutStrategy",
    names: &["type", "rollingUpdateConfiguration"],
    nested: &[
        ("type", Shape::OneOf(&["RollingUpdate"])),
        ("rollingUpdateConfiguration", Shape::Object(&ROLLING_UPDATE)),
    ],
};
static NETWORK_CONFIG: Fields = Fields {
    owner: "NetworkConfig",
    names: &["subdomainPolicy"],
    nested: &[("subdomainPolicy", Shape::OneOf(&["Shared", "UniquePerReplica"]))],
};
pub(super) static LEADER_WORKER_SET: Fields = Fields {
    owner: "LeaderWorkerSetSpec",
    names: &["replicas", "leaderWorkerTemplate", "rolloutStrategy", "startupPolicy", "networkConfig"],
    nested: &[
        ("leaderWorkerTemplate", Shape::Object(&LEADER_WORKER_TEMPLATE)),
        ("rolloutStrategy", Shape::Object(&ROLLOUT_STRATEGY)),
        ("startupPolicy", Shape::OneOf(&["LeaderCreated", "LeaderReady"])),
        ("networkConfig", Shape::Object(&NETWORK_CONFIG)),
    ],
};
