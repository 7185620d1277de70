//! Decisions of the rule `checkpoint`. The intervals are those of `trainmesh checkpoint-interval`.

use std::collections::BTreeMap;

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::cluster_facts::ClusterView;
use trainmesh_core::config::Configuration;
use trainmesh_core::gang::{GangView, GangWorkload, UnknownGang, WorkloadKey, WorkloadLookup};
use trainmesh_core::mutate::{Outcome, RuleId, Snapshot, mutate, workload_to_read};
use trainmesh_core::pod::Pod;
use trainmesh_core::scope::Mode;
use trainmesh_testing::snapshot::snapshot;

use super::gang::{job, worker};

const VARIABLE: &str = "TRAINMESH_CHECKPOINT_INTERVAL_SECONDS";
/// Interval for 5 minutes, an MTBF of 264 days and the 4 pods of [`job`], and for one node.
const OF_JOB: &str = "58293";
const OF_NODE: &str = "116786";

/// Returns the annotations of the rule.
fn annotated(write_time: &str, node_mtbf: &str) -> Value {
    json!({"annotations": {"trainmesh.dev/checkpoint-write-time": write_time, "trainmesh.dev/node-mtbf": node_mtbf}})
}

/// Returns a worker of [`job`] with additional fields of its container.
fn pod(metadata: &Value, container: &Value) -> Value {
    let mut pod = worker(metadata, &json!({}));
    let fields = pod["spec"]["containers"][0].as_object_mut().unwrap();
    fields.extend(container.as_object().unwrap().clone());
    pod
}

/// Returns a bare pod, with two containers.
fn bare(metadata: &Value) -> Value {
    let containers = json!([{"name": "a", "image": "i"}, {"name": "fluent-bit", "image": "i"}]);
    json!({"metadata": metadata, "spec": {"restartPolicy": "Never", "containers": containers}})
}

fn run_with(pod: &Value, mode: Mode, workload: WorkloadLookup<'_>) -> Outcome {
    run_configured(pod, mode, workload, &Configuration::embedded())
}

fn run_configured(pod: &Value, mode: Mode, workload: WorkloadLookup<'_>, config: &Configuration) -> Outcome {
    let labels = BTreeMap::new();
    let gang =
        GangView { facts: None, namespace: "team-a", workload, creator: None, pin: None, lacks_controller: false };
    let cluster = ClusterView { gang, ..ClusterView::default() };
    mutate(pod, &Snapshot { mode, cluster, ..snapshot(&labels, config) })
}

fn run(pod: &Value) -> Outcome {
    let workload = WorkloadKey::of(Pod::new(pod), "team-a").map(|key| GangWorkload::from_object(&key, &job()).unwrap());
    run_with(pod, Mode::Enabled, workload.as_ref().map_or(WorkloadLookup::NotRead, WorkloadLookup::Read))
}

/// Returns outcome, reason and message of the rule; `None` if it did not run.
fn decision(outcome: &Outcome) -> Option<String> {
    let rule = outcome.rules.iter().find(|rule| rule.rule == RuleId::Checkpoint)?;
    let text = json!([rule.outcome, rule.reason]);
    Some(format!("{} {}: {}", text[0].as_str()?, text[1].as_str()?, rule.detail().unwrap_or_default()))
}

/// Runs `pod` twice; the second run must not change it. Returns the patched pod.
fn check(pod: &Value, expected: &str, warning: &str) -> Value {
    let outcome = run(pod);
    assert_eq!(decision(&outcome).as_deref(), Some(expected), "{:?}", outcome.rules);
    assert_eq!(outcome.warnings.iter().any(|found| found.contains("checkpoint interval not set")), !warning.is_empty());
    assert!(
        outcome.warnings.iter().any(|found| found.contains(warning)) || warning.is_empty(),
        "{:?}",
        outcome.warnings
    );
    let mut patched = pod.clone();
    outcome.patch.apply(&mut patched).unwrap();
    let again = run(&patched);
    assert!(again.patch.is_empty(), "{}", json!(again.patch));
    patched
}

fn variables(pod: &Value) -> Vec<(&str, &str)> {
    let containers = pod["spec"]["containers"].as_array().unwrap();
    let entries = containers.iter().flat_map(|container| {
        let env = container.get("env").and_then(Value::as_array).into_iter().flatten();
        env.map(move |entry| (container["name"].as_str().unwrap(), entry["value"].as_str().unwrap()))
    });
    entries.collect()
}

#[test]
fn the_interval_is_computed_for_the_ranks_of_the_job() {
    let patched =
        check(&pod(&annotated("5m", "264d"), &json!({})), "applied CheckpointIntervalSet: 58293 s for 4 nodes", "");
    assert_eq!(patched["spec"]["containers"][0]["env"], json!([{"name": VARIABLE, "value": OF_JOB}]));
    let applied = patched["metadata"]["annotations"]["trainmesh.dev/applied"].as_str().unwrap();
    assert!(applied.split(',').any(|entry| entry == "checkpoint"), "{applied}");
}

#[test]
fn sidecars_get_no_variable() {
    let patched = check(&bare(&annotated("5m", "264d")), "applied CheckpointIntervalSet: 116786 s for 1 node", "");
    assert_eq!(variables(&patched), [("a", OF_NODE)]);
}

#[rstest]
#[case::value(json!({"env": [{"name": VARIABLE, "value": "60"}]}), "skipped CheckpointIntervalPresent: ", "")]
#[case::value_from(
    json!({"env": [{"name": VARIABLE, "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}}]}),
    "skipped CheckpointIntervalPresent: ",
    ""
)]
#[case::env_from(
    json!({"envFrom": [{"configMapRef": {"name": "a"}}]}),
    "refused CheckpointVariableUnknown: envFrom of container pytorch",
    "envFrom may set TRAINMESH_CHECKPOINT_INTERVAL_SECONDS"
)]
#[case::sshd(
    json!({"command": ["/usr/sbin/sshd", "-De"]}),
    "refused CheckpointNotInherited: container pytorch",
    "annotate the launcher, and use mpirun -x"
)]
fn variables_of_the_user_are_not_overridden(#[case] container: Value, #[case] expected: &str, #[case] warning: &str) {
    let pod = pod(&annotated("5m", "264d"), &container);
    let patched = check(&pod, expected, warning);
    assert_eq!(patched["spec"], pod["spec"]);
}

const RANGE: &str = "expected a duration from 1m to 36500d";

#[rstest]
#[case::write_time_only(json!({"annotations": {"trainmesh.dev/checkpoint-write-time": "5m"}}), "CheckpointInputMissing: trainmesh.dev/node-mtbf is not set")]
#[case::mtbf_only(json!({"annotations": {"trainmesh.dev/node-mtbf": "5d"}}), "CheckpointInputMissing: trainmesh.dev/checkpoint-write-time is not set")]
#[case::no_duration(
    annotated("soon", "5d"),
    "CheckpointInputInvalid: trainmesh.dev/checkpoint-write-time=soon: expected a duration such as 264d, 36h or 90s"
)]
#[case::zero(
    annotated("0s", "5d"),
    "CheckpointInputInvalid: trainmesh.dev/checkpoint-write-time=0s: expected a duration from 1ms to 1d"
)]
#[case::too_long(
    annotated("86401s", "5d"),
    "CheckpointInputInvalid: trainmesh.dev/checkpoint-write-time=86401s: expected a duration from 1ms to 1d"
)]
#[case::short_mtbf(annotated("5m", "59s"), &format!("CheckpointInputInvalid: trainmesh.dev/node-mtbf=59s: {RANGE}"))]
#[case::long_mtbf(annotated("5m", "36501d"), &format!("CheckpointInputInvalid: trainmesh.dev/node-mtbf=36501d: {RANGE}"))]
#[case::long_text(annotated("5m", &format!("{}d", "0".repeat(32))), "CheckpointInputInvalid: trainmesh.dev/node-mtbf=00000000000000000000000000000000d: expected a duration such as 264d, 36h or 90s")]
#[case::slower_than_failures(
    annotated("5m", "20m"),
    "CheckpointTooSlow: a failure every 300s on 4 nodes, and 300s to write a checkpoint"
)]
fn invalid_inputs_are_refused(#[case] metadata: Value, #[case] expected: &str) {
    let pod = pod(&metadata, &json!({}));
    let patched = check(&pod, &format!("refused {expected}"), "checkpoint interval not set: ");
    assert_eq!(patched["spec"], pod["spec"]);
}

#[test]
fn a_time_of_less_than_a_second_is_not_zero() {
    let pod = pod(&annotated("5m", "60s"), &json!({}));
    let mut object = job();
    object["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 127.into();
    let key = WorkloadKey::of(Pod::new(&pod), "team-a").unwrap();
    let workload = GangWorkload::from_object(&key, &object).unwrap();
    let outcome = run_with(&pod, Mode::Enabled, WorkloadLookup::Read(&workload));
    let expected = "refused CheckpointTooSlow: a failure every <1s on 128 nodes, and 300s to write a checkpoint";
    assert_eq!(decision(&outcome).as_deref(), Some(expected));
}

#[rstest]
#[case::largest_inputs("24h", "36500d", "23286430")]
#[case::smallest_interval("1ms", "60s", "1")]
fn extreme_inputs_are_accepted(#[case] write_time: &str, #[case] node_mtbf: &str, #[case] expected: &str) {
    let outcome = run(&bare(&annotated(write_time, node_mtbf)));
    let found = decision(&outcome).unwrap();
    assert!(found.starts_with(&format!("applied CheckpointIntervalSet: {expected} s")), "{found}");
}

#[test]
fn a_job_of_unknown_size_gets_no_interval() {
    let pod = pod(&annotated("5m", "264d"), &json!({}));
    let problem = UnknownGang::Object("no response".to_owned());
    for (workload, expected) in [
        (WorkloadLookup::NotRead, "the job that owns the pod was not read"),
        (WorkloadLookup::Failed(&problem), "no response"),
    ] {
        let found = decision(&run_with(&pod, Mode::Enabled, workload)).unwrap();
        assert!(found.starts_with("refused CheckpointNodesUnknown: ") && found.contains(expected), "{found}");
    }
}

#[test]
fn a_job_is_not_read_without_gangs() {
    let pod = pod(&annotated("5m", "264d"), &json!({}));
    let mut config = Configuration::embedded();
    config.gang.enabled = false;
    let key = WorkloadKey::of(Pod::new(&pod), "team-a").unwrap();
    let workload = GangWorkload::from_object(&key, &job()).unwrap();
    let outcome = run_configured(&pod, Mode::Enabled, WorkloadLookup::Read(&workload), &config);
    let found = decision(&outcome).unwrap();
    assert_eq!(found, "refused CheckpointNodesUnknown: gang.enabled is false, so that the job is not read");
}

#[test]
fn the_rule_runs_for_pods_with_its_annotations_only() {
    assert_eq!(decision(&run(&pod(&json!({}), &json!({})))), None);
    let annotated = pod(&annotated("5m", "264d"), &json!({}));
    let aux = run_with(&annotated, Mode::IstioAux, WorkloadLookup::NotRead);
    assert_eq!(decision(&aux).as_deref(), Some("skipped IstioAuxNamespace: "));
    let mut mirror = annotated;
    mirror["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "a".into();
    assert_eq!(decision(&run(&mirror)).as_deref(), Some("skipped MirrorPod: "));
}

#[rstest]
#[case::both(annotated("5m", "264d"), true)]
#[case::one(json!({"annotations": {"trainmesh.dev/node-mtbf": "5d"}}), false)]
#[case::none(json!({}), false)]
fn the_job_is_read_for_pods_with_both_annotations(#[case] metadata: Value, #[case] expected: bool) {
    let (labels, mut config) = (BTreeMap::new(), Configuration::embedded());
    let pod = pod(&metadata, &json!({}));
    let reads = |config: &Configuration| {
        workload_to_read(Pod::new(&pod), "team-a", Mode::Enabled, &labels, config, None).is_some()
    };
    assert_eq!(reads(&config), expected);
    // Without gangs, the webhook lacks the permission.
    config.gang.enabled = false;
    assert!(!reads(&config));
}

#[test]
fn a_container_whose_variables_are_unknown_is_left_alone_in_both_rounds() {
    let mut pod = bare(&annotated("5m", "264d"));
    pod["spec"]["containers"][1] = json!({"name": "b", "image": "i", "envFrom": [{"configMapRef": {"name": "a"}}]});
    let patched = check(&pod, &format!("applied CheckpointIntervalSet: {OF_NODE} s for 1 node"), "");
    assert_eq!(variables(&patched), [("a", OF_NODE)]);
}
