//! The controller while the apiserver or the kubelet is away: what ended meanwhile is ended afterwards.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::thread;
use std::time::Duration;

use serde_json::json;

use trainmesh_testing::cluster::{Cluster, Namespace, PATIENCE, Stopped, eventually};
use trainmesh_testing::controller::{Group, PROXY, SERVED, Seen, State, asked, container, see, watch};

/// Time enough for thirty tries, were there no back-off.
const AWAY: Duration = Duration::from_secs(30);

/// A pod whose payload ends while the apiserver is away.
fn ends_unseen(group: &Group, namespace: &Namespace) -> Stopped {
    // The test and the payload tell each other by files on the node.
    let shared = tempfile::tempdir().unwrap();
    fs::set_permissions(shared.path(), Permissions::from_mode(0o777)).unwrap();
    let mut train = container("train", "until [ -e /shared/end ]; do sleep 0.1; done; touch /shared/ended");
    train["volumeMounts"] = json!([{"name": "shared", "mountPath": "/shared"}]);
    let volumes = json!([{"name": "shared", "hostPath": {"path": shared.path(), "type": "Directory"}}]);
    let _ = namespace.create(&group.pod("train").holds(train).spec("volumes", volumes)).success();
    watch(namespace, "train", "the payload runs", |seen| seen.state("train") == State::Running);
    let away = Cluster::get().stop("apiserver");
    fs::write(shared.path().join("end"), "").unwrap();
    eventually(PATIENCE, "the payload has ended", || {
        if shared.path().join("ended").exists() { Ok(()) } else { Err("it runs") }
    });
    away
}

fn over(namespace: &Namespace) {
    assert_eq!(watch(namespace, "train", "over", Seen::over).phase(), "Succeeded");
}

#[test]
fn a_restart_of_the_apiserver_costs_no_end() {
    let group = Group::new();
    let mut controller = group.start();
    controller.led();
    let namespace = Cluster::get().namespace(&SERVED);
    drop(ends_unseen(&group, &namespace));
    let seen = eventually(PATIENCE, "the pod is over", || {
        // Where the restart took so long that the lease was lost, a kubelet would start the controller again.
        if controller.has_ended() {
            controller = group.start();
        }
        let seen = see(&namespace, "train");
        if seen.over() { Ok(seen) } else { Err(seen) }
    });
    assert_eq!(seen.phase(), "Succeeded");
}

#[test]
fn a_leader_that_cannot_renew_its_lease_ends_and_the_next_one_goes_on() {
    let group = Group::new();
    let mut controller = group.start();
    controller.led();
    let namespace = Cluster::get().namespace(&SERVED);
    let away = ends_unseen(&group, &namespace);
    assert!(!controller.ended().success());
    drop(away);
    let _next = group.start();
    over(&namespace);
}

#[test]
fn a_kubelet_that_is_away_is_asked_seldom_and_again_when_it_is_back() {
    let group = Group::new();
    let controller = group.start();
    controller.led();
    let namespace = Cluster::get().namespace(&SERVED);
    // Time enough to stop the kubelet after it has told of the payload's end.
    let pod = group.pod("train").annotation("trainmesh.dev/settle", "10s").runs("train", "true");
    let _ = namespace.create(&pod).success();
    watch(&namespace, "train", "the payload has ended, the proxy is ready", |seen| {
        seen.ended("train").is_some() && seen.ready(PROXY)
    });
    let away = Cluster::get().stop("kubelet");
    assert_eq!(asked(&namespace, "train"), []);
    // What does not happen is told of by nothing but time.
    thread::sleep(AWAY);
    let asked = asked(&namespace, "train");
    assert!((1..=8).contains(&asked.len()), "{asked:?}");
    drop(away);
    over(&namespace);
    assert_eq!(controller.metric("trainmesh_premature_end_total"), Some(0));
}
