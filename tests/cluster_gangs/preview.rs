//! `trainmesh preview --cluster` of a job that already exists.

use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::scheduler::Scheduler;
use trainmesh_testing::cli::{trainmesh, trainmesh_with};
use trainmesh_testing::cluster::{Cluster, Namespace, list};

/// Returns the preview of an indexed Job as text, and the first result in JSON.
fn preview(fixture: &Fixture, name: &str) -> (String, Value) {
    let manifest = fixture.job(name, 4).to_string();
    let exists = fixture.namespace.get("job", name).is_some();
    let run = |output: &[&str]| {
        let arguments = ["preview", "--cluster", "-n", &fixture.namespace.name, "-f", "-"];
        let run = trainmesh(&[&arguments, output].concat(), &manifest);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        // The webhook does not find a job that does not exist, so that the dry run of its pods differs.
        let differs = run.stderr.contains("in the preview");
        assert_eq!(differs, run.stdout.contains("GangJoined") && !exists, "{}", run.stderr);
        run.stdout
    };
    let json: Value = serde_json::from_str(&run(&["-o", "json"])).expect("valid JSON");
    (run(&[]), json["results"][0].clone())
}

#[test]
fn a_preview_shows_the_job_and_its_groups() {
    let fixture = Fixture::new(Scheduler::NATIVE, 8);
    let (text, new) = preview(&fixture, "train");
    assert!(text.contains("creates PodGroup") && !text.contains("exists"), "{text}");
    assert!(new["cluster"].is_null() && new["objects"].as_array().is_some_and(|objects| objects.len() == 1), "{new}");

    fixture.create(&[fixture.job("train", 4)]);
    fixture.wait_placed("train", 4);
    let group = fixture.group_name("train");
    // As an operator that creates groups does.
    let api = fixture.scheduler.api().expect("the mode has objects").api_version();
    let foreign = json!({"apiVersion": api, "kind": "PodGroup", "metadata": {"name": "train"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}});
    let _ = fixture.namespace.create(&foreign).success();
    let uid = fixture.namespace.get("job", "train").expect("the job exists")["metadata"]["uid"].clone();
    let (text, running) = preview(&fixture, "train");
    assert_eq!(running["objects"][0]["metadata"]["name"], group.as_str(), "the name depends on the UID");
    assert_eq!(running["pod"]["spec"]["schedulingGroup"]["podGroupName"], group.as_str());
    assert_eq!(
        running["cluster"],
        json!({
            "workloads": [{"kind": "Job", "name": "train", "uid": uid, "restarts": 0, "state": "active", "pods": 4}],
            "podGroups": [
                {"apiVersion": api, "name": group, "managed": true, "deleting": false, "minimum": 4, "owner": "Job/train"},
                {"apiVersion": api, "name": "train", "managed": false, "deleting": false, "minimum": 2, "owner": null},
            ],
        })
    );
    assert!(text.contains("exists Job ") && text.contains("exists PodGroup "), "{text}");
    assert!(text.contains("not created by trainmesh") && !text.contains("creates PodGroup"), "{text}");

    fixture.patch("train", &json!({"spec": {"suspend": true}}));
    fixture.wait_deleted(&group);
    let (text, suspended) = preview(&fixture, "train");
    assert_eq!(suspended["cluster"]["workloads"][0]["state"], "suspended");
    assert!(text.contains("creates PodGroup"), "{text}");

    fixture.patch("train", &json!({"spec": {"suspend": false}}));
    fixture.complete("train");
    fixture.wait_finished("train");
    let (_, finished) = preview(&fixture, "train");
    assert_eq!((&finished["cluster"]["workloads"][0]["state"], &finished["objects"]), (&json!("finished"), &json!([])));
}

/// The user may read the configuration and create pods, which the preview needs.
#[test]
fn a_job_that_the_user_may_not_read_is_shown_as_a_new_one() {
    const USER: &str = "preview-of-gangs";
    let fixture = Fixture::without_scheduler(Scheduler::NATIVE, 8);
    fixture.create(&[fixture.job("train", 4)]);
    let (namespace, home) = (&fixture.namespace, &fixture.webhook.config_namespace);
    allow(
        namespace,
        USER,
        &json!([
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]},
            {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
        ]),
    );
    allow(home, USER, &json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]));
    for (permission, namespace) in [(["create", "pods"], namespace), (["get", "configmaps"], home)] {
        Cluster::get().wait_until_allowed(USER, permission, &namespace.name);
    }

    let kubeconfig = Cluster::get().kubeconfig_of(USER);
    let kubeconfig = kubeconfig.path().to_str().expect("UTF-8");
    let arguments = ["preview", "--cluster", "-n", &namespace.name, "--trainmesh-namespace", &home.name, "-f", "-"];
    let run = trainmesh_with(&arguments, &fixture.job("train", 4).to_string(), &[("KUBECONFIG", kubeconfig)]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(run.stdout.contains("creates PodGroup") && !run.stdout.contains("exists"), "{run:#?}");
    assert!(run.stderr.contains("Jobs that exist are shown as new ones"), "{run:#?}");
}

/// Grants `user` the permissions of `rules` in a namespace.
fn allow(namespace: &Namespace, user: &str, rules: &Value) {
    let (group, metadata) = ("rbac.authorization.k8s.io", json!({"name": user}));
    let api_version = format!("{group}/v1");
    let role = json!({"apiVersion": api_version, "kind": "Role", "metadata": metadata, "rules": rules});
    let binding = json!({"apiVersion": api_version, "kind": "RoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": group, "kind": "Role", "name": user},
        "subjects": [{"kind": "User", "name": user, "apiGroup": group}]});
    let _ = namespace.create(&list([role, binding])).success();
}
