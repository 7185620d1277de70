//! Decisions of the rule `gang`.

mod excluded;
mod pins;
mod yunikorn;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::cidr::Cidr;
use trainmesh_core::cluster_facts::ClusterView;
use trainmesh_core::config::{Configuration, Traffic};
use trainmesh_core::gang::mode_pins::ModePins;
use trainmesh_core::gang::{
    Creator, GangFacts, GangMode, GangView, GangWorkload, UnknownGang, WorkloadKey, WorkloadLookup,
};
use trainmesh_core::mutate::{Outcome, RuleId, RuleOutcome, Snapshot, mutate, workload_to_read};
use trainmesh_core::pod::Pod;
use trainmesh_core::scope::Mode;
use trainmesh_testing::snapshot::snapshot;

/// Name of the gang of [`job`].
const GANG: &str = "job-08a42b2f348b";

/// Inputs of a case. The default is the mode `koordinator` in a namespace without injection, and a cluster about which
/// nothing is known.
pub(crate) struct Scenario {
    labels: BTreeMap<String, String>,
    config: Configuration,
    mode: Mode,
    facts: Option<GangFacts>,
    object: Value,
    /// Modes of the running pods.
    pins: ModePins,
}

/// Returns a job with a master and 3 workers.
pub(crate) fn job() -> Value {
    let replicas = |count: u64| {
        let container = json!({"name": "pytorch", "resources": {"limits": {"cpu": 2, "nvidia.com/gpu": 8}}});
        json!({"replicas": count, "template": {"spec": {"containers": [container]}}})
    };
    json!({
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "job", "uid": "u1"},
        "spec": {"pytorchReplicaSpecs": {"Master": replicas(1), "Worker": replicas(3)}},
    })
}

/// Returns a worker of [`job`] with additional `metadata` and `spec`.
pub(crate) fn worker(metadata: &Value, spec: &Value) -> Value {
    let labels = json!({
        "training.kubeflow.org/operator-name": "pytorchjob-controller", "training.kubeflow.org/job-name": "job",
        "training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "0",
    });
    let owner =
        json!({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "job", "uid": "u1", "controller": true});
    let container = json!({
        "name": "pytorch", "image": "i", "resources": {"limits": {"cpu": 2, "nvidia.com/gpu": 8}},
    });
    let mut pod = json!({
        "metadata": {"name": "job-worker-0", "labels": labels, "ownerReferences": [owner]},
        "spec": {"containers": [container]},
    });
    for (part, added) in [("metadata", metadata), ("spec", spec)] {
        for (key, value) in added.as_object().unwrap() {
            match pod[part].get_mut(key).and_then(Value::as_object_mut) {
                Some(map) => map.extend(value.as_object().unwrap().clone()),
                None => pod[part][key] = value.clone(),
            }
        }
    }
    pod
}

impl Scenario {
    pub(crate) fn new(gang: &str) -> Self {
        Self {
            labels: BTreeMap::from([("trainmesh.dev/gang".to_owned(), gang.to_owned())]),
            config: Configuration::embedded(),
            mode: Mode::Enabled,
            facts: None,
            object: job(),
            pins: ModePins::default(),
        }
    }

    fn with_facts(mut self, facts: GangFacts) -> Self {
        self.facts = Some(facts);
        self
    }

    fn run(&self, pod: &Value) -> Outcome {
        let key = WorkloadKey::of(Pod::new(pod), "team-a");
        let read = key.map(|key| GangWorkload::from_object(&key, &self.object));
        let workload = match &read {
            None => WorkloadLookup::NotRead,
            Some(Ok(workload)) => WorkloadLookup::Read(workload),
            Some(Err(problem)) => WorkloadLookup::Failed(problem),
        };
        self.run_with(pod, workload)
    }

    fn run_with(&self, pod: &Value, workload: WorkloadLookup<'_>) -> Outcome {
        self.run_in_role(pod, workload, None)
    }

    /// Runs a pod of a role with this number of pods, if it is known.
    fn run_in_role(&self, pod: &Value, workload: WorkloadLookup<'_>, replicas: Option<u64>) -> Outcome {
        let pin = self.pins.find(Pod::new(pod), "team-a");
        let gang = GangView {
            facts: self.facts.as_ref(),
            namespace: "team-a",
            workload,
            creator: None,
            pin,
            lacks_controller: false,
        };
        let cluster = ClusterView { gang, ..ClusterView::default() };
        mutate(pod, &Snapshot { mode: self.mode, cluster, replicas, ..snapshot(&self.labels, &self.config) })
    }
}

/// Returns the decision of the rule.
fn decision(outcome: &Outcome) -> &RuleOutcome {
    outcome.rules.iter().find(|rule| rule.rule == RuleId::Gang).unwrap()
}

/// Runs `pod`, and again as patched, which must give no further patch. Returns the patched pod.
pub(crate) fn check(scenario: &Scenario, pod: &Value, expected: &str, warnings: &[&str]) -> Value {
    let outcome = scenario.run(pod);
    let found = decision(&outcome);
    assert_eq!(format!("{} {}", found.outcome.name(), found.reason.code()), expected, "{found:?}");
    assert_eq!(outcome.warnings.len(), warnings.len(), "{:?}", outcome.warnings);
    for (warning, part) in outcome.warnings.iter().zip(warnings) {
        assert!(warning.contains(part), "{warning}");
        assert!(warning.len() <= 120, "longer than 120 characters: {warning}");
    }
    let mut patched = pod.clone();
    outcome.patch.apply(&mut patched).unwrap();
    let again = scenario.run(&patched);
    assert!(again.patch.is_empty(), "not idempotent: {:#?}", again.patch);
    patched
}

/// Returns the facts of a cluster that serves the objects of every mode.
fn serving(controller_alive: bool) -> GangFacts {
    let apis = GangMode::WITH_OBJECTS.map(|mode| (mode, "v1".to_owned()));
    GangFacts { apis: apis.into(), controller_alive, ..GangFacts::default() }
}

fn empty() -> Value {
    json!({})
}

#[rstest]
#[case::koordinator("koordinator", json!({
    "/metadata/annotations/gang.scheduling.koordinator.sh~1name": GANG,
    "/metadata/annotations/gang.scheduling.koordinator.sh~1min-available": "4",
    "/metadata/annotations/gang.scheduling.koordinator.sh~1total-number": "4",
    "/spec/schedulerName": "koord-scheduler",
    "/metadata/labels/trainmesh.dev~1managed": "true",
}))]
#[case::volcano("volcano", json!({
    "/metadata/annotations/scheduling.k8s.io~1group-name": GANG,
    "/spec/schedulerName": "volcano",
    "/metadata/labels/trainmesh.dev~1managed": "true",
}))]
#[case::coscheduling("coscheduling", json!({
    "/metadata/labels/scheduling.x-k8s.io~1pod-group": GANG,
    "/spec/schedulerName": "scheduler-plugins-scheduler",
    "/metadata/labels/trainmesh.dev~1managed": "true",
}))]
#[case::native("native", json!({
    "/spec/schedulingGroup": {"podGroupName": GANG},
    "/spec/schedulerName": null,
    "/metadata/labels/trainmesh.dev~1managed": "true",
}))]
#[case::kai("kai", json!({"/spec/schedulerName": "kai-scheduler", "/metadata/labels/trainmesh.dev~1managed": "true"}))]
fn pods_get_the_keys_of_their_mode(#[case] mode: &str, #[case] expected: Value) {
    let scenario = Scenario::new(mode).with_facts(serving(true));
    let patched = check(&scenario, &worker(&empty(), &empty()), "applied GangJoined", &[]);
    for (pointer, value) in expected.as_object().unwrap() {
        assert_eq!(patched.pointer(pointer).unwrap_or(&Value::Null), value, "{pointer}");
    }
    assert_eq!(patched["metadata"]["annotations"]["trainmesh.dev/applied"], format!("gang={mode}"));
    let again = scenario.run(&patched);
    assert_eq!(decision(&again).reason.code(), "GangPresent");
}

#[test]
fn a_scheduler_that_the_user_selects_is_kept() {
    let pod = worker(&empty(), &json!({"schedulerName": "koord-scheduler"}));
    let patched = check(&Scenario::new("koordinator"), &pod, "applied GangJoined", &[]);
    assert_eq!(patched["spec"]["schedulerName"], "koord-scheduler");
    let pod = worker(&empty(), &json!({"schedulerName": "kai-scheduler"}));
    check(&Scenario::new("kai"), &pod, "skipped GangPresent", &[]);
}

#[rstest]
#[case::namespace("koordinator", json!({}), "applied GangJoined", &[])]
#[case::pod_takes_precedence("koordinator", json!({"trainmesh.dev/gang": "none"}), "skipped GangOptedOut", &[])]
#[case::pod("none", json!({"trainmesh.dev/gang": "koordinator"}), "applied GangJoined", &[])]
#[case::namespace_opts_out("none", json!({}), "skipped GangOptedOut", &[])]
#[case::unknown("vulcano", json!({}), "refused UnknownGangMode", &["label trainmesh.dev/gang has the unknown value \"vulcano\": did you mean volcano?"])]
#[case::distant("x", json!({}), "refused UnknownGangMode", &["label trainmesh.dev/gang has the unknown value \"x\""])]
fn labels_select_the_mode(
    #[case] namespace: &str,
    #[case] labels: Value,
    #[case] expected: &str,
    #[case] warnings: &[&str],
) {
    check(&Scenario::new(namespace), &worker(&json!({"labels": labels}), &empty()), expected, warnings);
}

#[test]
fn the_configuration_selects_the_default_mode() {
    let mut scenario = Scenario::new("koordinator");
    scenario.labels.clear();
    check(&scenario, &worker(&empty(), &empty()), "skipped GangNotSelected", &[]);
    scenario.config.gang.default = GangMode::Koordinator;
    check(&scenario, &worker(&empty(), &empty()), "applied GangJoined", &[]);
    scenario.config.gang.enabled = false;
    check(&scenario, &worker(&empty(), &empty()), "skipped GangOff", &[]);
    scenario.config.gang.enabled = true;
    scenario.mode = Mode::IstioAux;
    check(&scenario, &worker(&empty(), &empty()), "skipped IstioAuxNamespace", &[]);
}

#[rstest]
#[case::none(&[], "refused NoGangScheduler", &["no gang scheduler is known to run: select a mode by its name"])]
#[case::one(&[GangMode::Koordinator], "applied GangJoined", &[])]
#[case::several(&[GangMode::Volcano, GangMode::Koordinator], "refused SeveralGangSchedulers", &["volcano, koordinator"])]
fn auto_selects_the_scheduler_that_runs(#[case] alive: &[GangMode], #[case] expected: &str, #[case] warnings: &[&str]) {
    let facts = GangFacts { alive: alive.iter().copied().collect(), ..GangFacts::default() };
    check(&Scenario::new("auto").with_facts(facts), &worker(&empty(), &empty()), expected, warnings);
}

#[test]
fn auto_selects_nothing_in_an_unknown_cluster() {
    let scenario = Scenario::new("auto");
    check(&scenario, &worker(&empty(), &empty()), "skipped NoGangScheduler", &[]);
    let outcome = scenario.run(&worker(&empty(), &empty()));
    let message = &decision(&outcome).message;
    assert!(message.ends_with("select a mode by its name, or see preview --cluster"), "{message}");
}

#[rstest]
#[case::volcano(json!({"annotations": {"scheduling.k8s.io/group-name": "g"}}), json!({}))]
#[case::coscheduling(json!({"labels": {"scheduling.x-k8s.io/pod-group": "g"}}), json!({}))]
#[case::kueue_group(json!({"labels": {"kueue.x-k8s.io/pod-group-name": "g"}}), json!({}))]
#[case::kueue_managed(json!({"labels": {"kueue.x-k8s.io/managed": "true"}}), json!({}))]
#[case::kueue_workload(json!({"annotations": {"kueue.x-k8s.io/workload": "w"}}), json!({}))]
#[case::kueue_parent(json!({"annotations": {"kueue.x-k8s.io/pod-suspending-parent": "statefulset"}}), json!({}))]
#[case::kueue_pod_set(json!({"labels": {"kueue.x-k8s.io/podset": "main"}}), json!({}))]
#[case::kueue_queue(json!({"labels": {"kueue.x-k8s.io/queue-name": "gpu"}}), json!({}))]
#[case::kueue_topology(json!({"annotations": {"kueue.x-k8s.io/podset-required-topology": "rack"}}), json!({}))]
#[case::kai(json!({"annotations": {"pod-group-name": "g"}}), json!({}))]
#[case::yunikorn(json!({"annotations": {"yunikorn.apache.org/task-group-name": "g"}}), json!({}))]
#[case::another_gang(json!({"annotations": {"gang.scheduling.koordinator.sh/name": "g"}}), json!({}))]
#[case::koordinator_label(json!({"labels": {"pod-group.scheduling.sigs.k8s.io": "g"}}), json!({}))]
#[case::koordinator_name(json!({"labels": {"pod-group.scheduling.sigs.k8s.io/name": "g"}}), json!({}))]
#[case::native(json!({}), json!({"schedulingGroup": {"podGroupName": "g"}}))]
#[case::workload(json!({}), json!({"workloadRef": {"name": "w"}}))]
fn pods_with_a_key_are_left_unchanged(#[case] metadata: Value, #[case] spec: Value) {
    for mode in ["koordinator", "volcano", "native", "yunikorn", "kai", "kueue"] {
        let scenario = Scenario::new(mode).with_facts(serving(true));
        let pod = worker(&metadata, &spec);
        assert_eq!(check(&scenario, &pod, "skipped GangKeyPresent", &[]), pod);
    }
}

#[test]
fn a_key_copied_from_another_job_is_left_unchanged() {
    let scenario = Scenario::new("koordinator");
    let patched = check(&scenario, &worker(&empty(), &empty()), "applied GangJoined", &[]);
    let mut copied = patched.clone();
    copied["metadata"]["ownerReferences"][0]["uid"] = "u2".into();
    let mut successor = Scenario::new("koordinator");
    successor.object["metadata"]["uid"] = "u2".into();
    check(&successor, &copied, "skipped GangKeyPresent", &[]);
}

#[test]
fn gated_pods_and_those_of_other_schedulers_are_left_unchanged() {
    let scenario = Scenario::new("koordinator");
    let gated = worker(&empty(), &json!({"schedulingGates": [{"name": "example.com/quota"}]}));
    check(&scenario, &gated, "skipped SchedulingGated", &[]);
    check(&scenario, &worker(&empty(), &json!({"schedulingGates": []})), "applied GangJoined", &[]);
    for mode in ["koordinator", "native", "kai", "kueue"] {
        let other = worker(&empty(), &json!({"schedulerName": "mine"}));
        check(&Scenario::new(mode), &other, "skipped OtherScheduler", &[]);
    }
    check(&scenario, &worker(&empty(), &json!({"schedulerName": "default-scheduler"})), "applied GangJoined", &[]);
}

#[rstest]
#[case::no_job(json!({"labels": {"app": "web"}, "name": "web"}))]
#[case::deployment(json!({"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "uid": "u", "controller": true}]}))]
#[case::job_without_indexes(json!({"ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "a", "uid": "u", "controller": true}]}))]
fn pods_outside_gangs_are_left_unchanged(#[case] metadata: Value) {
    let pod = json!({"metadata": metadata, "spec": {"containers": [{"name": "a", "image": "i"}]}});
    for mode in ["koordinator", "volcano", "kueue", "auto"] {
        check(&Scenario::new(mode), &pod, "skipped NotInGang", &[]);
    }
}

#[test]
fn a_kind_without_known_sizes_is_skipped() {
    let labels = json!({"HPJob": "a"});
    let pod =
        json!({"metadata": {"name": "a-0", "labels": labels}, "spec": {"containers": [{"name": "a", "image": "i"}]}});
    check(&Scenario::new("koordinator"), &pod, "skipped GangKindUnknown", &[]);
}

#[test]
fn a_pod_that_starts_alone_is_skipped() {
    let mut scenario = Scenario::new("koordinator");
    scenario.object["spec"]["pytorchReplicaSpecs"] = json!({"Worker": {"replicas": 1, "template": {}}});
    check(&scenario, &worker(&empty(), &empty()), "skipped StartsAlone", &[]);
}

/// A preview shows the pod of a role without pods.
#[rstest]
#[case::preview(Some(0), "skipped StartsAlone")]
#[case::pod(None, "refused GangSizeUnknown")]
fn a_role_without_pods_has_no_gang(#[case] replicas: Option<u64>, #[case] expected: &str) {
    let mut scenario = Scenario::new("koordinator");
    let roles = json!({"Master": {"replicas": 2, "template": {}}, "Worker": {"replicas": 0, "template": {}}});
    scenario.object["spec"]["pytorchReplicaSpecs"] = roles;
    let pod = worker(&empty(), &empty());
    let key = WorkloadKey::of(Pod::new(&pod), "team-a").unwrap();
    let workload = GangWorkload::from_object(&key, &scenario.object).unwrap();
    let outcome = scenario.run_in_role(&pod, WorkloadLookup::Read(&workload), replicas);
    let RuleOutcome { outcome: verdict, reason, .. } = decision(&outcome);
    assert_eq!(format!("{} {}", verdict.name(), reason.code()), expected);
}

#[test]
fn an_unknown_size_is_refused() {
    let scenario = Scenario::new("koordinator");
    let pod = worker(&empty(), &empty());
    let outcome = |lookup| {
        let outcome = scenario.run_with(&pod, lookup);
        let RuleOutcome { outcome: verdict, reason, .. } = decision(&outcome);
        (format!("{} {}", verdict.name(), reason.code()), outcome.warnings.join("\n"))
    };
    assert_eq!(outcome(WorkloadLookup::NotRead), ("skipped GangSizeUnknown".to_owned(), String::new()));
    let problem = UnknownGang::Object("no response".to_owned());
    let failed = "gang koordinator not applied: the workload cannot be read: no response";
    assert_eq!(outcome(WorkloadLookup::Failed(&problem)), ("refused GangSizeUnknown".to_owned(), failed.to_owned()));
    let problem = UnknownGang::Conflict("they start in turn");
    let conflict = "gang koordinator not applied: they start in turn";
    assert_eq!(outcome(WorkloadLookup::Failed(&problem)), ("refused GangConflict".to_owned(), conflict.to_owned()));
}

#[test]
fn a_role_that_the_workload_does_not_have_is_refused() {
    let mut scenario = Scenario::new("koordinator");
    scenario.object["spec"]["pytorchReplicaSpecs"] = json!({"Master": {"replicas": 2, "template": {}}});
    check(&scenario, &worker(&empty(), &empty()), "refused GangSizeUnknown", &["the workload has no role worker"]);
}

/// The apiserver calls the webhook again after Istio. What another replica reads may differ.
#[test]
fn a_later_call_keeps_the_marker_of_an_earlier_one() {
    let mut scenario = Scenario::new("native").with_facts(serving(true));
    scenario.labels.insert("istio-injection".to_owned(), "enabled".to_owned());
    let keyed = |spec: &Value| worker(&json!({"annotations": {"trainmesh.dev/applied": "gang=native"}}), spec);
    let named = |name: &str| keyed(&json!({"schedulingGroup": {"podGroupName": name}}));
    let (own, other, without_key) = (named(GANG), named("other-08a42b2f348b"), keyed(&empty()));
    let key = WorkloadKey::of(Pod::new(&own), "team-a").unwrap();
    let workload = GangWorkload::from_object(&key, &scenario.object).unwrap();
    let unreadable = UnknownGang::Object("no response".to_owned());
    let (read, failed) = (WorkloadLookup::Read(&workload), WorkloadLookup::Failed(&unreadable));
    // The rule `mesh.hold` writes the annotation.
    let check = |scenario: &Scenario, pod: &Value, workload: WorkloadLookup<'_>, expected: &str| {
        let mut patched = pod.clone();
        scenario.run_with(pod, workload).patch.apply(&mut patched).unwrap();
        assert_eq!(patched["metadata"]["annotations"]["trainmesh.dev/applied"], expected);
    };
    let (kept, dropped) = ("mesh.hold,gang=native", "mesh.hold");
    check(&scenario, &own, read, kept);
    check(&scenario, &own, failed, kept);
    check(&scenario, &own, WorkloadLookup::NotRead, kept);
    check(&scenario, &other, failed, kept);
    check(&scenario, &other, read, dropped);
    check(&scenario, &without_key, failed, dropped);
    scenario.facts = Some(serving(false));
    check(&scenario, &own, read, kept);
    scenario.labels.insert("trainmesh.dev/gang".to_owned(), "none".to_owned());
    check(&scenario, &own, WorkloadLookup::NotRead, kept);
    scenario.mode = Mode::IstioAux;
    check(&scenario, &own, WorkloadLookup::NotRead, dropped);
}

#[rstest]
#[case::controller_runs(serving(true), "applied GangJoined", &[])]
#[case::object_exists(
    GangFacts {
        groups: HashMap::from([("team-a".to_owned(), BTreeSet::from([(GangMode::Volcano, GANG.to_owned())]))]),
        ..serving(false)
    },
    "applied GangJoined",
    &[]
)]
#[case::object_of_another_mode(
    GangFacts {
        groups: HashMap::from([("team-a".to_owned(), BTreeSet::from([(GangMode::Native, GANG.to_owned())]))]),
        ..serving(false)
    },
    "refused GangControllerMissing",
    &["no controller runs that can create its PodGroup"]
)]
#[case::object_of_another_namespace(
    GangFacts {
        groups: HashMap::from([("team-b".to_owned(), BTreeSet::from([(GangMode::Volcano, GANG.to_owned())]))]),
        ..serving(false)
    },
    "refused GangControllerMissing",
    &["no controller runs that can create its PodGroup"]
)]
#[case::controller_missing(serving(false), "refused GangControllerMissing", &["no controller runs that can create its PodGroup"])]
#[case::nothing_is_announced(GangFacts::default(), "refused GangControllerMissing", &["no controller runs that can create its PodGroup"])]
#[case::api_missing(
    GangFacts { controller_alive: true, ..GangFacts::default() },
    "refused GangApiMissing",
    &["the cluster does not serve its PodGroups, or denies them to the controller"]
)]
#[case::denied_in_the_namespace(
    GangFacts { denied: [(GangMode::Volcano, "team-a".to_owned())].into(), ..serving(true) },
    "refused GangObjectDenied",
    &["a quota or policy of the namespace denies its PodGroup"]
)]
#[case::denied_elsewhere(
    GangFacts {
        denied: [(GangMode::Volcano, "team-b".to_owned()), (GangMode::Native, "team-a".to_owned())].into(),
        ..serving(true)
    },
    "applied GangJoined",
    &[]
)]
fn a_key_needs_its_object(#[case] facts: GangFacts, #[case] expected: &str, #[case] warnings: &[&str]) {
    check(&Scenario::new("volcano").with_facts(facts), &worker(&empty(), &empty()), expected, warnings);
}

#[test]
fn kueue_admits_the_whole_job() {
    let warning = "label the job with a queue, and enable kubeflow.org/pytorchjob";
    check(&Scenario::new("kueue"), &worker(&empty(), &empty()), "skipped GangLeftToKueue", &[warning]);
}

#[test]
fn kueue_may_admit_the_object_that_created_the_job() {
    let labels = json!({"jobset.sigs.k8s.io/jobset-name": "a", "jobset.sigs.k8s.io/jobset-uid": "s1"});
    let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "a-w-0", "uid": "u", "controller": true});
    let pod = json!({"metadata": {"name": "a-w-0-0-x", "labels": labels, "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "a", "image": "i"}]}});
    let outcome = Scenario::new("kueue").run(&pod);
    let expected =
        "enable its integration jobset.x-k8s.io/jobset (for a TrainJob, trainer.kubeflow.org/trainjob), and label";
    assert!(decision(&outcome).message.contains(expected), "{:?}", decision(&outcome));
    let warning = "enable jobset.x-k8s.io/jobset (for a TrainJob, trainer.kubeflow.org/trainjob)";
    assert!(outcome.warnings.iter().any(|found| found.ends_with(warning)), "{:?}", outcome.warnings);
}

#[test]
fn a_job_in_a_queue_needs_only_the_integration() {
    let message = "Kueue admits jobs as a whole, and pods need no key: queue gpu: Kueue needs its integration kubeflow.org/pytorchjob";
    check_queued("kueue", message);
}

#[rstest]
fn a_job_in_a_queue_is_left_to_kueue(
    #[values("koordinator", "volcano", "native", "coscheduling", "yunikorn", "kai")] mode: &str,
) {
    let message = "the pod already has a key of a gang or a queue, which is left unchanged: label kueue.x-k8s.io/queue-name of the job";
    check_queued(mode, message);
}

/// Checks the message about a pod whose job is in a queue of Kueue. It has no warning.
fn check_queued(mode: &str, message: &str) {
    let (scenario, pod) = (Scenario::new(mode), worker(&empty(), &empty()));
    let key = WorkloadKey::of(Pod::new(&pod), "team-a").unwrap();
    let workload = GangWorkload::from_object(&key, &scenario.object).unwrap();
    let workload = WorkloadLookup::Read(&workload);
    let creator = Creator { group: "kubeflow.org", kind: "PyTorchJob", queue: Some("gpu"), has_default_queue: false };
    let gang = GangView {
        facts: None,
        namespace: "team-a",
        workload,
        creator: Some(creator),
        pin: None,
        lacks_controller: false,
    };
    let cluster = ClusterView { gang, ..ClusterView::default() };
    let outcome =
        mutate(&pod, &Snapshot { mode: scenario.mode, cluster, ..snapshot(&scenario.labels, &scenario.config) });
    assert_eq!((decision(&outcome).message.as_str(), outcome.warnings.as_slice()), (message, [].as_slice()));
    assert!(outcome.patch.is_empty(), "{:?}", outcome.patch);
}

/// Returns a pod of a Job with these labels.
fn pod_of_job(labels: &Value) -> Value {
    let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "a", "uid": "u", "controller": true});
    json!({"metadata": {"name": "a-0-x", "labels": labels, "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "a", "image": "i"}]}})
}

const SET: [(&str, &str); 3] = [
    ("jobset.sigs.k8s.io/jobset-name", "set"),
    ("jobset.sigs.k8s.io/jobset-uid", "u"),
    ("jobset.sigs.k8s.io/replicatedjob-name", "node"),
];

#[rstest]
#[case::job(&[], "Job: newer versions read its annotation kai.scheduler/batch-min-member")]
#[case::job_set(
    &SET,
    "JobSet: newer versions read its annotation kai.scheduler/batch-min-member; if it belongs to a TrainJob, select another mode"
)]
#[case::train_job(
    &[SET[0], SET[1], SET[2], ("trainer.kubeflow.org/trainjob-ancestor-step", "trainer")],
    "TrainJob: select another mode"
)]
fn kai_does_not_group_every_kind(#[case] labels: &[(&str, &str)], #[case] message: &str) {
    let index = ("batch.kubernetes.io/job-completion-index", "0");
    let labels: BTreeMap<&str, &str> = labels.iter().copied().chain([index]).collect();
    let pod = pod_of_job(&json!(labels));
    let scenario = Scenario::new("kai");
    check(&scenario, &pod, "skipped NotGroupedByKai", &[]);
    let message = format!("KAI-Scheduler does not group the pods of this kind: {message}");
    assert_eq!(decision(&scenario.run(&pod)).message, message);
}

#[test]
fn the_workload_is_read_only_if_a_rule_needs_it() {
    let config = Configuration::embedded();
    let pod = worker(&empty(), &empty());
    let is_read = |labels: &[(&str, &str)], mode: Mode, config: &Configuration| {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        workload_to_read(Pod::new(&pod), "team-a", mode, &labels, config, None).is_some()
    };
    let mode = |mode| [("trainmesh.dev/gang", mode)];
    for needed in ["koordinator", "yunikorn", "native", "volcano", "coscheduling", "auto"] {
        assert!(is_read(&mode(needed), Mode::Enabled, &config), "{needed}");
    }
    for not_needed in ["none", "kai", "kueue", "unknown"] {
        assert!(!is_read(&mode(not_needed), Mode::Enabled, &config), "{not_needed}");
    }
    assert!(!is_read(&[], Mode::Enabled, &config));
    assert!(!is_read(&mode("koordinator"), Mode::IstioAux, &config));
    let mut off = config.clone();
    off.gang.enabled = false;
    assert!(!is_read(&mode("koordinator"), Mode::Enabled, &off));
}

/// Returns an Indexed Job with this parallelism, and a pod of it, which does not show the number of pods.
fn indexed_job(parallelism: u64) -> (Value, Value) {
    let template = json!({"spec": {"containers": [{"name": "a"}]}});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "uid": "u"},
        "spec": {"parallelism": parallelism, "completions": parallelism, "completionMode": "Indexed", "template": template}});
    let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "a", "uid": "u", "controller": true});
    let labels = json!({"batch.kubernetes.io/job-name": "a", "batch.kubernetes.io/job-completion-index": "0"});
    let pod = json!({"metadata": {"name": "a-0-x", "labels": labels, "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "a", "image": "i"}]}});
    (job, pod)
}

/// Returns a scenario in which only the mode `direct` is selected, for pods of `job`.
fn direct(job: Value) -> Scenario {
    let mut scenario = Scenario::new("none");
    scenario.labels = BTreeMap::from([("istio-injection".to_owned(), "enabled".to_owned())]);
    scenario.config.mesh.traffic = Traffic::Direct;
    scenario.config.mesh.pod_cidrs = vec![Cidr::parse("10.244.0.0/16").unwrap()];
    scenario.object = job;
    scenario
}

#[rstest]
#[case::several_pods(2, "applied TrafficDirect")]
#[case::one_pod(1, "skipped PeersUnknown")]
fn direct_traffic_depends_on_the_size_of_the_job(#[case] parallelism: u64, #[case] expected: &str) {
    let traffic = |outcome: &Outcome| {
        let found = outcome.rules.iter().find(|rule| rule.rule == RuleId::MeshTraffic).unwrap();
        format!("{} {}", found.outcome.name(), found.reason.code())
    };
    let (job, pod) = indexed_job(parallelism);
    let mut scenario = direct(job);
    assert_eq!(traffic(&scenario.run(&pod)), expected);
    assert_eq!(traffic(&scenario.run_with(&pod, WorkloadLookup::NotRead)), "skipped PeersUnknown");
    let unreadable = UnknownGang::Object("no response".to_owned());
    let outcome = scenario.run_with(&pod, WorkloadLookup::Failed(&unreadable));
    assert_eq!(traffic(&outcome), "applied TrafficDirect", "as for other pods of the job, for which it may be read");
    let conflict = UnknownGang::Conflict("they start in turn");
    assert_eq!(traffic(&scenario.run_with(&pod, WorkloadLookup::Failed(&conflict))), "applied TrafficDirect");
    let unknown = UnknownGang::Kind("Job");
    assert_eq!(traffic(&scenario.run_with(&pod, WorkloadLookup::Failed(&unknown))), "skipped PeersUnknown");
    scenario.config.gang.enabled = false;
    assert_eq!(traffic(&scenario.run(&pod)), "skipped PeersUnknown");
}

#[test]
fn the_job_is_read_for_direct_traffic_if_the_pod_does_not_show_its_size() {
    let (job, pod) = indexed_job(2);
    let Scenario { labels, mut config, .. } = direct(job);
    let is_read = |pod: &Value, labels: &BTreeMap<String, String>, config: &Configuration| {
        workload_to_read(Pod::new(pod), "team-a", Mode::Enabled, labels, config, None).is_some()
    };
    assert!(is_read(&pod, &labels, &config));
    let mut shown = pod.clone();
    shown["spec"]["containers"][0]["env"] = json!([{"name": "PET_NNODES", "value": "2"}]);
    assert!(!is_read(&shown, &labels, &config));
    let mut left = pod.clone();
    left["metadata"]["labels"]["trainmesh.dev/mesh-traffic"] = "leave".into();
    assert!(!is_read(&left, &labels, &config));
    config.mesh.traffic = Traffic::Leave;
    assert!(!is_read(&pod, &labels, &config));
    left["metadata"]["labels"]["trainmesh.dev/mesh-traffic"] = "direct".into();
    assert!(is_read(&left, &labels, &config));
    config.mesh.enabled = false;
    assert!(!is_read(&left, &labels, &config));
    config.mesh.enabled = true;
    config.gang.enabled = false;
    assert!(!is_read(&left, &labels, &config));
}
