//! Sidecars: they are not main containers, and terminate before the proxy.

use serde_json::json;

use crate::fixture::Fixture;
use trainmesh_testing::controller::{
    ContainerRequest, ContainerState, PROXY, QUIT_ENVOY, container_requests, requests_until_termination,
    wait_for_event, wait_for_pod,
};

/// Exits some time after the quit request, so that a controller that does not wait would terminate the proxy first.
const SLOW: &str = "until [ -e /tmp/quit ]; do sleep 0.1; done; sleep 4";
/// A server on this port that exits after its first request.
const SERVER: &str =
    "printf 'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nOK' | nc -l -p 9091 >/tmp/call";

#[test]
fn sidecars_terminate_before_the_proxy() {
    let fixture =
        Fixture::with(&json!({"portForward": true, "helpers": [{"name": "logger", "exec": ["touch", "/tmp/quit"]}]}));
    let with_annotation = fixture.group.pod("annotated").annotation("trainmesh.dev/helper-containers", "ship=logger");
    fixture.create(&with_annotation.script("train", "true").script("ship", SLOW));
    fixture.create(&fixture.group.pod("by-its-name").script("train", "true").script("logger", SLOW));
    // Built-in catalog entry: POST to port 9091 on the pod's loopback.
    fixture.create(&fixture.group.pod("built-in").script("train", "sleep 1").script("cloud-sql-proxy", SERVER));
    let native = fixture.group.pod("native").native(true).annotation("trainmesh.dev/helper-containers", "ship=logger");
    fixture.create(&native.label("trainmesh.dev/managed", "true").script("train", "true").script("ship", SLOW));

    for (name, sidecar) in [("annotated", "ship"), ("by-its-name", "logger"), ("built-in", "cloud-sql-proxy")] {
        let pod = fixture.wait_finished(name);
        assert_eq!(pod.phase(), "Succeeded", "{pod}");
        assert!(pod.proxy_delay(&[sidecar]).is_some_and(|delay| !delay.is_negative()), "{pod}");
        wait_for_event(&fixture.namespace, name, "HelperEnded");
    }
    let quit_request = |container: &str| ContainerRequest::Exec {
        container: container.to_owned(),
        command: "touch /tmp/quit".to_owned(),
    };
    assert_eq!(container_requests(&fixture.namespace, "annotated")[0], quit_request("ship"));
    assert_eq!(container_requests(&fixture.namespace, "built-in")[0], ContainerRequest::PortForward);
    // The kubelet terminates a native proxy; the controller still terminates the sidecar.
    assert_eq!(fixture.wait_finished("native").phase(), "Succeeded");
    let mut requests = container_requests(&fixture.namespace, "native");
    requests.dedup();
    assert_eq!(requests, [quit_request("ship")]);
}

/// The order is that of the configuration, not of the pod: a sidecar may need another one until it exits.
#[test]
fn sidecars_terminate_one_at_a_time_in_catalog_order() {
    const ORDER: [&str; 2] = ["reporter", "cache"];
    let sidecars = ORDER.map(|name| json!({"name": name, "exec": ["touch", "/tmp/quit"]}));
    let fixture = Fixture::with(&json!({"helpers": sidecars}));
    fixture.create(&fixture.group.pod("train").script("cache", SLOW).script("train", "true").script("reporter", SLOW));
    let pod = fixture.wait_finished("train");
    let requests = requests_until_termination(&fixture.namespace, &pod);
    let quit_request =
        |name: &str| ContainerRequest::Exec { container: name.to_owned(), command: "touch /tmp/quit".to_owned() };
    assert_eq!(
        requests,
        [quit_request(ORDER[0]), quit_request(ORDER[1]), ContainerRequest::proxy(QUIT_ENVOY)],
        "{pod}"
    );
    let terminations =
        [ORDER[0], ORDER[1], PROXY].map(|name| pod.terminated_at(name).expect("the container has terminated"));
    assert!(terminations[0] < terminations[1] && terminations[1] <= terminations[2], "{pod}");
}

#[test]
fn a_sidecar_without_a_method_is_reported_and_not_waited_for() {
    let fixture = Fixture::new();
    let pod = fixture.group.pod("train").annotation("trainmesh.dev/helper-containers", "ship");
    fixture.create(&pod.script("train", "true").script("ship", "sleep 1h"));
    wait_for_event(&fixture.namespace, "train", "HelperHasNoMethod");
    let pod =
        wait_for_pod(&fixture.namespace, "train", "the proxy has terminated", |pod| pod.terminated_at(PROXY).is_some());
    assert_eq!(pod.state("ship"), ContainerState::Running, "{pod}");
}

/// Process 1 of a shared namespace is the sandbox's: its termination takes down all containers of the pod.
#[test]
fn process_1_of_a_shared_namespace_is_not_signaled() {
    let fixture = Fixture::new();
    let pod = fixture.group.pod("shared").spec("shareProcessNamespace", true.into());
    fixture
        .create(&pod.script("train", "true").script("fluent-bit", "trap 'exit 0' TERM; while true; do sleep 1; done"));
    let event = wait_for_event(&fixture.namespace, "shared", "HelperHasNoMethod");
    assert!(event.note.contains("shareProcessNamespace"), "{event:?}");
    let pod = wait_for_pod(&fixture.namespace, "shared", "the proxy has terminated", |pod| {
        pod.terminated_at(PROXY).is_some()
    });
    assert_eq!((pod.state("fluent-bit"), pod.restarts("fluent-bit")), (ContainerState::Running, 0), "{pod}");
    let commands = container_requests(&fixture.namespace, "shared");
    assert!(commands.iter().all(|request| !format!("{request:?}").contains("kill")), "{commands:?}");
}

#[test]
fn a_sidecar_that_needs_a_port_forward_is_reported_by_default() {
    let fixture = Fixture::new();
    fixture.create(&fixture.group.pod("train").script("train", "true").script("cloud-sql-proxy", "sleep 1h"));
    let event = wait_for_event(&fixture.namespace, "train", "HelperHasNoMethod");
    assert!(event.warning && event.note.contains("termination.portForward"), "{event:?}");
    let pod =
        wait_for_pod(&fixture.namespace, "train", "the proxy has terminated", |pod| pod.terminated_at(PROXY).is_some());
    assert_eq!(pod.state("cloud-sql-proxy"), ContainerState::Running, "{pod}");
}
