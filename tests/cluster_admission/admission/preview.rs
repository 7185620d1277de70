//! `trainmesh preview --cluster`: its output compared with what the cluster does.

use trainmesh_testing::cli::{Run, trainmesh};
use trainmesh_testing::cluster::{Namespace, TIMEOUT, eventually};
use trainmesh_testing::pods::{OPTED_IN, pod};
use trainmesh_testing::webhook::Webhook;

/// Explains the pod `train` in `namespace`.
fn explain(namespace: &Namespace) -> String {
    without_notes(|| trainmesh(&["preview", "train", "--cluster", "-n", &namespace.name], ""))
}

fn preview(namespace: &Namespace) -> Run {
    trainmesh(&["preview", "--cluster", "-n", &namespace.name, "-f", "-"], &pod("train").to_string())
}

/// Start of the warning about the name of an installation's webhook configuration: those of these tests have other names.
pub(super) const NOT_REGISTERED: &str = "warning: MutatingWebhookConfiguration 0-trainmesh does not exist";

/// Runs the command until it succeeds without other notes, and returns its output. A busy apiserver may respond too late at first.
fn without_notes(run: impl Fn() -> Run) -> String {
    eventually(TIMEOUT, "the preview is complete", || {
        let run = run();
        let mut notes = run.stderr.lines().filter(|line| !line.starts_with(NOT_REGISTERED));
        if run.code == Some(0) && notes.next().is_none() { Ok(run.stdout) } else { Err(format!("{run:#?}")) }
    })
}

#[test]
fn the_preview_matches_the_cluster() {
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&OPTED_IN);
    let stdout = without_notes(|| preview(&namespace));
    assert!(stdout.contains("mesh.hold           applied HoldAdded"), "{stdout}");
}

#[test]
fn the_preview_reports_that_no_webhook_is_called() {
    // Opted in, but not matched by any of these tests' webhook configurations.
    let namespace = trainmesh_testing::cluster::Cluster::get().namespace(&OPTED_IN);
    let Run { code, stderr, .. } = preview(&namespace);
    assert_eq!(code, Some(0));
    for field in ["proxy.istio.io~1config", "trainmesh.dev~1applied"] {
        assert!(stderr.contains(&format!("{field} is \"")) && stderr.contains("absent in the cluster"), "{stderr}");
    }
}

#[test]
fn the_preview_uses_the_labels_in_the_cluster() {
    let namespace = trainmesh_testing::cluster::Cluster::get().namespace(&[]);
    let stdout = without_notes(|| preview(&namespace));
    assert!(stdout.contains("NamespaceNotOptedIn"), "{stdout}");
}

#[test]
fn pods_that_exist_are_explained() {
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&OPTED_IN);
    let mut created = pod("train");
    created["metadata"]["labels"]["trainmesh.dev/mesh-traffic"] = "off".into();
    let _ = namespace.create(&created).success();
    let stdout = explain(&namespace);
    for part in
        ["applied  RecordedAsApplied", "refused  UnknownTrafficMode", "webhook: handled the pod when it was created"]
    {
        assert!(stdout.contains(part), "{part:?} is missing from {stdout}");
    }
}

#[test]
fn a_missed_pod_is_explained() {
    // Opted in before the pod is created, but not matched by any of these tests' webhook configurations.
    let namespace = trainmesh_testing::cluster::Cluster::get().namespace(&OPTED_IN);
    let _ = namespace.create(&pod("train")).success();
    let stdout = explain(&namespace);
    let cause = "MutatingWebhookConfiguration 0-trainmesh does not exist, so that no new pod is changed either";
    for part in ["skipped  MissedByWebhook", cause] {
        assert!(stdout.contains(part), "{part:?} is missing from {stdout}");
    }
}

#[test]
fn a_pod_that_does_not_exist_is_an_error() {
    let namespace = trainmesh_testing::cluster::Cluster::get().namespace(&OPTED_IN);
    let run = trainmesh(&["preview", "gone", "--cluster", "-n", &namespace.name], "");
    assert_eq!((run.code, run.stderr), (Some(2), format!("error: pod {}/gone not found\n", namespace.name)));
}
