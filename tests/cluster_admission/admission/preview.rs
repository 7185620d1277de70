//! `trainmesh preview --cluster`: its output compared with what the cluster does.

use trainmesh_testing::cli::trainmesh;
use trainmesh_testing::cluster::Namespace;
use trainmesh_testing::pods::{OPTED_IN, pod};
use trainmesh_testing::webhook::Webhook;

fn preview(namespace: &Namespace) -> (Option<i32>, String, String) {
    let run = trainmesh(&["preview", "--cluster", "-n", &namespace.name, "-f", "-"], &pod("train").to_string());
    (run.code, run.stdout, run.stderr)
}

#[test]
fn the_preview_matches_the_cluster() {
    let webhook = Webhook::start();
    let (code, stdout, stderr) = preview(&webhook.namespace(&OPTED_IN));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(stdout.contains("mesh.hold           applied HoldAdded"), "{stdout}");
}

#[test]
fn the_preview_reports_that_no_webhook_is_called() {
    // Opted in, but not matched by any of these tests' webhook configurations.
    let namespace = trainmesh_testing::cluster::Cluster::get().namespace(&OPTED_IN);
    let (code, _, stderr) = preview(&namespace);
    assert_eq!(code, Some(0));
    for field in ["proxy.istio.io~1config", "trainmesh.dev~1applied"] {
        assert!(stderr.contains(&format!("{field} is \"")) && stderr.contains("absent in the cluster"), "{stderr}");
    }
}

#[test]
fn the_preview_uses_the_labels_in_the_cluster() {
    let namespace = trainmesh_testing::cluster::Cluster::get().namespace(&[]);
    let (code, stdout, stderr) = preview(&namespace);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(stdout.contains("NamespaceNotOptedIn"), "{stdout}");
}
