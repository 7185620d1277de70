//! The previous release: upgrade, rollback, and both versions side by side as during a rollout.

use rstest::rstest;
use serde_json::Value;
use trainmesh_core::objects::FABRIC_CONFIG_MAP;

use crate::continuity::no_pod_is_missed;
use crate::lifecycle::run_job;
use crate::rbac::create_fabric_job_member;
use trainmesh_testing::cluster::{Cluster, TIMEOUT, eventually};
use trainmesh_testing::pods::OPTED_IN;
use trainmesh_testing::release::{Release, Version};

/// Returns the image tags of a component's pods, without duplicates.
fn tags(release: &Release, component: &str) -> Vec<String> {
    let pods = release.pods(component);
    let image = |pod: &Value| pod["spec"]["containers"][0]["image"].as_str().unwrap_or_default().to_owned();
    let mut tags: Vec<String> = pods.iter().map(|pod| image(pod).rsplit(':').next().unwrap().to_owned()).collect();
    tags.sort_unstable();
    tags.dedup();
    tags
}

fn assert_runs(release: &Release, webhook: Version, controller: Version) {
    let found = ["webhook", "controller"].map(|component| tags(release, component));
    assert_eq!(found, [webhook, controller].map(|version| vec![version.tag().to_owned()]));
}

#[test]
#[ignore = "builds the previous release: `make matrix` runs it"]
fn an_upgrade_and_a_rollback_miss_no_pod() {
    Cluster::get().start_mesh();
    let release = Release::start_previous();
    let namespace = Cluster::get().namespace(&OPTED_IN);
    assert_runs(&release, Version::Previous, Version::Previous);
    run_job(&namespace, "before");

    no_pod_is_missed("Helm upgrade from the previous release", || {
        release.upgrade(&[]);
        release.wait_until_rolled_out();
    });
    assert_runs(&release, Version::Tested, Version::Tested);
    run_job(&namespace, "upgraded");

    no_pod_is_missed("Helm rollback to the previous release", || {
        release.roll_back();
        release.wait_until_rolled_out();
    });
    assert_runs(&release, Version::Previous, Version::Previous);
    run_job(&namespace, "rolled-back");
}

/// The Deployment of one component is paused, so that the other one runs with the objects of this release beside it.
#[rstest]
#[case::new_controller("webhook", Version::Previous, Version::Tested)]
#[case::new_webhook("controller", Version::Tested, Version::Previous)]
#[ignore = "builds the previous release: `make matrix` runs it"]
fn consecutive_versions_work_side_by_side(#[case] paused: &str, #[case] webhook: Version, #[case] controller: Version) {
    Cluster::get().start_mesh();
    let release = Release::start_previous();
    let paused = format!("deployment/trainmesh-{paused}");
    let _ = release.namespace.kubectl(&["rollout", "pause", &paused], "").success();
    let what = format!("webhook {}, controller {}", webhook.tag(), controller.tag());
    no_pod_is_missed(&what, || {
        release.upgrade(&[]);
        eventually(TIMEOUT, "the other component is replaced", || {
            let found = ["webhook", "controller"].map(|component| tags(&release, component));
            let expected = [webhook, controller].map(|version| vec![version.tag().to_owned()]);
            if found == expected { Ok(()) } else { Err(format!("{found:?}")) }
        });
    });
    let namespace = Cluster::get().namespace(&OPTED_IN);
    run_job(&namespace, "side-by-side");
    create_fabric_job_member(&namespace);
    eventually(TIMEOUT, "the controller stores the revision that the webhook has applied", || {
        let stored = release.namespace.get("configmap", FABRIC_CONFIG_MAP).ok_or("no ConfigMap")?;
        if stored["data"].as_object().is_some_and(|data| !data.is_empty()) { Ok(()) } else { Err("no revision") }
    });
}
