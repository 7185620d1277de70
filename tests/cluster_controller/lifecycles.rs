//! Lifecycles of single pods.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::fixture::Fixture;
use trainmesh_testing::cluster::{KubectlOutput, Namespace, TIMEOUT, eventually};
use trainmesh_testing::controller::{
    ContainerRequest, ContainerState, ObservedPod, PROXY, PodManifest, QUIT_ENVOY, container, container_requests,
    container_requests_by_pod, observe, requests_until_termination, wait_for_event, wait_for_pod,
};

/// Number of proxy restarts, whose back-off the test waits for.
const CRASHES: u64 = 3;

/// A leader that was suspended for no longer still leads: its last renewal is at most this old, and the lease lasts
/// twice as long.
const MAX_SUSPENSION: Duration = Duration::from_secs(5);
/// Time after which a stabilization window may end before the controller is suspended, or the pod deleted.
const MAX_REACTION: Duration = Duration::from_secs(20);
/// Stabilization window of tests that must act while it lasts.
const LONG_WINDOW: &str = "30s";
/// Number of attempts to act in time.
const MAX_ATTEMPTS: usize = 10;

/// A pod and its expected final state.
struct Lifecycle {
    name: &'static str,
    pod: fn(PodManifest) -> PodManifest,
    phase: &'static str,
    /// Restarts of its container `train`, and of the proxy.
    restarts: [u64; 2],
}

const LIFECYCLES: &[Lifecycle] = &[
    Lifecycle {
        name: "a-short-main-container",
        pod: |pod| pod.script("train", "sleep 1"),
        phase: "Succeeded",
        restarts: [0, 0],
    },
    Lifecycle {
        name: "two-failures-then-success",
        pod: |pod| {
            let mut train = container("train", "echo run >>/state/runs; [ $(wc -l </state/runs) = 3 ]");
            train["volumeMounts"] = json!([{"name": "state", "mountPath": "/state"}]);
            pod.restart_policy("OnFailure").container(train).spec("volumes", json!([{"name": "state", "emptyDir": {}}]))
        },
        phase: "Succeeded",
        restarts: [2, 0],
    },
    Lifecycle {
        name: "exits-before-the-proxy-is-ready",
        pod: |pod| pod.proxy_config(&json!({"proxyMetadata": {"TEST_START_DELAY": "10m"}})).script("train", "exit 3"),
        phase: "Failed",
        restarts: [0, 0],
    },
    Lifecycle {
        name: "a-proxy-that-crashes",
        pod: |pod| {
            let proxy = json!({"proxyMetadata": {"TEST_CRASHES": CRASHES.to_string()}});
            pod.restart_policy("OnFailure").proxy_config(&proxy).script("train", "true")
        },
        phase: "Succeeded",
        restarts: [0, CRASHES],
    },
    Lifecycle {
        name: "without-a-service-account-token",
        pod: |pod| pod.spec("automountServiceAccountToken", false.into()).script("train", "true"),
        phase: "Succeeded",
        restarts: [0, 0],
    },
];

#[test]
fn pods_reach_their_final_state() {
    let fixture = Fixture::new();
    for Lifecycle { name, pod, .. } in LIFECYCLES {
        fixture.create(&pod(fixture.group.pod(name)));
    }
    for Lifecycle { name, phase, restarts: [train, proxy], .. } in LIFECYCLES {
        let pod = fixture.wait_finished(name);
        assert_eq!(pod.phase(), *phase, "{pod}");
        if *name == "two-failures-then-success" {
            let requests = requests_until_termination(&fixture.namespace, &pod);
            assert_eq!(requests, [ContainerRequest::proxy(QUIT_ENVOY)], "{pod}");
        }
        assert_eq!([pod.restarts("train"), pod.restarts(PROXY)], [*train, *proxy], "{pod}");
        assert!(pod.proxy_delay(&["train"]).is_some_and(|delay| delay >= SignedDuration::ZERO), "{pod}");
    }
    let requests = container_requests_by_pod(&fixture.namespace);
    // Each instance may get one request for each method; none while the next instance is pending.
    let crashing = &requests["a-proxy-that-crashes"];
    assert!(crashing.len() <= 3 * (usize::try_from(CRASHES).unwrap() + 1), "{crashing:?}");
    assert_eq!(fixture.controller.metric("trainmesh_premature_end_total"), Some(0));
}

#[test]
fn a_debug_container_does_not_keep_a_pod_running() {
    let fixture = Fixture::new();
    fixture.create(&fixture.group.pod("train").script("train", "until [ -e /tmp/end ]; do sleep 0.1; done"));
    wait_for_pod(&fixture.namespace, "train", "its containers run", |pod| {
        pod.state("train") == ContainerState::Running
    });
    let image = "--image=trainmesh.test/busybox:1";
    let debug = ["debug", "train", image, "--image-pull-policy=Never", "-c", "debugger", "--", "sleep", "1h"];
    let _ = fixture.namespace.kubectl(&debug, "").success();
    wait_for_pod(&fixture.namespace, "train", "the debugger runs", |pod| {
        pod.state("debugger") == ContainerState::Running
    });
    finish(&fixture.namespace, "train");
    assert_eq!(fixture.wait_finished("train").phase(), "Succeeded");
}

#[test]
fn a_pod_that_is_being_deleted_gets_no_request() {
    let fixture = Fixture::new();
    let mut names = (0..MAX_ATTEMPTS).map(|attempt| format!("train-{attempt}"));
    let name = names.find(|name| delete_in_window(&fixture, name)).expect("a pod that is deleted in time");
    eventually(TIMEOUT, "the pod is gone", || {
        fixture.namespace.get("pod", &name).map_or(Ok(()), |pod| Err(ObservedPod(pod)))
    });
    assert_eq!(container_requests(&fixture.namespace, &name), []);
}

/// Deletes a pod after its main container has terminated. Returns false if its stabilization window may have ended before.
fn delete_in_window(fixture: &Fixture, name: &str) -> bool {
    // The proxy drains for longer than the rest of the stabilization window; a quit request would cut that short.
    let pod = fixture.group.pod(name).annotation("trainmesh.dev/settle", LONG_WINDOW);
    let drain = json!({"terminationDrainDuration": "45s"});
    let pod = pod.proxy_config(&drain).spec("terminationGracePeriodSeconds", 90.into());
    fixture.create(&pod.script("train", "until [ -e /tmp/end ]; do sleep 0.1; done"));
    wait_for_pod(&fixture.namespace, name, "the proxy is ready", |pod| pod.is_ready(PROXY));
    let start = Instant::now();
    finish(&fixture.namespace, name);
    let _ = fixture.namespace.delete("pod", name).success();
    start.elapsed() < MAX_REACTION
}

#[test]
fn a_pod_that_replaces_another_keeps_its_proxy() {
    // On a busy machine the controller may be suspended for so long that it has lost its lease and exits, as it should.
    let fixture =
        (0..MAX_ATTEMPTS).find_map(|_| replace_pod_while_suspended()).expect("a pod that is replaced in time");
    wait_for_pod(&fixture.namespace, "train", "the new main container runs", |pod| {
        pod.is_ready("train") && pod.is_ready(PROXY)
    });
    fixture.wait_caught_up();
    let pod = observe(&fixture.namespace, "train");
    assert_eq!([pod.state("train"), pod.state(PROXY)], [ContainerState::Running, ContainerState::Running], "{pod}");
    assert_eq!(container_requests(&fixture.namespace, "train"), []);
}

/// Returns a fixture whose controller resumes with a cached pod whose main container has terminated, and which has been
/// replaced by another pod of the same name; `None` if the suspension was too late, or so long that the controller lost its
/// lease.
fn replace_pod_while_suspended() -> Option<Fixture> {
    let fixture = Fixture::with(&json!({"settle": LONG_WINDOW}));
    let pod = |script| fixture.group.pod("train").script("train", script);
    fixture.create(&pod("true"));
    let terminated = wait_for_pod(&fixture.namespace, "train", "the main container has terminated", |pod| {
        pod.terminated_at("train").is_some()
    });
    let reaction = Timestamp::now().duration_since(terminated.terminated_at("train")?);
    fixture.controller.signal("STOP");
    let suspended = Instant::now();
    fixture.namespace.delete_pod_now("train");
    fixture.namespace.create_pod(&pod("sleep 1h").into()).unwrap();
    fixture.controller.signal("CONT");
    let in_time = reaction.unsigned_abs() < MAX_REACTION && suspended.elapsed() < MAX_SUSPENSION;
    in_time.then_some(fixture)
}

#[test]
fn a_proxy_that_terminates_early_is_reported_and_gets_no_request() {
    let fixture = Fixture::new();
    fixture.create(&fixture.group.pod("train").script("train", "until [ -e /tmp/end ]; do sleep 0.1; done"));
    wait_for_pod(&fixture.namespace, "train", "the proxy is ready", |pod| pod.is_ready(PROXY));
    exec_to_exit(&fixture.namespace, "train", PROXY, &["pilot-agent", "request", "POST", "quitquitquit"]);
    let event = wait_for_event(&fixture.namespace, "train", "ProxyDiedEarly");
    assert!(event.warning, "{event:?}");
    finish(&fixture.namespace, "train");
    assert_eq!(fixture.wait_finished("train").phase(), "Succeeded");
    assert_eq!(container_requests(&fixture.namespace, "train"), []);
}

/// Makes the container that waits for this exit.
fn finish(namespace: &Namespace, pod: &str) {
    exec_to_exit(namespace, pod, "train", &["touch", "/tmp/end"]);
}

/// Runs a command until its own container exits, which kills a command that has not ended yet.
fn exec_to_exit(namespace: &Namespace, pod: &str, container: &str, command: &[&str]) {
    let mut output = None;
    eventually(TIMEOUT, &format!("{container} of {pod} exits"), || {
        if observe(namespace, pod).terminated_at(container).is_some() {
            return Ok(());
        }
        if !output.as_ref().is_some_and(|output: &KubectlOutput| output.status.success()) {
            output = Some(namespace.kubectl(&[&["exec", pod, "-c", container, "--"], command].concat(), ""));
        }
        Err(format!("{output:?}"))
    });
}
