//! Pods of a job keep the gang mode of its running pods.

use std::collections::BTreeMap;

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::config::Configuration;
use trainmesh_core::gang::mode_pins::ModePins;
use trainmesh_core::gang::{GangId, GangMode, ScheduledPod, UnknownGang, WorkloadLookup};
use trainmesh_core::mutate::workload_to_read;
use trainmesh_core::pod::Pod;
use trainmesh_core::scope::Mode;

use super::{GANG, Scenario, check, decision, empty, serving, worker};

/// Returns the pins of `gang` with a running pod of each of these roles, with or without keys.
fn pins(gang: &str, pods: &[(&str, Option<GangMode>)]) -> ModePins {
    let pod = |(role, mode): &(&str, Option<GangMode>)| ScheduledPod {
        created: 1,
        attempt: 0,
        role: (*role).into(),
        mode: *mode,
    };
    let gang = GangId::new("team-a", gang).unwrap();
    ModePins::default().reconcile(&BTreeMap::from([(gang, pods.iter().map(pod).collect())]), |_| false).0
}

/// Returns a scenario with the mode `selected` of the namespace, and a running master; `-` stands for one without keys.
fn scenario(selected: &str, master: &str) -> Scenario {
    let mut scenario = Scenario::new(selected).with_facts(serving(true));
    scenario.pins = pins("u1", &[("master", GangMode::parse(master))]);
    scenario
}

/// Returns the keys by which a pod names its gang.
fn named_by(pod: &Value) -> Vec<&'static str> {
    let modes = ["native", "volcano", "coscheduling", "koordinator", "yunikorn"];
    let names = |mode: &&str| GangMode::parse(mode).unwrap().gang_named_by(Pod::new(pod)) == Some(GANG);
    modes.into_iter().filter(names).collect()
}

#[rstest]
#[case::unchanged("volcano", "volcano", json!({}), "applied GangJoined", &["volcano"])]
#[case::changed("native", "volcano", json!({}), "applied GangJoined", &["volcano"])]
#[case::removed("none", "volcano", json!({}), "applied GangJoined", &["volcano"])]
#[case::no_longer_known_by_auto("auto", "coscheduling", json!({}), "applied GangJoined", &["coscheduling"])]
#[case::selected_later("koordinator", "-", json!({}), "skipped GangOfSiblings", &[])]
#[case::selected_later_with_objects("native", "-", json!({}), "skipped GangOfSiblings", &[])]
#[case::not_selected("none", "-", json!({}), "skipped GangOptedOut", &[])]
#[case::label_of_the_pod("native", "volcano", json!({"trainmesh.dev/gang": "koordinator"}), "applied GangJoined", &["koordinator"])]
#[case::pod_opts_out("native", "volcano", json!({"trainmesh.dev/gang": "none"}), "skipped GangOptedOut", &[])]
#[case::label_of_the_pod_without_keys("none", "-", json!({"trainmesh.dev/gang": "volcano"}), "applied GangJoined", &["volcano"])]
#[case::kueue("kueue", "-", json!({"kueue.x-k8s.io/queue-name": "q"}), "skipped GangKeyPresent", &[])]
fn running_pods_select_the_mode(
    #[case] selected: &str,
    #[case] master: &str,
    #[case] labels: Value,
    #[case] expected: &str,
    #[case] keys: &[&str],
) {
    let pod = worker(&json!({"labels": labels}), &empty());
    let patched = check(&scenario(selected, master), &pod, expected, &[]);
    assert_eq!(named_by(&patched), keys);
}

/// Returns the pins of the job with this running pod.
fn pins_of(pod: &Value) -> ModePins {
    let pods = ScheduledPod::from_pod(Pod::new(pod), 1).into_iter().collect();
    ModePins::default().reconcile(&BTreeMap::from([(GangId::new("team-a", "u1").unwrap(), pods)]), |_| false).0
}

/// Koordinator would wait for the key of the pod that started alone, and of those that join it.
#[test]
fn pods_that_are_added_to_a_pod_without_keys_get_none() {
    let pod = worker(&empty(), &empty());
    let mut alone = Scenario::new("koordinator");
    alone.object["spec"]["pytorchReplicaSpecs"] = json!({"Worker": {"replicas": 1, "template": {}}});
    let first = check(&alone, &pod, "skipped StartsAlone", &[]);
    assert_eq!(first["metadata"]["labels"]["trainmesh.dev/managed"], "true");
    let mut scaled = Scenario::new("koordinator");
    scaled.pins = pins_of(&first);
    let second = check(&scaled, &pod, "skipped GangOfSiblings", &[]);
    assert_eq!(second["metadata"]["labels"]["trainmesh.dev/managed"], "true");
    scaled.pins = pins_of(&second);
    check(&scaled, &pod, "skipped GangOfSiblings", &[]);
}

/// Pods that get no keys because of their template do not count, so that the others start without them.
#[rstest]
#[case::scheduler_of_no_mode(json!({"spec": {"schedulerName": "mine"}}), "applied GangJoined")]
#[case::scheduler_of_another_mode(json!({"spec": {"schedulerName": "volcano"}}), "applied GangJoined")]
#[case::gates(json!({"spec": {"schedulingGates": [{"name": "a"}]}}), "applied GangJoined")]
#[case::opted_out(json!({"metadata": {"labels": {"trainmesh.dev/inject": "disabled"}}}), "applied GangJoined")]
#[case::key(json!({"metadata": {"annotations": {"pod-group-name": "g"}}}), "applied GangJoined")]
#[case::same_scheduler(json!({"spec": {"schedulerName": "koord-scheduler"}}), "skipped GangOfSiblings")]
fn roles_outside_the_gang_decide_nothing(#[case] template: Value, #[case] expected: &str) {
    let mut scenario = scenario("koordinator", "-");
    json_patch::merge(&mut scenario.object["spec"]["pytorchReplicaSpecs"]["Master"]["template"], &template);
    check(&scenario, &worker(&empty(), &empty()), expected, &[]);
}

/// In other modes, the controller lowers the minimum, or the scheduler stops waiting.
#[rstest]
#[case::objects("volcano", json!({}))]
#[case::task_groups("yunikorn", json!({"yunikorn.apache.org/queue": "root.a"}))]
#[case::label_of_the_pod("none", json!({"trainmesh.dev/gang": "koordinator"}))]
fn other_pods_that_start_alone_are_not_changed(#[case] mode: &str, #[case] labels: Value) {
    let mut scenario = Scenario::new(mode).with_facts(serving(true));
    scenario.object["spec"]["pytorchReplicaSpecs"] = json!({"Worker": {"replicas": 1, "template": {}}});
    let pod = worker(&json!({"labels": labels}), &empty());
    assert_eq!(check(&scenario, &pod, "skipped StartsAlone", &[]), pod);
}

#[test]
fn an_unknown_mode_of_the_namespace_is_still_reported() {
    let warning = "FP045: namespace label trainmesh.dev/gang=nativ: unknown mode: did you mean native?";
    let scenario = scenario("nativ", "koordinator");
    check(&scenario, &worker(&empty(), &empty()), "applied GangJoined", &[warning]);
}

#[test]
fn kueue_needs_no_keys() {
    let outcome = scenario("kueue", "-").run(&worker(&empty(), &empty()));
    assert_eq!(decision(&outcome).reason.code(), "GangLeftToKueue");
}

/// A pod with the key of a scheduler that no longer works would wait for it.
#[test]
fn a_pinned_mode_needs_what_a_selected_one_needs() {
    let pod = worker(&empty(), &empty());
    let warning = "gang volcano not applied: no controller runs";
    let without_controller = scenario("native", "volcano").with_facts(serving(false));
    check(&without_controller, &pod, "refused GangControllerMissing", &[warning]);
    let mut disabled = scenario("native", "volcano");
    disabled.config.gang.enabled = false;
    check(&disabled, &pod, "skipped GangOff", &[]);
    let unreadable = UnknownGang::Object("no response".to_owned());
    let outcome = scenario("native", "volcano").run_with(&pod, WorkloadLookup::Failed(&unreadable));
    assert_eq!(decision(&outcome).reason.code(), "GangSizeUnknown");
}

/// Without a UID, the gang of a job that is created again is still pinned.
#[test]
fn the_advice_depends_on_the_identity_of_the_gang() {
    let message = |scenario: &Scenario, pod: &Value| decision(&scenario.run(pod)).message.clone();
    let found = message(&scenario("native", "-"), &worker(&empty(), &empty()));
    assert!(found.ends_with(": restart the job to place it as a whole"), "{found}");

    let labels = json!({"leaderworkerset.sigs.k8s.io/name": "job", "leaderworkerset.sigs.k8s.io/group-index": "0"});
    let owner =
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "job-0", "uid": "s1", "controller": true});
    let metadata = json!({"name": "job-0-1", "labels": labels, "ownerReferences": [owner]});
    let pod = json!({"metadata": metadata, "spec": {"containers": [{"name": "a", "image": "i"}]}});
    let mut set = scenario("native", "-");
    set.object = json!({
        "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "job", "uid": "u1"},
        "spec": {"leaderWorkerTemplate": {"size": 4, "workerTemplate": {"spec": {"containers": [{"name": "a"}]}}}},
    });
    set.pins = pins("LeaderWorkerSet/job/0", &[("leader", None)]);
    let found = message(&set, &pod);
    assert!(found.ends_with(": to place it as a whole, create the job again 30 seconds after its last pod"), "{found}");
}

#[test]
fn the_job_is_read_for_a_pinned_mode() {
    let (pod, config) = (worker(&empty(), &empty()), Configuration::embedded());
    let is_read = |selected: &str, master: &str, config: &Configuration| {
        let Scenario { labels, pins, .. } = scenario(selected, master);
        let pin = pins.find(Pod::new(&pod), "team-a");
        workload_to_read(Pod::new(&pod), "team-a", Mode::Enabled, &labels, config, pin).is_some()
    };
    assert!(is_read("none", "volcano", &config) && is_read("kai", "volcano", &config));
    assert!(!is_read("none", "-", &config) && !is_read("none", "kai", &config));
    let mut off = config.clone();
    off.gang.enabled = false;
    assert!(!is_read("none", "volcano", &off));
}
