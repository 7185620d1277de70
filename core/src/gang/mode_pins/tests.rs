//! Tests of pinned gang modes.

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::gang::{GangWorkload, WorkloadKey};

fn gang(id: &str) -> GangId {
    GangId { namespace: "team-a".to_owned(), id: id.to_owned() }
}

/// Returns a pod with this mode; `-` stands for one without keys.
fn pod(created: i64, attempt: u64, role: &str, mode: &str) -> ScheduledPod {
    ScheduledPod { created, attempt, role: role.into(), mode: GangMode::parse(mode) }
}

/// Returns the pins of gang `a` with these pods, in the order of their creation, on top of `before`.
fn pins(before: &ModePins, pods: &[(u64, &str, &str)]) -> ModePins {
    pins_with(before, pods, |_| false)
}

/// As [`pins`], with gangs that are retained.
fn pins_with(before: &ModePins, pods: &[(u64, &str, &str)], retained: fn(&GangId) -> bool) -> ModePins {
    let pods = pods.iter().zip(1..).map(|((attempt, role, mode), created)| pod(created, *attempt, role, mode));
    before.reconcile(&BTreeMap::from([(gang("a"), pods.collect())]), retained).0
}

/// Returns a worker of gang `a` in this restart attempt of its `JobSet`.
fn worker(attempt: u64, labels: &Value) -> Value {
    let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "a-worker-0", "uid": "j", "controller": true});
    let mut pod = json!({"metadata": {"ownerReferences": [owner], "labels": {
        "jobset.sigs.k8s.io/jobset-name": "a", "jobset.sigs.k8s.io/jobset-uid": "a",
        "jobset.sigs.k8s.io/replicatedjob-name": "worker",
        "jobset.sigs.k8s.io/restart-attempt": attempt.to_string(),
    }}});
    json_patch::merge(&mut pod, &json!({"metadata": {"labels": labels}}));
    pod
}

/// Returns a `JobSet` in which `init` starts before `leader` and `worker`.
fn workload() -> GangWorkload {
    let job = |name: &str, after: &[&str]| {
        let after: Vec<_> = after.iter().map(|name| json!({"name": name, "status": "Complete"})).collect();
        let spec = json!({"parallelism": 2, "completions": 2, "template": {"spec": {"containers": []}}});
        json!({"name": name, "dependsOn": after, "template": {"spec": spec}})
    };
    let jobs = [job("init", &[]), job("leader", &["init"]), job("worker", &["init"])];
    let object = json!({"metadata": {"name": "a", "uid": "u"}, "spec": {"replicatedJobs": jobs}});
    let key = WorkloadKey {
        namespace: "team-a".to_owned(),
        group: "jobset.x-k8s.io",
        version: "v1alpha2",
        kind: "JobSet",
        resource: "jobsets",
        name: "a".to_owned(),
        uid: None,
    };
    GangWorkload::from_object(&key, &object).unwrap()
}

/// Returns what the pods of gang `a` decide about a worker with these `labels` in this attempt. The roles of its stage may be
/// unknown.
fn decided(pins: &ModePins, attempt: u64, labels: &Value, stage_known: bool) -> String {
    let (pod, workload) = (worker(attempt, labels), workload());
    let pod = Pod::new(&pod);
    let gang = workload.gang_of(pod).unwrap();
    let pin = pins.find(pod, "team-a");
    match pin.and_then(|pin| pin.decide(identify(pod).unwrap(), stage_known.then_some(&gang))) {
        None => "nothing".to_owned(),
        Some(PinnedMode::WithoutKeys) => "no keys".to_owned(),
        Some(PinnedMode::Mode(mode)) => mode.to_string(),
    }
}

/// Returns what the pods of gang `a` decide about a worker.
fn decided_now(pins: &ModePins) -> String {
    decided(pins, 0, &json!({}), true)
}

#[rstest]
#[case::no_pod(&[], "nothing", "nothing")]
#[case::same_role(&[(0, "worker", "volcano")], "volcano", "volcano")]
#[case::oldest_pod(&[(0, "worker", "volcano"), (0, "worker", "native")], "volcano", "volcano")]
#[case::without_keys(&[(0, "worker", "-")], "no keys", "no keys")]
#[case::first_without_keys(&[(0, "worker", "-"), (0, "worker", "native")], "no keys", "no keys")]
#[case::role_of_the_gang(&[(0, "leader", "volcano")], "volcano", "volcano")]
#[case::role_of_the_gang_without_keys(&[(0, "leader", "-")], "no keys", "nothing")]
#[case::keys_of_the_gang(&[(0, "worker", "-"), (0, "leader", "kai")], "kai", "no keys")]
#[case::earlier_stage(&[(0, "init", "volcano")], "volcano", "volcano")]
#[case::earlier_stage_without_keys(&[(0, "init", "-")], "nothing", "nothing")]
#[case::another_attempt(&[(1, "worker", "volcano")], "nothing", "nothing")]
fn active_pods_decide_about_others(
    #[case] pods: &[(u64, &str, &str)],
    #[case] expected: &str,
    #[case] if_stage_unknown: &str,
) {
    let pins = pins(&ModePins::default(), pods);
    let decided = |stage_known| decided(&pins, 0, &json!({}), stage_known);
    assert_eq!((&*decided(true), &*decided(false)), (expected, if_stage_unknown));
}

/// The webhook may not have been able to give one of them a key.
#[test]
fn of_pods_of_the_same_age_those_with_keys_decide() {
    let pods = vec![pod(1, 0, "worker", "-"), pod(1, 0, "worker", "volcano"), pod(2, 0, "worker", "native")];
    let (pins, _) = ModePins::default().reconcile(&BTreeMap::from([(gang("a"), pods)]), |_| false);
    assert_eq!(decided_now(&pins), "volcano");
}

#[test]
fn a_mode_is_kept_while_a_pod_has_it() {
    let first = pins(&ModePins::default(), &[(0, "worker", "volcano")]);
    let second = pins(&first, &[(0, "worker", "native"), (0, "worker", "volcano")]);
    assert_eq!(decided_now(&second), "volcano", "another pod is older");
    let third = pins(&second, &[(0, "worker", "native")]);
    assert_eq!(decided_now(&third), "native", "no pod has it any more");
    assert!(third.reconcile(&BTreeMap::new(), |_| false).0.is_empty());
    let restarted = pins(&first, &[(0, "worker", "volcano"), (1, "worker", "native")]);
    assert_eq!(decided(&restarted, 1, &json!({}), true), "native", "a restart selects the mode again");
}

#[test]
fn a_retained_gang_keeps_its_mode() {
    let before = pins(&ModePins::default(), &[(0, "worker", "volcano"), (1, "leader", "-")]);
    let (after, dropped) = before.reconcile(&BTreeMap::new(), |id| *id == gang("a"));
    assert_eq!((&after, dropped), (&before, 0));
    assert_eq!(
        pins_with(&after, &[(0, "worker", "native")], |_| true),
        pins(&after, &[(0, "worker", "native")]),
        "an active gang is not retained"
    );
}

/// Gangs that end must not keep those that start from being pinned.
#[test]
fn active_gangs_take_precedence_over_retained_ones() {
    let (ended, _) = ModePins::default().reconcile(&many(MAX_GANGS_PER_NAMESPACE, 1, 5), |_| false);
    let young = GangId { namespace: "team-0".to_owned(), id: "young".to_owned() };
    let active = BTreeMap::from([(young.clone(), vec![pod(i64::MAX, 0, "worker", "native")])]);
    let (after, dropped) = ended.reconcile(&active, |_| true);
    assert_eq!((dropped, after.gangs.len()), (0, MAX_GANGS_PER_NAMESPACE));
    assert!(after.gangs.contains_key(&(young, 0)));
}

#[test]
fn the_label_of_a_pod_takes_precedence() {
    let pins = pins(&ModePins::default(), &[(0, "worker", "volcano")]);
    assert_eq!(decided_now(&pins), "volcano");
    assert_eq!(decided(&pins, 0, &json!({"trainmesh.dev/gang": "none"}), true), "nothing");
}

#[test]
fn round_trips_through_json() {
    let pods = vec![pod(1, 0, "worker", "volcano"), pod(2, 3, "", "-")];
    let lws = vec![pod(1, 0, "leader", "kai")];
    let active = BTreeMap::from([(gang("u1"), pods), (gang("LeaderWorkerSet/a/3"), lws)]);
    let (pins, dropped) = ModePins::default().reconcile(&active, |_| false);
    assert_eq!(dropped, 0);
    let text = pins.to_json();
    assert_eq!(
        text,
        r#"{"kai":["team-a/0/leader/LeaderWorkerSet/a/3"],"none":["team-a/3//u1"],"volcano":["team-a/0/worker/u1"]}"#
    );
    assert_eq!(ModePins::from_json(&text).unwrap(), pins);
    assert_eq!(ModePins::from_json(&ModePins::default().to_json()).unwrap(), ModePins::default());
}

#[rstest]
#[case::not_json("[")]
#[case::another_form("[]")]
fn other_documents_are_errors(#[case] text: &str) {
    assert!(ModePins::from_json(text).is_err());
}

#[rstest]
#[case::unknown_mode(json!({"future": ["team-a/0/worker/u1"]}))]
#[case::incomplete(json!({"kai": ["team-a/0/worker"]}))]
#[case::invalid_attempt(json!({"kai": ["team-a/x/worker/u1"]}))]
#[case::invalid_role(json!({"kai": ["team-a/0/\u{1}/u1"]}))]
#[case::invalid_namespace(json!({"kai": ["\u{1}/0/worker/u1"]}))]
#[case::invalid_id(json!({"kai": ["team-a/0/worker/\u{1}"]}))]
fn invalid_entries_are_ignored(#[case] text: Value) {
    assert!(ModePins::from_json(&text.to_string()).unwrap().is_empty());
}

/// Returns `count` gangs of one pod, spread over `namespaces`, with IDs of this length.
fn many(count: usize, namespaces: usize, length: usize) -> BTreeMap<GangId, Vec<ScheduledPod>> {
    let gang =
        |number: usize| GangId { namespace: format!("team-{}", number % namespaces), id: format!("{number:0length$}") };
    (0..count).map(|number| (gang(number), vec![pod(i64::try_from(number).unwrap(), 0, "worker", "native")])).collect()
}

#[rstest]
#[case::all(MAX_GANGS + 1, 20, 5, 1)]
#[case::namespace(MAX_GANGS_PER_NAMESPACE + 3, 1, 5, 3)]
fn the_youngest_gangs_beyond_a_limit_are_dropped(
    #[case] count: usize,
    #[case] namespaces: usize,
    #[case] length: usize,
    #[case] expected: usize,
) {
    let active = many(count, namespaces, length);
    let (pins, dropped) = ModePins::default().reconcile(&active, |_| false);
    assert_eq!((dropped, pins.gangs.len()), (expected, count - expected));
    let youngest = active.iter().max_by_key(|(_, pods)| pods[0].created).unwrap().0;
    assert!(!pins.gangs.contains_key(&(youngest.clone(), 0)));
}

#[test]
fn a_new_gang_does_not_evict_a_pinned_one() {
    let mut active = many(MAX_GANGS_PER_NAMESPACE, 1, 5);
    let (before, _) = ModePins::default().reconcile(&active, |_| false);
    let older = GangId { namespace: "team-0".to_owned(), id: "older".to_owned() };
    active.insert(older.clone(), vec![pod(-1, 0, "worker", "native")]);
    let (after, dropped) = before.reconcile(&active, |_| false);
    assert_eq!((dropped, after == before), (1, true));
}

#[test]
fn the_size_of_the_json_is_bounded() {
    let (pins, dropped) = ModePins::default().reconcile(&many(MAX_GANGS, 20, 150), |_| false);
    let size = pins.to_json().len();
    assert!(dropped > 0 && size <= MAX_BYTES && size > MAX_BYTES - 1_000, "{dropped} {size}");
}
