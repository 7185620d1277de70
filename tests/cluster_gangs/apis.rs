//! Clusters that do not serve the API of the mode, or do not permit it.

use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::scheduler::Scheduler;
use trainmesh_testing::cluster::{Cluster, server};
use trainmesh_testing::controller::ServiceAccount;

/// API that is installed and removed. Nothing schedules its pods.
const SCHEDULER: Scheduler = Scheduler::COSCHEDULING;
const CRD: &str = "podgroups.scheduling.x-k8s.io";

#[test]
fn an_api_that_is_installed_later_is_used_until_it_is_removed() {
    SCHEDULER.stop();
    let mut fixture = Fixture::without_scheduler(SCHEDULER, 8);
    let version = SCHEDULER.api().unwrap().api_version();
    let native = Scheduler::NATIVE.api().unwrap().api_version();

    fixture.wait_announced(&native);
    assert_ungrouped(&fixture, "before", "gang=GangApiMissing");

    let crd = InstalledCrd::new();
    fixture.wait_announced(&version);
    let job = fixture.create_until("with", |pod| fixture.scheduler.gang_named_by(pod).is_some());
    fixture.wait_minimum(&fixture.group_name(&job), 2);

    drop(crd);
    fixture.wait_not_announced(&version);
    fixture.wait_announced(&native);
    fixture.create_until("removed", |pod| fixture.scheduler.gang_named_by(pod).is_none());
    assert_ungrouped(&fixture, "after", "gang=GangApiMissing");
    assert!(!fixture.controller.has_exited());
}

/// Permissions of the controller, without those for `PodGroups`.
fn rules() -> Vec<Value> {
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    vec![
        rule("", &["pods", "namespaces"], &["get", "list", "watch"]),
        rule("", &["configmaps"], &["get", "list", "watch"]),
        rule("batch", &["jobs"], &["get", "list", "watch"]),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
        rule("coordination.k8s.io", &["leases"], &["get", "list", "watch", "create", "update", "patch"]),
    ]
}

#[test]
fn without_permissions_pods_get_no_key_until_they_are_granted() {
    let mut fixture = Fixture::new(Scheduler::NATIVE, 8);
    let version = Scheduler::NATIVE.api().unwrap().api_version();
    let folder = server::temp_folder();
    let home = &fixture.webhook.config_namespace;
    let account = ServiceAccount::new(home, &format!("gangs-{}", home.name), &json!(rules()), &folder);
    fixture.replace_controller_with(&["--kubeconfig", account.kubeconfig.to_str().unwrap()]);
    fixture.wait_not_announced(&version);
    fixture.webhook.process.wait_for_metric("trainmesh_gang_announced", 0);
    assert_ungrouped(&fixture, "without", "gang=GangControllerMissing");
    assert!(!fixture.controller.has_exited());

    let groups = json!({"apiGroups": ["scheduling.k8s.io"], "resources": ["podgroups"],
        "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"]});
    account.set_rules(&json!([rules(), vec![groups]].concat()));
    fixture.wait_announced(&version);
    fixture.create(&[fixture.job("with", 4)]);
    fixture.wait_placed("with", 4);
    fixture.wait_minimum(&fixture.group_name("with"), 4);
}

#[test]
fn a_quota_of_a_namespace_does_not_affect_others() {
    let mut fixture = Fixture::new(Scheduler::NATIVE, 8);
    let other = fixture.webhook.namespace(&[("trainmesh.dev/inject", "enabled"), ("trainmesh.dev/gang", "native")]);
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "groups"},
        "spec": {"hard": {"count/podgroups.scheduling.k8s.io": "0"}}});
    let _ = fixture.namespace.create(&quota).success();
    fixture.create(&[fixture.job("first", 2)]);
    let _ = fixture.wait_pods("first", 2);
    let denied = format!("native/{}", fixture.namespace.name);
    fixture.wait_announced(&denied);
    let second = fixture.create_until("second", |pod| {
        pod["metadata"]["annotations"]["trainmesh.dev/refused"] == "gang=GangObjectDenied"
    });
    fixture.wait_placed(&second, 2);
    assert_eq!(fixture.placed("first"), 0);

    let limited = std::mem::replace(&mut fixture.namespace, other);
    fixture.create(&[fixture.job("third", 2)]);
    fixture.wait_placed("third", 2);
    fixture.wait_minimum(&fixture.group_name("third"), 2);

    let _ = limited.delete("resourcequota", "groups").success();
    fixture.namespace = limited;
    fixture.wait_placed("first", 2);
    fixture.wait_not_announced(&denied);
}

/// Checks that the pods of a new job get no key, with this refusal, and are placed.
fn assert_ungrouped(fixture: &Fixture, job: &str, refused: &str) {
    fixture.create(&[fixture.job(job, 2)]);
    fixture.wait_placed(job, 2);
    for pod in fixture.pods(job) {
        assert_eq!(pod["metadata"]["annotations"]["trainmesh.dev/refused"], refused);
        assert_eq!(fixture.scheduler.gang_named_by(&pod), None);
    }
}

/// Guard of the CRD of [`SCHEDULER`]. Dropping it deletes the CRD with all objects.
struct InstalledCrd(());

impl InstalledCrd {
    fn new() -> Self {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let version =
            json!({"name": "v1alpha1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
        let names = json!({"kind": "PodGroup", "plural": "podgroups", "singular": "podgroup"});
        let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": CRD, "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
            "spec": {"group": "scheduling.x-k8s.io", "scope": "Namespaced", "names": names, "versions": [version]}});
        let _ = Cluster::get().apply(&crd as &Value).success();
        Self(())
    }
}

impl Drop for InstalledCrd {
    fn drop(&mut self) {
        // An error here must not replace the failure of the test.
        let _ = Cluster::get().kubectl(&["delete", "crd", CRD, "--timeout=240s"], "");
    }
}
