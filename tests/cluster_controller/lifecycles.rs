//! Single pods with a story.

use std::time::{Duration, Instant};

use jiff::SignedDuration;
use serde_json::json;

use crate::world::World;
use trainmesh_testing::cluster::{Namespace, PATIENCE, eventually};
use trainmesh_testing::controller::{
    ADMIN, Asked, Manifest, PROXY, Seen, State, asked, asked_of_all, container, see, told, watch,
};

/// Restarts of the proxy whose back-off the pod of a test waits for.
const CRASHES: u64 = 3;

/// Asleep for no longer, a leader still leads: its last renewal was as long ago at most, and counts for twice that.
const STILL_LEADS: Duration = Duration::from_secs(5);
/// How often a pod may start too late.
const TRIES: usize = 10;

/// A pod, and what is true of it in the end.
struct Story {
    name: &'static str,
    pod: fn(Manifest) -> Manifest,
    phase: &'static str,
    /// Of its container `train`, and of the proxy.
    restarts: [u64; 2],
}

const STORIES: &[Story] = &[
    Story {
        name: "a-payload-of-one-second",
        pod: |pod| pod.runs("train", "sleep 1"),
        phase: "Succeeded",
        restarts: [0, 0],
    },
    Story {
        name: "two-failures-then-success",
        pod: |pod| {
            let mut train = container("train", "echo run >>/state/runs; [ $(wc -l </state/runs) = 3 ]");
            train["volumeMounts"] = json!([{"name": "state", "mountPath": "/state"}]);
            pod.policy("OnFailure").holds(train).spec("volumes", json!([{"name": "state", "emptyDir": {}}]))
        },
        phase: "Succeeded",
        restarts: [2, 0],
    },
    Story {
        name: "a-payload-that-ends-before-the-proxy-is-ready",
        pod: |pod| pod.proxy(&json!({"proxyMetadata": {"TEST_START_DELAY": "10m"}})).runs("train", "exit 3"),
        phase: "Failed",
        restarts: [0, 0],
    },
    Story {
        name: "a-proxy-that-crashes",
        pod: |pod| {
            let proxy = json!({"proxyMetadata": {"TEST_CRASHES": CRASHES.to_string()}});
            pod.policy("OnFailure").proxy(&proxy).runs("train", "true")
        },
        phase: "Succeeded",
        restarts: [0, CRASHES],
    },
    Story {
        name: "a-service-account-without-rights",
        pod: |pod| pod.spec("automountServiceAccountToken", false.into()).runs("train", "true"),
        phase: "Succeeded",
        restarts: [0, 0],
    },
];

#[test]
fn pods_with_a_story_come_to_their_end() {
    let world = World::new();
    for Story { name, pod, .. } in STORIES {
        world.create(&pod(world.group.pod(name)));
    }
    for Story { name, phase, restarts: [train, proxy], .. } in STORIES {
        let seen = world.over(name);
        assert_eq!(seen.phase(), *phase, "{seen}");
        assert_eq!([seen.restarts("train"), seen.restarts(PROXY)], [*train, *proxy], "{seen}");
        assert!(seen.delay(&["train"]).is_some_and(|delay| delay >= SignedDuration::ZERO), "{seen}");
    }
    let asked = asked_of_all(&world.namespace);
    // In each of its lives it may be asked in each way once; while it waits for the next one, nobody is there.
    let crashing = &asked["a-proxy-that-crashes"];
    assert!(crashing.len() <= 3 * (usize::try_from(CRASHES).unwrap() + 1), "{crashing:?}");
    assert_eq!(asked["two-failures-then-success"], [Asked::proxy(ADMIN)]);
    assert_eq!(world.controller.metric("trainmesh_premature_end_total"), Some(0));
}

#[test]
fn a_debugger_keeps_no_pod_alive() {
    let world = World::new();
    world.create(&world.group.pod("train").runs("train", "until [ -e /tmp/end ]; do sleep 0.1; done"));
    watch(&world.namespace, "train", "its containers run", |seen| seen.state("train") == State::Running);
    let image = "--image=trainmesh.test/busybox:1";
    let debug = ["debug", "train", image, "--image-pull-policy=Never", "-c", "debugger", "--", "sleep", "1h"];
    let _ = world.namespace.kubectl(&debug, "").success();
    watch(&world.namespace, "train", "the debugger runs", |seen| seen.state("debugger") == State::Running);
    ends(&world.namespace, "train");
    assert_eq!(world.over("train").phase(), "Succeeded");
}

#[test]
fn a_pod_that_is_being_deleted_is_left_to_the_kubelet() {
    let world = World::new();
    // The proxy drains for longer than the rest of the settle window; a quit would cut that short.
    let pod = world.group.pod("train").annotation("trainmesh.dev/settle", "12s");
    let drain = json!({"terminationDrainDuration": "20s"});
    world.create(&pod.proxy(&drain).spec("terminationGracePeriodSeconds", 40.into()).runs("train", "true"));
    watch(&world.namespace, "train", "the payload has ended, the proxy is ready", |seen| {
        seen.ended("train").is_some() && seen.ready(PROXY)
    });
    let _ = world.namespace.delete("pod", "train").success();
    eventually(PATIENCE, "the pod is gone", || {
        world.namespace.get("pod", "train").map_or(Ok(()), |pod| Err(Seen(pod)))
    });
    assert_eq!(asked(&world.namespace, "train"), []);
}

#[test]
fn a_pod_that_takes_the_place_of_another_keeps_its_proxy() {
    // On a busy machine the new pod may start so late that the controller has lost its lease, and ends as it should.
    let world = (0..TRIES).find_map(|_| deaf_while_a_pod_is_replaced()).expect("a pod that starts in time");
    world.catches_up();
    let seen = see(&world.namespace, "train");
    assert_eq!([seen.state("train"), seen.state(PROXY)], [State::Running, State::Running], "{seen}");
    assert_eq!(asked(&world.namespace, "train"), []);
}

/// A world whose controller has just woken up, still knows a pod whose payload has ended, and finds another of that name.
/// `None` where it slept for so long that it is no leader any more.
fn deaf_while_a_pod_is_replaced() -> Option<World> {
    let world = World::with(&json!({"settle": "5s"}));
    let pod = |script| world.group.pod("train").runs("train", script);
    world.create(&pod("true"));
    watch(&world.namespace, "train", "the payload has ended", |seen| seen.ended("train").is_some());
    world.controller.signal("STOP");
    let asleep = Instant::now();
    let _ = world.namespace.kubectl(&["delete", "pod", "train", "--force", "--grace-period=0"], "").success();
    world.create(&pod("sleep 1h"));
    watch(&world.namespace, "train", "the new payload runs", |seen| seen.ready("train") && seen.ready(PROXY));
    world.controller.signal("CONT");
    (asleep.elapsed() < STILL_LEADS).then_some(world)
}

#[test]
fn a_proxy_that_dies_early_is_told_of_and_not_asked() {
    let world = World::new();
    world.create(&world.group.pod("train").runs("train", "until [ -e /tmp/end ]; do sleep 0.1; done"));
    watch(&world.namespace, "train", "the proxy is ready", |seen| seen.ready(PROXY));
    let quit = ["exec", "train", "-c", PROXY, "--", "pilot-agent", "request", "POST", "quitquitquit"];
    let _ = world.namespace.kubectl(&quit, "").success();
    let event = told(&world.namespace, "train", "ProxyDiedEarly");
    assert!(event.warning, "{event:?}");
    ends(&world.namespace, "train");
    assert_eq!(world.over("train").phase(), "Succeeded");
    assert_eq!(asked(&world.namespace, "train"), []);
}

/// Has a container end that waits for this.
fn ends(namespace: &Namespace, pod: &str) {
    let _ = namespace.kubectl(&["exec", pod, "-c", "train", "--", "touch", "/tmp/end"], "").success();
}
