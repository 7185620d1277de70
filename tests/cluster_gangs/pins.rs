//! Pods that join or replace others of a job keep its gang mode.

use serde_json::{Value, json};

use crate::fixture::{Fixture, mode_of};
use crate::scheduler::Scheduler;
use trainmesh_core::gang::GangMode;
use trainmesh_core::objects::FABRIC_CONFIG_MAP;
use trainmesh_testing::cluster::{TIMEOUT, eventually};

/// Selects `mode` for the namespace, and waits until the webhook gives pods of new jobs `expected`.
fn select(fixture: &Fixture, mode: &str, expected: Option<GangMode>) {
    fixture.label(&format!("trainmesh.dev/gang={mode}"));
    let job = fixture.create_until(mode, |pod| mode_of(pod) == expected);
    let _ = fixture.namespace.delete("job", &job).success();
}

/// Waits until the modes of the gang that the pods of `job` belong to are stored.
fn wait_pinned(fixture: &Fixture, job: &str) {
    let job = fixture.namespace.get("job", job).expect("the job exists");
    let uid = job["metadata"]["uid"].as_str().expect("a UID");
    eventually(TIMEOUT, "the mode is stored", || {
        let stored = fixture.webhook.config_namespace.get("configmap", FABRIC_CONFIG_MAP).unwrap_or_default();
        let text = stored["data"]["gang-modes.json"].as_str().unwrap_or_default();
        if text.contains(uid) { Ok(()) } else { Err(text.to_owned()) }
    });
}

/// Deletes a pod of `job`, and waits until the Job controller has replaced it.
fn replace_pod(fixture: &Fixture, job: &str) -> Value {
    let before: Vec<Value> = fixture.pods(job).iter().map(|pod| pod["metadata"]["uid"].clone()).collect();
    let pods = fixture.pods(job);
    let name = pods[0]["metadata"]["name"].as_str().expect("a name");
    let _ = fixture.namespace.delete("pod", name).success();
    eventually(TIMEOUT, "the pod is replaced", || {
        let pods = fixture.pods(job);
        let new = pods.iter().find(|pod| !before.contains(&pod["metadata"]["uid"])).cloned();
        new.ok_or_else(|| format!("{} pods", pods.len()))
    })
}

/// Waits until a pod like those of `job` would get `expected`: the webhook reads stored modes from a watch.
fn wait_would_get(fixture: &Fixture, pod: &Value, expected: Option<GangMode>) {
    eventually(TIMEOUT, &format!("a copy gets {expected:?}"), || {
        let found = mode_of_copy(fixture, pod);
        if found == expected { Ok(()) } else { Err(format!("{found:?}")) }
    });
}

/// Returns the mode that the webhook gives a copy of `pod`, which is not stored.
fn mode_of_copy(fixture: &Fixture, pod: &Value) -> Option<GangMode> {
    let mut copy = pod.clone();
    for field in ["uid", "resourceVersion", "creationTimestamp", "annotations"] {
        let _ = copy["metadata"].as_object_mut().expect("metadata").remove(field);
    }
    copy["metadata"]["name"] = json!("copy");
    // Without the keys of the gang.
    for field in ["nodeName", "schedulingGroup"] {
        let _ = copy["spec"].as_object_mut().expect("a spec").remove(field);
    }
    mode_of(&fixture.namespace.create_dry_run(&copy).expect("the pod is valid"))
}

#[test]
fn a_replaced_pod_joins_the_gang_of_its_job() {
    let mut fixture = Fixture::new(Scheduler::NATIVE, 8);
    fixture.create(&[fixture.job("train", 4)]);
    fixture.wait_placed("train", 4);
    let group = fixture.group_name("train");
    wait_pinned(&fixture, "train");

    select(&fixture, "koordinator", Some(GangMode::Koordinator));
    wait_would_get(&fixture, &fixture.pods("train")[0], Some(GangMode::Native));
    assert_eq!(mode_of(&replace_pod(&fixture, "train")), Some(GangMode::Native));
    fixture.wait_placed("train", 4);
    assert_eq!(fixture.group_name("train"), group);

    // A new leader reads what the previous one has stored.
    fixture.replace_controller();
    select(&fixture, "none", None);
    assert_eq!(mode_of(&replace_pod(&fixture, "train")), Some(GangMode::Native));
    fixture.wait_placed("train", 4);
    assert_eq!(fixture.group_name("train"), group);
}

/// Koordinator would wait for the key of the pod that started alone.
#[test]
fn pods_that_are_added_to_a_job_of_one_pod_get_no_keys() {
    let fixture = Fixture::with_mode(GangMode::Koordinator, 8);
    fixture.create(&[fixture.job("train", 1)]);
    fixture.wait_placed("train", 1);
    wait_pinned(&fixture, "train");
    fixture.patch("train", &json!({"spec": {"parallelism": 4, "completions": 4}}));
    fixture.wait_placed("train", 4);
    assert!(fixture.pods("train").iter().all(|pod| mode_of(pod).is_none()));
    // The pod that started alone may end before the others.
    assert_eq!(mode_of(&replace_pod(&fixture, "train")), None);
    fixture.wait_placed("train", 4);
}

/// A scheduler would wait for the keys of the pods that were created without one.
#[test]
fn a_replaced_pod_of_a_job_without_gang_gets_no_keys() {
    // No pod names a queue, so that the webhook writes no keys.
    let fixture = Fixture::with_mode(GangMode::Yunikorn, 8);
    fixture.create(&[fixture.job("train", 4)]);
    fixture.wait_placed("train", 4);
    assert!(fixture.pods("train").iter().all(|pod| mode_of(pod).is_none()));
    wait_pinned(&fixture, "train");

    select(&fixture, "koordinator", Some(GangMode::Koordinator));
    wait_would_get(&fixture, &fixture.pods("train")[0], None);
    assert_eq!(mode_of(&replace_pod(&fixture, "train")), None);
    fixture.wait_placed("train", 4);

    // A while after its last pod, the job is a new one. A restart within that time gets the same keys in every replica.
    let ended = fixture.pods("train")[0].clone();
    fixture.patch("train", &json!({"spec": {"suspend": true}}));
    let _ = fixture.wait_pods("train", 0);
    wait_would_get(&fixture, &ended, Some(GangMode::Koordinator));
    fixture.patch("train", &json!({"spec": {"suspend": false}}));
    let pods = fixture.wait_pods("train", 4);
    let modes: Vec<Option<GangMode>> = pods.iter().map(mode_of).collect();
    assert!(modes.iter().all(|mode| *mode == Some(GangMode::Koordinator)), "{modes:?}");
}
