//! Termination methods of the proxy in order, observed as requests in the apiserver's audit log.

use serde_json::{Value, json};

use crate::fixture::Fixture;
use trainmesh_testing::cluster::{TIMEOUT, eventually};
use trainmesh_testing::controller::{
    ContainerRequest, ContainerState, PROXY, QUIT_AGENT, QUIT_ENVOY, container_requests, requests_until_termination,
};

/// Exits when the proxy is ready.
const AFTER_THE_PROXY: &str = "until wget -qO- http://127.0.0.1:15021/healthz/ready; do sleep 0.2; done";

/// The same for a proxy without Envoy, where only the agent listens.
const AFTER_THE_AGENT: &str = "until wget -qO- http://127.0.0.1:15020/healthz/ready; do sleep 0.2; done; \
    ! wget -qO- http://127.0.0.1:15021/healthz/ready";

/// Time limit of an attempt, for which a command that hangs is awaited. Others take less on a busy machine, too.
const ATTEMPT_TIMEOUT: &str = "30s";

/// A proxy, and the requests until it terminates. Repeated attempts of one method count once.
struct Case {
    name: &'static str,
    script: &'static str,
    proxy: fn() -> Value,
    annotations: &'static [(&'static str, &'static str)],
    expected: fn() -> Vec<ContainerRequest>,
}

const CASES: &[Case] = &[
    Case {
        name: "default",
        script: AFTER_THE_PROXY,
        proxy: || json!({}),
        annotations: &[],
        expected: || vec![ContainerRequest::proxy(QUIT_ENVOY)],
    },
    Case {
        name: "admin-port-elsewhere",
        script: AFTER_THE_PROXY,
        proxy: || json!({"proxyAdminPort": 15099}),
        annotations: &[],
        expected: || vec![ContainerRequest::proxy(QUIT_ENVOY), ContainerRequest::proxy(QUIT_AGENT)],
    },
    Case {
        name: "admin-port-not-yet-open",
        script: "true",
        proxy: || json!({"proxyMetadata": {"TEST_START_DELAY": "10m"}}),
        annotations: &[],
        expected: || vec![ContainerRequest::proxy(QUIT_ENVOY), ContainerRequest::proxy(QUIT_AGENT)],
    },
    Case {
        // `pilot-agent request` supports only a few ports.
        name: "both-ports-elsewhere",
        script: AFTER_THE_PROXY,
        proxy: || json!({"proxyAdminPort": 15099, "statusPort": 15025}),
        annotations: &[],
        expected: || vec![ContainerRequest::proxy(QUIT_ENVOY), ContainerRequest::PortForward],
    },
    Case {
        name: "both-ports-elsewhere-by-annotation",
        script: AFTER_THE_PROXY,
        proxy: || json!({"proxyAdminPort": 15099}),
        annotations: &[("status.sidecar.istio.io/port", "15025")],
        expected: || vec![ContainerRequest::proxy(QUIT_ENVOY), ContainerRequest::PortForward],
    },
    Case {
        name: "no-pilot-agent",
        script: AFTER_THE_PROXY,
        proxy: || json!({"proxyMetadata": {"PATH": "/nowhere"}}),
        annotations: &[],
        expected: || {
            vec![
                ContainerRequest::proxy(QUIT_ENVOY),
                ContainerRequest::proxy(QUIT_AGENT),
                ContainerRequest::PortForward,
            ]
        },
    },
    Case {
        name: "an-exec-that-hangs",
        script: AFTER_THE_PROXY,
        proxy: || json!({"proxyMetadata": {"TEST_HANG_REQUEST": "15000"}}),
        annotations: &[],
        expected: || vec![ContainerRequest::proxy(QUIT_ENVOY), ContainerRequest::proxy(QUIT_AGENT)],
    },
    Case {
        name: "no-envoy",
        script: AFTER_THE_AGENT,
        proxy: || json!({}),
        annotations: &[("inject.istio.io/templates", "grpc-agent")],
        expected: || vec![ContainerRequest::proxy(QUIT_AGENT)],
    },
];

#[test]
fn a_failed_method_is_followed_by_the_next() {
    let fixture = Fixture::with(&json!({"portForward": true, "attemptTimeout": ATTEMPT_TIMEOUT}));
    for Case { name, script, proxy, annotations, .. } in CASES {
        let pod = fixture.group.pod(name).proxy_config(&proxy()).script("train", script);
        fixture.create(&annotations.iter().fold(pod, |pod, (key, value)| pod.annotation(key, value)));
    }
    for Case { name, expected, .. } in CASES {
        let pod = fixture.wait_finished(name);
        assert_eq!(pod.phase(), "Succeeded", "{pod}");
        assert!(matches!(pod.state(PROXY), ContainerState::Terminated { code: 0, .. }), "{pod}");
        assert_eq!(requests_until_termination(&fixture.namespace, &pod), expected(), "{name}");
    }
}

#[test]
fn no_port_is_forwarded_by_default() {
    let fixture = Fixture::with(&json!({"attemptTimeout": ATTEMPT_TIMEOUT}));
    let proxy = json!({"proxyAdminPort": 15099, "statusPort": 15025});
    fixture.create(&fixture.group.pod("train").proxy_config(&proxy).script("train", "true"));
    fixture.create(
        &fixture
            .group
            .pod("hangs")
            .proxy_config(&json!({"proxyMetadata": {"TEST_HANG_REQUEST": "15000"}}))
            .script("train", "true"),
    );
    eventually(TIMEOUT, "the proxy on other ports gets a request", || {
        if container_requests(&fixture.namespace, "train").is_empty() { Err("no request") } else { Ok(()) }
    });
    fixture.wait_finished("hangs");
    fixture.wait_caught_up();
    let mut requests = container_requests(&fixture.namespace, "train");
    requests.dedup();
    assert_eq!(requests, [ContainerRequest::proxy(QUIT_ENVOY)]);
}
