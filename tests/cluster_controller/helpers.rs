//! Helpers: not payload, and ended before the proxy.

use serde_json::json;

use crate::world::World;
use trainmesh_testing::controller::{ADMIN, Asked, PROXY, State, asked, told, watch};

/// Ends some time after it was told to: whoever did not wait for it would end the proxy first.
const SLOW: &str = "until [ -e /tmp/quit ]; do sleep 0.1; done; sleep 4";
/// A server on this port ends after its first call.
const SERVER: &str =
    "printf 'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nOK' | nc -l -p 9091 >/tmp/call";

#[test]
fn helpers_end_before_the_proxy() {
    let world =
        World::with(&json!({"portForward": true, "helpers": [{"name": "logger", "exec": ["touch", "/tmp/quit"]}]}));
    let by_annotation = world.group.pod("annotated").annotation("trainmesh.dev/helper-containers", "ship=logger");
    world.create(&by_annotation.runs("train", "true").runs("ship", SLOW));
    world.create(&world.group.pod("by-its-name").runs("train", "true").runs("logger", SLOW));
    // A built-in entry of the catalogue: POST to port 9091 of the pod's own loopback.
    world.create(&world.group.pod("built-in").runs("train", "sleep 1").runs("cloud-sql-proxy", SERVER));
    let native = world.group.pod("native").native(true).annotation("trainmesh.dev/helper-containers", "ship=logger");
    world.create(&native.label("trainmesh.dev/managed", "true").runs("train", "true").runs("ship", SLOW));

    for (name, helper) in [("annotated", "ship"), ("by-its-name", "logger"), ("built-in", "cloud-sql-proxy")] {
        let seen = world.over(name);
        assert_eq!(seen.phase(), "Succeeded", "{seen}");
        assert!(seen.delay(&[helper]).is_some_and(|delay| !delay.is_negative()), "{seen}");
        told(&world.namespace, name, "HelperEnded");
    }
    let words =
        |container: &str| Asked::Exec { container: container.to_owned(), command: "touch /tmp/quit".to_owned() };
    assert_eq!(asked(&world.namespace, "annotated")[0], words("ship"));
    assert_eq!(asked(&world.namespace, "built-in")[0], Asked::PortForward);
    // The kubelet ends a native proxy; the helper is ours all the same.
    assert_eq!(world.over("native").phase(), "Succeeded");
    assert_eq!(asked(&world.namespace, "native"), [words("ship")]);
}

/// As the configuration lists them, not as the pod does: one may need the other to the end.
#[test]
fn helpers_end_one_after_the_other_in_the_order_of_the_catalogue() {
    const ORDER: [&str; 2] = ["reporter", "cache"];
    let helpers = ORDER.map(|name| json!({"name": name, "exec": ["touch", "/tmp/quit"]}));
    let world = World::with(&json!({"helpers": helpers}));
    world.create(&world.group.pod("train").runs("cache", SLOW).runs("train", "true").runs("reporter", SLOW));
    let seen = world.over("train");
    let mut told = asked(&world.namespace, "train");
    told.dedup();
    let words = |name: &str| Asked::Exec { container: name.to_owned(), command: "touch /tmp/quit".to_owned() };
    assert_eq!(told, [words(ORDER[0]), words(ORDER[1]), Asked::proxy(ADMIN)], "{seen}");
    let ends = [ORDER[0], ORDER[1], PROXY].map(|name| seen.ended(name).expect("it has ended"));
    assert!(ends[0] < ends[1] && ends[1] <= ends[2], "{seen}");
}

#[test]
fn a_helper_without_a_method_is_told_of_and_waited_for_by_nobody() {
    let world = World::new();
    let pod = world.group.pod("train").annotation("trainmesh.dev/helper-containers", "ship");
    world.create(&pod.runs("train", "true").runs("ship", "sleep 1h"));
    told(&world.namespace, "train", "HelperHasNoMethod");
    let seen = watch(&world.namespace, "train", "the proxy has ended", |seen| seen.ended(PROXY).is_some());
    assert_eq!(seen.state("ship"), State::Running, "{seen}");
}

/// Process 1 of a shared namespace is the sandbox's: its end takes all containers of the pod with it.
#[test]
fn process_1_of_a_shared_namespace_is_not_signaled() {
    let world = World::new();
    let pod = world.group.pod("shared").spec("shareProcessNamespace", true.into());
    world.create(&pod.runs("train", "true").runs("fluent-bit", "trap 'exit 0' TERM; while true; do sleep 1; done"));
    let event = told(&world.namespace, "shared", "HelperHasNoMethod");
    assert!(event.note.contains("shareProcessNamespace"), "{event:?}");
    let seen = watch(&world.namespace, "shared", "the proxy has ended", |seen| seen.ended(PROXY).is_some());
    assert_eq!((seen.state("fluent-bit"), seen.restarts("fluent-bit")), (State::Running, 0), "{seen}");
    let commands = asked(&world.namespace, "shared");
    assert!(commands.iter().all(|asked| !format!("{asked:?}").contains("kill")), "{commands:?}");
}

#[test]
fn a_sidecar_that_needs_a_port_forward_is_reported_by_default() {
    let world = World::new();
    world.create(&world.group.pod("train").runs("train", "true").runs("cloud-sql-proxy", "sleep 1h"));
    let event = told(&world.namespace, "train", "HelperHasNoMethod");
    assert!(event.warning && event.note.contains("termination.portForward"), "{event:?}");
    let seen = watch(&world.namespace, "train", "the proxy has ended", |seen| seen.ended(PROXY).is_some());
    assert_eq!(seen.state("cloud-sql-proxy"), State::Running, "{seen}");
}
