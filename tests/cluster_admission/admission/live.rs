//! `trainmesh preview --cluster`: what is shown, held against what the cluster does.

use trainmesh_testing::cli::trainmesh;
use trainmesh_testing::cluster::Namespace;
use trainmesh_testing::pods::{SERVED, pod};
use trainmesh_testing::webhook::Webhook;

fn preview(namespace: &Namespace) -> (Option<i32>, String, String) {
    let run = trainmesh(&["preview", "--cluster", "-n", &namespace.name, "-f", "-"], &pod("train").to_string());
    (run.code, run.stdout, run.stderr)
}

#[test]
fn the_cluster_agrees_where_the_webhook_is_asked() {
    let webhook = Webhook::start();
    let (code, shown, told) = preview(&webhook.namespace(&SERVED));
    assert_eq!((code, told.as_str()), (Some(0), ""));
    assert!(shown.contains("mesh.hold           applied HoldAdded"), "{shown}");
}

#[test]
fn a_webhook_that_is_not_asked_is_told_of() {
    // Opted in, but no registration of these tests sees it.
    let namespace = trainmesh_testing::cluster::Cluster::get().namespace(&SERVED);
    let (code, _, told) = preview(&namespace);
    assert_eq!(code, Some(0));
    for field in ["proxy.istio.io~1config", "trainmesh.dev~1applied"] {
        assert!(told.contains(&format!("{field} is \"")) && told.contains("nothing in the cluster"), "{told}");
    }
}

#[test]
fn the_labels_are_those_of_the_cluster() {
    let namespace = trainmesh_testing::cluster::Cluster::get().namespace(&[]);
    let (code, shown, told) = preview(&namespace);
    assert_eq!((code, told.as_str()), (Some(0), ""));
    assert!(shown.contains("NamespaceNotOptedIn"), "{shown}");
}
