//! Labels and annotations of gang schedulers, of Kueue and of operators that are misspelled, or in the wrong map: Kubernetes accepts
//! them, and no scheduler reads them. Their domains may have keys that are not listed, so that only a name that is similar to a
//! listed one is a problem.

use super::key::{
    COSCHEDULING_GROUP, KOORDINATOR_MIN, KOORDINATOR_NAME, KOORDINATOR_TOTAL, KUEUE_TOPOLOGY, VOLCANO_GROUP,
    YUNIKORN_TASK_GROUP, YUNIKORN_TASK_GROUPS,
};
use crate::config::GangMode;
use crate::hint::is_typo;

/// Names of keys by their domain, without those that users do not set and that are not similar to others.
const NAMES: [(&str, &[&str]); 12] = [
    ("scheduling.k8s.io", &["group-name"]),
    // volcano-sh/apis, `pkg/apis/scheduling/v1beta1/labels.go` and `pkg/apis/batch/v1alpha1/labels.go`.
    ("scheduling.volcano.sh", &["group-name", "queue-name", "group-min-member"]),
    (
        "volcano.sh",
        &[
            "task-spec",
            "task-index",
            "job-name",
            "job-namespace",
            "job-version",
            "job-retry-count",
            "queue-name",
            "preemptable",
            "cooldown-time",
            "revocable-zone",
            "jdb-min-available",
            "jdb-max-unavailable",
            "numa-topology-policy",
            "topology-decision",
            "network-topology-mode",
            "network-topology-highest-tier",
            "hierarchy",
            "hierarchy-weights",
            "template-uid",
        ],
    ),
    ("scheduling.x-k8s.io", &["pod-group"]),
    // koordinator-sh/koordinator, `apis/extension/coscheduling.go`.
    (
        "gang.scheduling.koordinator.sh",
        &[
            "name",
            "min-available",
            "total-number",
            "waiting-time",
            "mode",
            "groups",
            "timeout",
            "match-policy",
            "network-topology-index",
            "network-topology-spec",
        ],
    ),
    ("pod-group.scheduling.sigs.k8s.io", &["name", "min-available", "match-policy"]),
    // apache/yunikorn-k8shim, `pkg/common/constants/constants.go`.
    (
        "yunikorn.apache.org",
        &[
            "app-id",
            "queue",
            "parentqueue",
            "task-group-name",
            "task-groups",
            "schedulingPolicyParameters",
            "scheduling-policy-parameters",
            "allow-preemption",
            "placeholder",
        ],
    ),
    ("kai.scheduler", &["queue", "batch-min-member", "node-pool", "preemptibility", "subgroup-name", "topology"]),
    // kubernetes-sigs/jobset, `api/jobset/v1alpha2/jobset_types.go`.
    ("alpha.jobset.sigs.k8s.io", &["exclusive-topology", "node-selector", "namespaced-job", "no-schedule"]),
    // kubernetes-sigs/lws, `api/leaderworkerset/v1/leaderworkerset_types.go`.
    (
        "leaderworkerset.sigs.k8s.io",
        &[
            "exclusive-topology",
            "subgroup-exclusive-topology",
            "subgroup-policy-type",
            "subgroup-size",
            "subgroup-index",
            "subgroup-key",
            "group-index",
            "group-key",
            "group-restart-count",
            "worker-index",
            "leader-name",
            "leader-requests-tpus",
            "replicas",
            "template-revision-hash",
            "subdomainPolicy",
            "experimental-recreate-group-after-start",
        ],
    ),
    // ray-project/kuberay, `ray-operator/controllers/ray/utils/constant.go`.
    (
        "ray.io",
        &[
            "gang-scheduling-enabled",
            "scheduler-name",
            "priority-class-name",
            "ft-enabled",
            "external-storage-namespace",
            "overwrite-container-cmd",
            "initializing-timeout",
            "disable-provisioned-head-restart",
            "enable-serve-service",
            "gcs-ft-deletion-timeout",
            "cluster",
            "group",
            "identifier",
            "is-ray-node",
            "node-type",
            "node-group",
            "job-submission-mode",
            "headless-worker-svc",
        ],
    ),
    // kubernetes-sigs/kueue, `pkg/controller/constants` and `apis/kueue`.
    (
        "kueue.x-k8s.io",
        &[
            "queue-name",
            "local-queue-name",
            "cluster-queue-name",
            "priority-class",
            "max-exec-time-seconds",
            "prebuilt-workload-name",
            "elastic-job",
            "managed",
            "podset",
            "podset-group-name",
            "podset-required-topology",
            "podset-preferred-topology",
            "podset-unconstrained-topology",
            "podset-slice-required-topology",
            "podset-slice-size",
            "pod-group-name",
            "pod-group-total-count",
            "pod-group-fast-admission",
            "pod-group-serving",
            "pod-group-pod-index",
            "pod-group-pod-index-label",
            "pod-suspending-parent",
            "retriable-in-group",
            "role-hash",
            "workload",
        ],
    ),
];
/// Minimum length of a name that may be misspelled: shorter ones resemble other words.
const MIN_NAME: usize = 5;
/// Name of Kueue's label, whose misspellings TR016 reports.
const QUEUE_NAME: &str = "queue-name";

/// Annotations of pods that no scheduler reads as labels.
const ANNOTATIONS: [&str; 13] = [
    VOLCANO_GROUP,
    KOORDINATOR_NAME,
    KOORDINATOR_MIN,
    KOORDINATOR_TOTAL,
    YUNIKORN_TASK_GROUP,
    YUNIKORN_TASK_GROUPS,
    KUEUE_TOPOLOGY[0],
    KUEUE_TOPOLOGY[1],
    KUEUE_TOPOLOGY[2],
    KUEUE_TOPOLOGY[3],
    // kubernetes-sigs/kueue, `pkg/controller/jobs/pod/constants`. The name of the group may be both.
    "kueue.x-k8s.io/pod-group-total-count",
    "kueue.x-k8s.io/pod-group-fast-admission",
    "kueue.x-k8s.io/retriable-in-group",
];
/// Labels of pods that no scheduler reads as annotations.
const LABELS: [&str; 1] = [COSCHEDULING_GROUP];

/// Returns the key that `key`, an unknown one, is meant to be.
pub(crate) fn misspelled_key(key: &str) -> Option<String> {
    let (domain, name) = key.split_once('/')?;
    let (_, names) = NAMES.iter().find(|(known, _)| *known == domain)?;
    if names.contains(&name) {
        return None;
    }
    let may_be_misspelled =
        |known: &&&str| known.len() >= MIN_NAME && (domain, **known) != ("kueue.x-k8s.io", QUEUE_NAME);
    let near = names.iter().filter(may_be_misspelled).find(|known| is_typo(name, known))?;
    Some(format!("{domain}/{near}"))
}

/// Returns the map of a pod's metadata in which schedulers read `key`, if only one has an effect: `labels` or `annotations`.
pub(crate) fn only_map(key: &str) -> Option<&'static str> {
    if ANNOTATIONS.contains(&key) {
        return Some("annotations");
    }
    LABELS.contains(&key).then_some("labels")
}

/// Returns the scheduler that `name` is meant to be.
pub(crate) fn misspelled_scheduler(name: &str) -> Option<&'static str> {
    let modes = GangMode::names().iter().filter_map(|name| GangMode::parse(name)?.scheduler_name());
    let known: Vec<&str> = modes.chain(["default-scheduler"]).collect();
    known.iter().find(|known| is_typo(name, known)).filter(|_| !known.contains(&name)).copied()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::key;
    use super::*;

    #[rstest]
    #[case::coscheduling("scheduling.x-k8s.io/podgroup", "scheduling.x-k8s.io/pod-group")]
    #[case::koordinator("gang.scheduling.koordinator.sh/min-availble", "gang.scheduling.koordinator.sh/min-available")]
    #[case::kai("kai.scheduler/queu", "kai.scheduler/queue")]
    #[case::kueue("kueue.x-k8s.io/podset-required-topolgy", "kueue.x-k8s.io/podset-required-topology")]
    #[case::kueue_priority("kueue.x-k8s.io/priority-clas", "kueue.x-k8s.io/priority-class")]
    #[case::volcano("scheduling.k8s.io/group-nmae", "scheduling.k8s.io/group-name")]
    #[case::volcano_queue("scheduling.volcano.sh/queuename", "scheduling.volcano.sh/queue-name")]
    #[case::job_set("alpha.jobset.sigs.k8s.io/exclusive-topolgy", "alpha.jobset.sigs.k8s.io/exclusive-topology")]
    #[case::ray("ray.io/gang-scheduling-enable", "ray.io/gang-scheduling-enabled")]
    #[case::yunikorn("yunikorn.apache.org/task-group", "yunikorn.apache.org/task-groups")]
    fn misspelled_keys_have_a_suggestion(#[case] key: &str, #[case] expected: &str) {
        assert_eq!(misspelled_key(key).as_deref(), Some(expected));
    }

    #[rstest]
    #[case::new_key("kueue.x-k8s.io/podset-group-priority")]
    #[case::label_of_a_queue("kueue.x-k8s.io/queue-nme")]
    #[case::set_by_kuberay("ray.io/originated-from-crd")]
    #[case::set_by_kueue("kueue.x-k8s.io/job-uid")]
    #[case::short_name("gang.scheduling.koordinator.sh/node")]
    #[case::another_domain("example.com/pod-gruop")]
    #[case::similar_domain("scheduling.sigs.k8s.io/pod-group")]
    #[case::no_domain("queu")]
    #[case::index("volcano.sh/task-index")]
    #[case::long(&format!("kueue.x-k8s.io/{}", "x".repeat(10_000)))]
    fn other_keys_have_none(#[case] key: &str) {
        assert_eq!(misspelled_key(key), None);
    }

    #[test]
    fn no_key_is_a_misspelled_one() {
        let own = [key::VOLCANO_TASK, key::KOORDINATOR_GROUP, key::YUNIKORN_APP, key::KAI_GROUP];
        let known = key::OF_PODS.into_iter().chain(KUEUE_TOPOLOGY).chain(ANNOTATIONS).chain(LABELS).chain(own);
        for key in known.chain(key::YUNIKORN_QUEUES) {
            assert_eq!(misspelled_key(key), None, "{key}");
        }
        for (domain, names) in NAMES {
            for name in names {
                assert_eq!(misspelled_key(&format!("{domain}/{name}")), None, "{name}");
            }
        }
    }

    #[rstest]
    #[case("volcnao", Some("volcano"))]
    #[case("kai-schedular", Some("kai-scheduler"))]
    #[case("default-schduler", Some("default-scheduler"))]
    #[case("volcano", None)]
    #[case("volcano-2", None)]
    #[case("volcano-agent-scheduler", None)]
    #[case("my-scheduler", None)]
    #[case("koord-scheduler", None)]
    #[case("gke.io/optimize-utilization-scheduler", None)]
    #[case("", None)]
    fn misspelled_schedulers_have_a_suggestion(#[case] name: &str, #[case] expected: Option<&str>) {
        assert_eq!(misspelled_scheduler(name), expected);
    }
}
