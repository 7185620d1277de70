//! The controller while the apiserver or the kubelet is down: pods that finish in the meantime are handled afterwards.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::thread;
use std::time::Duration;

use serde_json::json;

use trainmesh_testing::cluster::{Cluster, Namespace, StoppedComponent, TIMEOUT, eventually};
use trainmesh_testing::controller::{
    ContainerState, Group, OPTED_IN, ObservedPod, PROXY, container, container_requests, wait_for_pod,
};

/// Enough for thirty attempts without back-off.
const OUTAGE: Duration = Duration::from_secs(30);
/// Exits when the proxy is ready.
const AFTER_THE_PROXY: &str = "until wget -qO- http://127.0.0.1:15021/healthz/ready; do sleep 0.2; done";

/// Creates a pod whose main container exits while the apiserver is down.
fn exit_during_outage(group: &Group, namespace: &Namespace) -> StoppedComponent {
    // The test and the container communicate by files on the node.
    let shared = tempfile::tempdir().unwrap();
    fs::set_permissions(shared.path(), Permissions::from_mode(0o777)).unwrap();
    let mut train = container("train", "until [ -e /shared/end ]; do sleep 0.1; done; touch /shared/ended");
    train["volumeMounts"] = json!([{"name": "shared", "mountPath": "/shared"}]);
    let volumes = json!([{"name": "shared", "hostPath": {"path": shared.path(), "type": "Directory"}}]);
    let _ = namespace.create(&group.pod("train").container(train).spec("volumes", volumes)).success();
    wait_for_pod(namespace, "train", "the main container runs", |pod| pod.state("train") == ContainerState::Running);
    let stopped = Cluster::get().stop("apiserver");
    fs::write(shared.path().join("end"), "").unwrap();
    eventually(TIMEOUT, "the main container exits", || {
        if shared.path().join("ended").exists() { Ok(()) } else { Err("running") }
    });
    stopped
}

fn wait_finished(namespace: &Namespace) {
    assert_eq!(wait_for_pod(namespace, "train", "finished", ObservedPod::is_finished).phase(), "Succeeded");
}

#[test]
fn a_restart_of_the_apiserver_loses_no_termination() {
    let group = Group::new();
    let controller = group.start();
    controller.wait_for_leadership();
    let namespace = Cluster::get().namespace(&OPTED_IN);
    drop(exit_during_outage(&group, &namespace));
    wait_finished(&namespace);
}

#[test]
fn a_leader_that_cannot_renew_its_lease_exits_and_the_next_one_takes_over() {
    let group = Group::new();
    let mut controller = group.start_once();
    controller.wait_for_leadership();
    let namespace = Cluster::get().namespace(&OPTED_IN);
    let stopped = exit_during_outage(&group, &namespace);
    assert!(!controller.wait_for_exit().success());
    drop(stopped);
    let _next = group.start();
    wait_finished(&namespace);
}

#[test]
fn requests_back_off_while_the_kubelet_is_down_and_succeed_afterwards() {
    let group = Group::new();
    let controller = group.start();
    controller.wait_for_leadership();
    let namespace = Cluster::get().namespace(&OPTED_IN);
    // Long enough to stop the kubelet after it has reported the termination, also on a busy machine.
    let pod = group.pod("train").annotation("trainmesh.dev/settle", "1m").script("train", AFTER_THE_PROXY);
    let _ = namespace.create(&pod).success();
    wait_for_pod(&namespace, "train", "the main container has terminated, and the proxy is ready", |pod| {
        pod.terminated_at("train").is_some() && pod.is_ready(PROXY)
    });
    let stopped = Cluster::get().stop("kubelet");
    assert_eq!(container_requests(&namespace, "train"), []);
    eventually(TIMEOUT, "the controller has sent a request", || {
        if container_requests(&namespace, "train").is_empty() { Err("no request") } else { Ok(()) }
    });
    // The absence of requests can only be observed over time.
    thread::sleep(OUTAGE);
    let requests = container_requests(&namespace, "train");
    assert!((1..=8).contains(&requests.len()), "{requests:?}");
    drop(stopped);
    wait_finished(&namespace);
    assert_eq!(controller.metric("trainmesh_premature_end_total"), Some(0));
}
