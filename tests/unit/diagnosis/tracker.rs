//! Findings that the controller publishes: once each, and what they cost.

use jiff::{SignedDuration, Timestamp};
use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::{
    ClusterSnapshot, DiagnosisCode, DiagnosisReport, FindingTracker, MAX_TRACKED, PublishedFinding, RelatedObjects,
    Selection, WasteCause, diagnose,
};

use super::objects::{NOW, ago, job_with, main_status, pytorchjob, rank, rank_of, waiting, with};
use RelatedObjects::{Nodes, Workloads};

const NAMESPACE: &str = "team-a";

/// A tracker with the time in seconds after [`NOW`].
struct Tracked {
    tracker: FindingTracker,
}

impl Tracked {
    /// Creates a tracker that has started `seconds` before [`NOW`].
    fn since(seconds: i64) -> Self {
        Self { tracker: FindingTracker::new(at(-seconds)) }
    }

    /// Records a diagnosis and publishes new findings. Returns the changes, and the seconds lost by cause.
    fn record(&mut self, pods: &[Value], seconds: i64) -> (Vec<String>, Vec<(WasteCause, u64)>) {
        let (snapshot, report) = diagnose_at(pods, seconds);
        let changes = self.tracker.record(NAMESPACE, &report, &[]);
        let mut names: Vec<String> = Vec::new();
        for found in &changes.unpublished {
            let pod = PublishedFinding::new(found, &snapshot).unwrap();
            names.push(format!("+ {} {}: {}", found.workload.name, found.code.code(), pod.name));
            self.tracker.mark_published(NAMESPACE, found, pod);
        }
        for (key, PublishedFinding { name, .. }) in &changes.resolved {
            names.push(format!("- {} {}: {name}", key.0.name, key.1.code()));
            self.tracker.mark_resolved(NAMESPACE, key);
        }
        (names, changes.wasted.into_iter().collect())
    }
}

fn at(seconds: i64) -> Timestamp {
    NOW.parse::<Timestamp>().unwrap() + SignedDuration::from_secs(seconds)
}

fn diagnose_at(pods: &[Value], seconds: i64) -> (ClusterSnapshot, DiagnosisReport) {
    let mut snapshot = ClusterSnapshot::default();
    for pod in pods {
        assert!(snapshot.add(pod, NAMESPACE).unwrap());
    }
    let report = diagnose(&snapshot, &Selection::default(), at(seconds));
    (snapshot, report)
}

/// A job of four pods with 8 GPUs each, of which worker-0 does not start.
fn pulls() -> Vec<Value> {
    job_with(4, waiting("ImagePullBackOff", ""))
}

fn healthy() -> Vec<Value> {
    (0..4).map(rank).collect()
}

/// A pod whose main container finished 10 minutes ago, and whose proxy runs.
fn finished() -> Value {
    let status = json!([
        {"name": "pytorch", "restartCount": 0, "state": {"terminated": {"exitCode": 0, "finishedAt": ago(600)}}},
        {"name": "istio-proxy", "restartCount": 0, "state": {"running": {"startedAt": ago(3000)}}}]);
    let mut pod = rank_of("gpt", 0);
    pod["spec"]["containers"].as_array_mut().unwrap().push(json!({"name": "istio-proxy"}));
    pod["spec"]["restartPolicy"] = "Never".into();
    with(pod, json!({"status": {"containerStatuses": status}}))
}

fn mixed() -> Vec<Value> {
    let revision = |text: &str| json!({"metadata": {"annotations": {"trainmesh.dev/fabric-revision": text}}});
    vec![with(rank(0), revision("0123456789ab")), with(rank(1), revision("ba9876543210"))]
}

#[test]
fn a_finding_is_published_once_until_it_is_resolved() {
    let mut tracked = Tracked::since(0);
    let appeared = vec!["+ llama ImagePullFails: llama-worker-0".to_owned()];
    assert_eq!(tracked.record(&pulls(), 0).0, appeared);
    assert_eq!(tracked.record(&pulls(), 60).0, [""; 0]);
    assert_eq!(tracked.record(&healthy(), 120).0, [""; 0], "it may come back");
    assert_eq!(tracked.record(&pulls(), 180).0, [""; 0], "it came back");
    assert_eq!(tracked.record(&healthy(), 479).0, [""; 0]);
    assert_eq!(tracked.record(&healthy(), 480).0, ["- llama ImagePullFails: llama-worker-0"]);
    assert_eq!(tracked.tracker.namespaces().count(), 0, "nothing is kept");
    assert_eq!(tracked.record(&pulls(), 500).0, appeared);
}

#[test]
fn an_unpublished_finding_is_returned_again() {
    let (_, report) = diagnose_at(&pulls(), 0);
    let mut tracker = FindingTracker::new(at(0));
    for _ in 0..2 {
        assert_eq!(tracker.record(NAMESPACE, &report, &[]).unpublished.len(), 1);
    }
    let (_, empty) = diagnose_at(&[], 1000);
    assert!(tracker.record(NAMESPACE, &empty, &[]).resolved.is_empty(), "it was never published");
}

#[test]
fn a_resolution_is_returned_until_it_is_published() {
    let mut tracked = Tracked::since(0);
    tracked.record(&pulls(), 0);
    let (_, healthy) = diagnose_at(&healthy(), 300);
    let resolved = |tracked: &mut Tracked| tracked.tracker.record(NAMESPACE, &healthy, &[]).resolved.len();
    assert_eq!([resolved(&mut tracked), resolved(&mut tracked)], [1, 1]);
    assert_eq!(tracked.record(&pulls(), 301).0, [""; 0], "it came back before its resolution was published");
    assert_eq!(tracked.record(&[], 700).0, ["- llama ImagePullFails: llama-worker-0"]);
    assert_eq!(tracked.tracker.namespaces().count(), 0, "nothing is kept");
}

/// A finding about a node, while the nodes could not be read.
#[test]
fn a_finding_remains_while_its_objects_are_unknown() {
    let mut pods = healthy();
    pods[1]["spec"]["nodeName"] = "node-9".into();
    let node = |name: &str| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
    let nodes = ["node-0", "node-1", "node-2", "node-3"].map(node);
    let mut tracker = FindingTracker::new(at(0));
    let mut record = |objects: &[Value], seconds, unread: &[RelatedObjects]| {
        let (snapshot, report) = diagnose_at(objects, seconds);
        let changes = tracker.record(NAMESPACE, &report, unread);
        let (new, resolved) = (changes.unpublished.len(), changes.resolved.len());
        for found in changes.unpublished {
            tracker.mark_published(NAMESPACE, found, PublishedFinding::new(found, &snapshot).unwrap());
        }
        (new, resolved, tracker.has_findings(NAMESPACE))
    };
    assert_eq!(record(&[&pods[..], &nodes].concat(), 0, &[]), (1, 0, true));
    assert_eq!(record(&pods, 900, &[Nodes]), (0, 0, true));
    assert_eq!(record(&pods, 901, &[RelatedObjects::PodGroups]), (0, 1, false), "other objects prove nothing about it");
}

/// A job is deleted while the nodes cannot be read, and other pods of the namespace are still diagnosed.
#[rstest]
#[case::its_pods_exist(&[0, 1], true)]
#[case::one_pod_exists(&[0], true)]
#[case::deleted(&[], false)]
fn a_finding_of_unknown_objects_ends_with_its_workload(#[case] left: &[usize], #[case] expected: bool) {
    let mut pods = vec![rank(0), rank(1)];
    pods[1]["spec"]["nodeName"] = "node-9".into();
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-0"}});
    let other = rank_of("gpt", 0);
    for is_published in [true, false] {
        let mut tracker = FindingTracker::new(at(0));
        let (snapshot, report) = diagnose_at(&[pods.clone(), vec![other.clone(), node.clone()]].concat(), 0);
        let found = tracker.record(NAMESPACE, &report, &[]).unpublished[0];
        assert_eq!(found.code, DiagnosisCode::NodeNotReporting);
        if is_published {
            tracker.mark_published(NAMESPACE, found, PublishedFinding::new(found, &snapshot).unwrap());
        }
        let left = left.iter().map(|index| pods[*index].clone());
        let (snapshot, report) = diagnose_at(&left.chain([other.clone()]).collect::<Vec<_>>(), 60);
        tracker.forget_deleted(NAMESPACE, &snapshot, &[Nodes]);
        tracker.record(NAMESPACE, &report, &[Nodes]);
        assert_eq!(tracker.has_findings(NAMESPACE), expected, "published: {is_published}");
    }
}

/// Returns the job of [`rank`] with an owner, which its pods do not name.
fn workflow_job() -> Value {
    let owner = json!([{"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "tune", "controller": true}]);
    with(pytorchjob(1), json!({"metadata": {"ownerReferences": owner}}))
}

/// Later, another pod has replaced the one with the event, and `unread` objects cannot be read.
#[rstest]
#[case::replaced(vec![rank(1)], &[Workloads, Nodes], [true, true])]
#[case::replaced_with_its_job(vec![rank(1), workflow_job()], &[Nodes], [true, true])]
#[case::deleted(vec![], &[Workloads, Nodes], [false, false])]
#[case::deleted_beside_others(vec![rank_of("gpt", 0)], &[Workloads, Nodes], [false, true])]
#[case::deleted_beside_others_of_known_owners(vec![rank_of("gpt", 0)], &[Nodes], [false, false])]
fn a_finding_of_unknown_objects_about_an_owner(
    #[case] mut left: Vec<Value>,
    #[case] unread: &[RelatedObjects],
    #[case] expected: [bool; 2],
) {
    let mut pods = vec![rank(0), rank(1)];
    pods[0]["spec"]["nodeName"] = "node-9".into();
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}});
    for object in left.iter_mut().filter(|object| object["kind"] == "Pod") {
        object["metadata"]["uid"] = "new".into();
    }
    for (is_published, expected) in [(true, expected[0]), (false, expected[1])] {
        let mut tracker = FindingTracker::new(at(0));
        let (snapshot, report) = diagnose_at(&[pods.clone(), vec![node.clone(), workflow_job()]].concat(), 0);
        let found = tracker.record(NAMESPACE, &report, &[]).unpublished[0];
        assert_eq!((found.code, found.workload.kind.as_str()), (DiagnosisCode::NodeNotReporting, "Workflow"));
        if is_published {
            tracker.mark_published(NAMESPACE, found, PublishedFinding::new(found, &snapshot).unwrap());
        }
        let (snapshot, report) = diagnose_at(&left, 60);
        tracker.forget_deleted(NAMESPACE, &snapshot, unread);
        tracker.record(NAMESPACE, &report, unread);
        assert_eq!(tracker.has_findings(NAMESPACE), expected, "published: {is_published}");
    }
}

#[test]
fn findings_are_counted_while_they_are_present() {
    let mut tracked = Tracked::since(0);
    let count = |tracked: &Tracked, code| tracked.tracker.counts().get(&code).copied();
    tracked.record(&[pulls(), vec![with(rank_of("gpt", 0), waiting("ErrImagePull", ""))]].concat(), 0);
    assert_eq!(count(&tracked, DiagnosisCode::ImagePullFails), Some(2));
    assert_eq!(count(&tracked, DiagnosisCode::CrashLoop), Some(0), "each code has a series");
    assert_eq!(count(&tracked, DiagnosisCode::RankOnTcp), None, "only logs show it");
    assert!(tracked.tracker.has_findings(NAMESPACE) && !tracked.tracker.has_findings("team-b"));
    tracked.record(&healthy(), 60);
    assert_eq!(count(&tracked, DiagnosisCode::ImagePullFails), Some(0));
    assert!(!tracked.tracker.has_findings(NAMESPACE));
}

/// The first diagnosis after `leads` seconds.
#[rstest]
#[case::peers_wait(pulls(), 9999, &[(WasteCause::PeersWaiting, 32 * 3600)])]
#[case::only_while_this_replica_leads(pulls(), 10, &[(WasteCause::PeersWaiting, 320)])]
#[case::sidecar(vec![finished()], 9999, &[(WasteCause::SidecarRunning, 8 * 600)])]
#[case::fabric(mixed(), 9999, &[(WasteCause::FabricMixed, 16 * 3600)])]
#[case::a_single_pod_shows_it_itself(vec![with(rank(0), waiting("ImagePullBackOff", ""))], 9999, &[])]
#[case::all_pods_fail(
    (0..4).map(|index| with(rank(index), waiting("ImagePullBackOff", ""))).collect(), 9999, &[]
)]
fn causes_of_waste(#[case] pods: Vec<Value>, #[case] leads: i64, #[case] expected: &[(WasteCause, u64)]) {
    assert_eq!(Tracked::since(leads).record(&pods, 0).1, expected);
}

#[test]
fn each_second_is_counted_once() {
    let mut tracked = Tracked::since(10);
    let lost = |seconds: u64| vec![(WasteCause::PeersWaiting, 32 * seconds)];
    assert_eq!(tracked.record(&pulls(), 0).1, lost(10));
    assert_eq!(tracked.record(&pulls(), 60).1, lost(60));
    assert_eq!(tracked.record(&healthy(), 90).1, []);
    // Since the last diagnosis with the finding.
    assert_eq!(tracked.record(&pulls(), 120).1, lost(60));
}

#[test]
fn an_accelerator_counts_for_one_cause() {
    let crash = json!({"terminated": {"exitCode": 1, "finishedAt": ago(60)}});
    let crashes = main_status(
        json!({"restartCount": 9, "lastState": crash, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}),
    );
    let mut pods = pulls();
    pods[2] = with(pods[2].clone(), crashes);
    assert_eq!(Tracked::since(9999).record(&pods, 0).1, [(WasteCause::PeersWaiting, 32 * 3600)]);
}

#[test]
fn causes_have_distinct_names() {
    let names: std::collections::BTreeSet<&str> = WasteCause::ALL.iter().map(|cause| cause.name()).collect();
    assert_eq!(names.len(), WasteCause::ALL.len());
}

/// Returns a diagnosis of `count` jobs that cannot start, whose names start with `prefix`.
fn failures(prefix: &str, count: usize) -> DiagnosisReport {
    let pod = |index| with(rank_of(&format!("{prefix}-{index}"), 0), waiting("ErrImagePull", ""));
    diagnose_at(&(0..count).map(pod).collect::<Vec<Value>>(), 0).1
}

/// Returns the number of new findings of `namespace` that are tracked.
fn track(tracker: &mut FindingTracker, namespace: &str, report: &DiagnosisReport) -> usize {
    tracker.record(namespace, report, &[]).unpublished.len()
}

#[test]
fn the_number_of_findings_is_limited() {
    let mut tracker = FindingTracker::new(at(0));
    let report = failures("job", 1_000);
    for namespace in 0..12 {
        track(&mut tracker, &format!("team-{namespace}"), &report);
    }
    assert_eq!(tracker.counts().values().sum::<usize>(), MAX_TRACKED);
}

/// Other names of jobs, again and again, before the findings about the former ones are resolved.
#[test]
fn a_namespace_with_many_findings_takes_no_place_of_others() {
    let mut tracker = FindingTracker::new(at(0));
    for round in 0..=MAX_TRACKED / 1_000 {
        track(&mut tracker, "hostile", &failures(&format!("job-{round}"), 1_000));
    }
    assert_eq!(track(&mut tracker, "team-a", &failures("job", 3)), 3);
    assert_eq!(track(&mut tracker, "team-b", &failures("job", 1_000)), 1_000);
    assert_eq!(track(&mut tracker, "hostile", &failures("more", 1_000)), 0, "it takes no place of smaller ones");
    assert_eq!(track(&mut tracker, "team-a", &failures("job", 3)), 3, "they are still tracked");
}

/// Each gets the same number, in whatever order they arrive.
#[test]
fn places_are_shared_equally() {
    let mut tracker = FindingTracker::new(at(0));
    let reports: Vec<DiagnosisReport> = (0..8).map(|round| failures(&format!("job-{round}"), 1_000)).collect();
    let count = |namespace| reports.iter().map(|report| track(&mut tracker, namespace, report)).sum::<usize>();
    assert_eq!(["team-a", "team-b"].map(count), [8_000, MAX_TRACKED / 2]);
}

/// Records the findings of `report`, and publishes them, the first ones excepted.
fn publish(tracker: &mut FindingTracker, report: &DiagnosisReport, unpublished: usize) {
    for found in tracker.record("hostile", report, &[]).unpublished.into_iter().skip(unpublished) {
        tracker.mark_published(
            "hostile",
            found,
            PublishedFinding {
                api_version: "v1".into(),
                kind: "Pod",
                name: "pod".into(),
                uid: "uid".into(),
                workload: None,
            },
        );
    }
}

/// Gives all places to findings of one namespace. Those of the last diagnosis, which is returned, exist; one of them has no event.
fn fill(tracker: &mut FindingTracker) -> DiagnosisReport {
    for round in 1..MAX_TRACKED / 1_000 {
        publish(tracker, &failures(&format!("job-{round}"), 1_000), 0);
    }
    let report = failures("job-0", 1_000);
    publish(tracker, &report, 1);
    report
}

#[test]
fn the_finding_that_matters_least_is_dropped() {
    let mut tracker = FindingTracker::new(at(0));
    let report = fill(&mut tracker);
    assert_eq!(track(&mut tracker, "hostile", &report), 1, "it waits for its event");
    assert_eq!(track(&mut tracker, "team-a", &failures("job", 1)), 1);
    assert_eq!(track(&mut tracker, "hostile", &report), 0, "the one without an event was dropped");
    assert_eq!(track(&mut tracker, "team-b", &failures("job", 1)), 1);
    assert_eq!(tracker.counts()[&DiagnosisCode::ImagePullFails], 999 + 2, "the next one had disappeared already");
}

/// A workload whose finding was dropped, and is tracked again.
#[test]
fn a_dropped_finding_is_not_counted_twice() {
    let mut tracker = FindingTracker::new(at(0));
    let lost = |tracker: &mut FindingTracker, namespace: &str, pods: &[Value], seconds: i64| {
        let (_, report) = diagnose_at(pods, seconds);
        tracker.record(namespace, &report, &[]).wasted.get(&WasteCause::PeersWaiting).copied()
    };
    assert_eq!(lost(&mut tracker, "hostile", &pulls(), 60), Some(32 * 60));
    fill(&mut tracker);
    let other = [with(rank_of("job", 0), waiting("ErrImagePull", ""))];
    lost(&mut tracker, "team-a", &other, 60);
    let (_, healthy) = diagnose_at(&[], 400);
    let resolved = tracker.record("hostile", &healthy, &[]).resolved;
    assert!(resolved.iter().all(|(key, _)| key.0.name != "llama"), "it was dropped");
    for (key, _) in &resolved[..100] {
        tracker.mark_resolved("hostile", key);
    }
    assert_eq!(lost(&mut tracker, "hostile", &pulls(), 460), Some(32 * 400), "since it was dropped");
}
