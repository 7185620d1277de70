//! The ways to end a proxy, one after the other: what was asked of it, as the apiserver's audit log has it.

use serde_json::{Value, json};

use crate::world::World;
use trainmesh_testing::cluster::{PATIENCE, eventually};
use trainmesh_testing::controller::{ADMIN, Asked, PROXY, STATUS, State, asked, asked_of_all};

/// Ends when the proxy is ready.
const AFTER_THE_PROXY: &str = "until wget -qO- http://127.0.0.1:15021/healthz/ready; do sleep 0.2; done";

/// The same of a proxy without Envoy: its agent alone listens.
const AFTER_THE_AGENT: &str = "until wget -qO- http://127.0.0.1:15020/healthz/ready; do sleep 0.2; done; \
    ! wget -qO- http://127.0.0.1:15021/healthz/ready";

/// A proxy, and what is asked of it until it ends. Repeated tries of one way count once.
struct Way {
    name: &'static str,
    payload: &'static str,
    proxy: fn() -> Value,
    annotations: &'static [(&'static str, &'static str)],
    asked: fn() -> Vec<Asked>,
}

const WAYS: &[Way] = &[
    Way {
        name: "as-usual",
        payload: AFTER_THE_PROXY,
        proxy: || json!({}),
        annotations: &[],
        asked: || vec![Asked::proxy(ADMIN)],
    },
    Way {
        name: "admin-port-elsewhere",
        payload: AFTER_THE_PROXY,
        proxy: || json!({"proxyAdminPort": 15099}),
        annotations: &[],
        asked: || vec![Asked::proxy(ADMIN), Asked::proxy(STATUS)],
    },
    Way {
        name: "admin-port-not-yet-open",
        payload: "true",
        proxy: || json!({"proxyMetadata": {"TEST_START_DELAY": "10m"}}),
        annotations: &[],
        asked: || vec![Asked::proxy(ADMIN), Asked::proxy(STATUS)],
    },
    Way {
        // `pilot-agent request` knows a few ports alone.
        name: "both-ports-elsewhere",
        payload: AFTER_THE_PROXY,
        proxy: || json!({"proxyAdminPort": 15099, "statusPort": 15025}),
        annotations: &[],
        asked: || vec![Asked::proxy(ADMIN), Asked::PortForward],
    },
    Way {
        name: "both-ports-elsewhere-by-annotation",
        payload: AFTER_THE_PROXY,
        proxy: || json!({"proxyAdminPort": 15099}),
        annotations: &[("status.sidecar.istio.io/port", "15025")],
        asked: || vec![Asked::proxy(ADMIN), Asked::PortForward],
    },
    Way {
        name: "no-pilot-agent",
        payload: AFTER_THE_PROXY,
        proxy: || json!({"proxyMetadata": {"PATH": "/nowhere"}}),
        annotations: &[],
        asked: || vec![Asked::proxy(ADMIN), Asked::proxy(STATUS), Asked::PortForward],
    },
    Way {
        name: "an-exec-that-hangs",
        payload: AFTER_THE_PROXY,
        proxy: || json!({"proxyMetadata": {"TEST_HANG_REQUEST": "15000"}}),
        annotations: &[],
        asked: || vec![Asked::proxy(ADMIN), Asked::proxy(STATUS)],
    },
    Way {
        name: "no-envoy",
        payload: AFTER_THE_AGENT,
        proxy: || json!({}),
        annotations: &[("inject.istio.io/templates", "grpc-agent")],
        asked: || vec![Asked::proxy(STATUS)],
    },
];

#[test]
fn each_way_that_fails_is_followed_by_the_next() {
    let world = World::with(&json!({"portForward": true, "attemptTimeout": "3s"}));
    for Way { name, payload, proxy, annotations, .. } in WAYS {
        let pod = world.group.pod(name).proxy(&proxy()).runs("train", payload);
        world.create(&annotations.iter().fold(pod, |pod, (key, value)| pod.annotation(key, value)));
    }
    for Way { name, .. } in WAYS {
        let seen = world.over(name);
        assert_eq!(seen.phase(), "Succeeded", "{seen}");
        assert!(matches!(seen.state(PROXY), State::Ended { code: 0, .. }), "{seen}");
    }
    let mut all = asked_of_all(&world.namespace);
    for Way { name, asked, .. } in WAYS {
        let mut seen = all.remove(*name).unwrap_or_default();
        seen.dedup();
        assert_eq!(seen, asked(), "{name}");
    }
}

#[test]
fn by_default_no_port_is_forwarded() {
    let world = World::with(&json!({"attemptTimeout": "3s"}));
    let proxy = json!({"proxyAdminPort": 15099, "statusPort": 15025});
    world.create(&world.group.pod("train").proxy(&proxy).runs("train", "true"));
    world.create(
        &world
            .group
            .pod("hangs")
            .proxy(&json!({"proxyMetadata": {"TEST_HANG_REQUEST": "15000"}}))
            .runs("train", "true"),
    );
    eventually(PATIENCE, "the proxy that has moved is asked", || {
        if asked(&world.namespace, "train").is_empty() { Err("it is not") } else { Ok(()) }
    });
    world.over("hangs");
    world.catches_up();
    let mut asked = asked_of_all(&world.namespace).remove("train").unwrap_or_default();
    asked.dedup();
    assert_eq!(asked, [Asked::proxy(ADMIN)]);
}
