//! `trainmesh sweep`, without a controller.

use trainmesh_testing::cli::trainmesh;
use trainmesh_testing::cluster::{Cluster, TIMEOUT, eventually};
use trainmesh_testing::controller::{
    ContainerState, Group, OPTED_IN, ObservedPod, PROXY, PodManifest, container_requests_by_pod, observe, wait_for_pod,
};

#[test]
fn hanging_pods_are_listed_with_a_reason_and_terminated_with_apply() {
    let group = Group::new();
    let namespace = Cluster::get().namespace(&OPTED_IN);
    let create = |pod: PodManifest| namespace.create(&pod).success();
    let _ = create(group.pod("hangs").script("train", "exit 3"));
    let _ = create(group.pod("works").script("train", "sleep 1h"));
    let _ = create(group.pod("alone").label("trainmesh.dev/inject", "disabled").script("train", "true"));
    let _ = create(group.pod("native").native(true).script("train", "true"));
    for name in ["hangs", "alone"] {
        wait_for_pod(&namespace, name, "the proxy keeps running", |pod| {
            pod.terminated_at("train").is_some() && pod.is_ready(PROXY)
        });
    }
    wait_for_pod(&namespace, "native", "finished", ObservedPod::is_finished);

    let listed = trainmesh(&["sweep", "-n", &namespace.name], "");
    assert_eq!(listed.code, Some(0));
    // The configuration of these tests is a file of the controller.
    let is_expected = |note: &str| note.starts_with("note: ConfigMap trainmesh-system/trainmesh-config does not exist");
    assert!(listed.stderr.lines().all(is_expected), "{}", listed.stderr);
    let line = |name: &str| listed.stdout.lines().find(|line| line.split_whitespace().any(|word| word == name));
    assert!(line("hangs").is_some_and(|line| line.contains("proxy istio-proxy is still running")), "{}", listed.stdout);
    assert!(line("alone").is_some_and(|line| line.contains("skipped")), "{}", listed.stdout);
    for name in ["works", "native"] {
        assert!(line(name).is_none(), "{name} must not be listed:\n{}", listed.stdout);
    }
    assert!(container_requests_by_pod(&namespace).is_empty(), "listing must not change anything");

    // A busy kubelet may report the termination after the command has stopped waiting.
    eventually(TIMEOUT, "every sidecar is terminated", || {
        let swept = trainmesh(&["sweep", "-n", &namespace.name, "--apply"], "");
        if swept.code == Some(0) { Ok(()) } else { Err(swept.stderr) }
    });
    assert_eq!(wait_for_pod(&namespace, "hangs", "finished", ObservedPod::is_finished).phase(), "Failed");
    assert_eq!(container_requests_by_pod(&namespace).into_keys().collect::<Vec<_>>(), ["hangs"]);
    assert_eq!(observe(&namespace, "alone").state(PROXY), ContainerState::Running);

    let empty = trainmesh(&["sweep", "-n", &namespace.name], "");
    assert_eq!(empty.code, Some(0));
    assert!(empty.stdout.contains("alone") && !empty.stdout.contains("hangs"), "{}", empty.stdout);
}
