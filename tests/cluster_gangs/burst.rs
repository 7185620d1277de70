//! Two hundred jobs at once, on fake nodes.

use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

use crate::fixture::Fixture;
use crate::scheduler::Scheduler;
use trainmesh_testing::cluster::{Cluster, creates_pod, eventually, list};

const JOBS: usize = 200;
const PODS: u32 = 8;
/// Deadline for all pods: the Job controller creates 20 objects a second.
const DEADLINE: Duration = Duration::from_mins(9);

/// Prints how long after its last pod each `PodGroup` was created.
#[test]
#[ignore = "takes some minutes: `make soak` runs it"]
fn every_pod_of_a_burst_is_placed() {
    let _nodes = FakeNodes::new(8);
    let fixture = Fixture::new(Scheduler::NATIVE, 0);
    let jobs: Vec<Value> = (0..JOBS).map(|index| job(&fixture, &format!("burst-{index}"))).collect();
    fixture.create(&jobs);

    let expected = JOBS * usize::try_from(PODS).unwrap();
    let pods = eventually(DEADLINE, "all pods are placed", || {
        let pods = fixture.namespace.pods("");
        let placed = pods.iter().filter(|pod| pod["spec"]["nodeName"].is_string()).count();
        if placed == expected { Ok(pods) } else { Err(format!("{placed} of {} pods", pods.len())) }
    });
    let named: Vec<&str> = pods.iter().filter_map(|pod| fixture.scheduler.gang_named_by(pod)).collect();
    assert_eq!(named.len(), expected, "every pod names its PodGroup");
    let delays = delays(&fixture);
    assert_eq!(delays.len(), JOBS, "every job has one PodGroup");
    let percentile = |percent: usize| delays[(delays.len() * percent).div_ceil(100) - 1];
    println!(
        "PodGroups after their last pod: p50 {:?}, p99 {:?}, last {:?}",
        percentile(50),
        percentile(99),
        percentile(100)
    );
}

/// Returns the times from the creation of the last pod to that of its `PodGroup`, by the apiserver's audit log, sorted.
fn delays(fixture: &Fixture) -> Vec<Duration> {
    let at = |event: &Value| event["stageTimestamp"].as_str().unwrap().parse::<Timestamp>().unwrap();
    let mut last: BTreeMap<String, Timestamp> = BTreeMap::new();
    for event in fixture.namespace.audit(creates_pod) {
        if let Some(group) = fixture.scheduler.gang_named_by(&event["responseObject"]) {
            last.insert(group.to_owned(), at(&event));
        }
    }
    let creates_group = |event: &Value| {
        event["verb"] == "create"
            && event["objectRef"]["resource"] == "podgroups"
            && event["responseStatus"]["code"] == 201
    };
    let groups = fixture.namespace.audit(creates_group);
    let delay = |event: &Value| {
        let pod = last[event["objectRef"]["name"].as_str().unwrap()];
        Duration::try_from(at(event).duration_since(pod)).unwrap_or_default()
    };
    let mut delays: Vec<Duration> = groups.iter().map(delay).collect();
    delays.sort();
    delays
}

/// Returns a job whose pods run on fake nodes.
fn job(fixture: &Fixture, name: &str) -> Value {
    let mut job = fixture.job(name, PODS);
    job["spec"]["template"]["spec"] = json!({
        "restartPolicy": "Never", "nodeSelector": {"type": "kwok"}, "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "train", "image": "trainmesh.test/busybox:1"}],
    });
    job
}

/// Guard of nodes without kubelet, which are deleted when it is dropped.
struct FakeNodes(Vec<String>);

impl FakeNodes {
    fn new(count: usize) -> Self {
        Cluster::get().start_kwok();
        let names: Vec<String> = (0..count).map(|index| format!("gang-{index}")).collect();
        // Only pods that tolerate the taint are scheduled to it.
        let node = |name: &String| {
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"type": "kwok"}},
                "spec": {"taints": [{"key": "fake", "effect": "NoSchedule"}]}})
        };
        let _ = Cluster::get().apply(&list(names.iter().map(node))).success();
        Self(names)
    }
}

impl Drop for FakeNodes {
    fn drop(&mut self) {
        // An error here must not replace the failure of the test.
        for name in &self.0 {
            let _ = Cluster::get().kubectl(&["delete", "node", name, "--wait=false"], "");
        }
    }
}
