//! Installation, upgrade and removal, with real pods.

use rstest::rstest;
use serde_json::{Value, json};

use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually};
use trainmesh_testing::pods::{OPTED_IN, adds_hold};
use trainmesh_testing::release::Release;
use trainmesh_testing::release::doctor::wait_until_healthy;

const KINDS: &str = "mutatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings,\
                     clusterroles,clusterrolebindings";
const NAMESPACED_KINDS: &str = "deployments,replicasets,services,configmaps,secrets,serviceaccounts,roles,rolebindings,\
                                poddisruptionbudgets,leases,networkpolicies";

/// Runs a job with an injected proxy to completion, which needs both the webhook and the controller.
pub fn run_job(namespace: &Namespace, name: &str) {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {
        "backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "train", "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never",
             "command": ["wget", "-qO-", "http://127.0.0.1:15021/healthz/ready"]}]}}}});
    wait_until_called(namespace);
    let _ = namespace.apply(&job).success();
    eventually(TIMEOUT, "the job is complete", || {
        let job = namespace.get("job", name).ok_or("no job")?;
        let pods = namespace.pods(&format!("job-name={name}"));
        if job["status"]["succeeded"] == 1 { Ok(()) } else { Err(states(&pods)) }
    });
    let pods = namespace.pods(&format!("job-name={name}"));
    assert_eq!(pods[0]["metadata"]["annotations"]["trainmesh.dev/applied"], "mesh.hold");
    assert_eq!(pods[0]["spec"]["containers"][0]["name"], "istio-proxy");
}

/// Waits until the webhook is called: a ready replica is called only once kube-proxy routes to it.
pub fn wait_until_called(namespace: &Namespace) {
    eventually(TIMEOUT, "the webhook is called", || if adds_hold(namespace) { Ok(()) } else { Err("not called") });
}

fn states(pods: &[Value]) -> String {
    pods.iter().map(|pod| pod["status"]["containerStatuses"].to_string()).collect()
}

#[test]
fn the_chart_can_be_installed_upgraded_and_uninstalled() {
    Cluster::get().start_mesh();
    let release = Release::start(&[]);
    let namespace = Cluster::get().namespace(&OPTED_IN);
    run_job(&namespace, "first");
    wait_until_healthy(&release);

    release.upgrade(&["webhook.replicas=3", "config.termination.settle=2s"]);
    release.wait_until_ready();
    run_job(&namespace, "second");
    release.test();

    release.upgrade(&["config.termination.enabled=false", "execPolicy.enabled=false"]);
    release.wait_until_ready();
    let can_i = ["auth", "can-i", "get", "pods", "--subresource=exec", "--all-namespaces", "--as"];
    eventually(TIMEOUT, "the controller has lost the exec permission", || {
        let output = Cluster::get().kubectl(&[&can_i[..], &[&release.account("controller")]].concat(), "").stdout;
        if output.trim() == "no" { Ok(()) } else { Err(output) }
    });

    release.uninstall();
    let remaining = Cluster::get().kubectl(&["get", KINDS, "-l", "app.kubernetes.io/name=trainmesh", "-o", "name"], "");
    assert_eq!(remaining.success().stdout, "");
    eventually(TIMEOUT, "only the namespace's defaults and the lease remain", || {
        let remaining = release.namespace.kubectl(&["get", NAMESPACED_KINDS, "-o", "name"], "").success().stdout;
        let expected =
            "configmap/kube-root-ca.crt\nserviceaccount/default\nlease.coordination.k8s.io/trainmesh-controller\n";
        if remaining == expected { Ok(()) } else { Err(remaining) }
    });
    let _ = namespace.kubectl(&["run", "after", "--image=trainmesh.test/busybox:1", "--restart=Never"], "").success();
}

/// Helm 3 merges three ways, Helm 4 uses server-side apply: both keep fields that the chart does not render.
#[rstest]
fn an_upgrade_keeps_fields_of_other_managers(#[values("helm", "helm3")] helm: &'static str) {
    // `null` leaves the number of replicas to `kubectl scale` or an autoscaler.
    let release = Release::install(helm, &["webhook.replicas=null"]);
    // Base64 of a PEM block, which the apiserver requires.
    let bundle = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";
    let patch = |resource: [&str; 2], fields: &Value| {
        let command = [&["patch"], &resource[..], &["--type=merge", "--field-manager=test", "-p", &fields.to_string()]];
        let _ = release.namespace.kubectl(&command.concat(), "").success();
    };
    patch(["secret", "trainmesh-ca"], &json!({"data": {"tls.key": "eA=="}}));
    let webhook_configuration = ["mutatingwebhookconfiguration", "0-trainmesh"];
    let get = || Cluster::get().object(webhook_configuration[0], webhook_configuration[1]).unwrap();
    let mut webhooks = get()["webhooks"].clone();
    for webhook in webhooks.as_array_mut().unwrap() {
        webhook["clientConfig"]["caBundle"] = bundle.into();
    }
    patch(webhook_configuration, &json!({"webhooks": webhooks}));

    let scale = ["scale", "deployment/trainmesh-webhook", "--replicas=3"];
    let _ = release.namespace.kubectl(&scale, "").success();

    release.upgrade(&["webhook.replicas=null", "webhook.timeoutSeconds=3"]);
    for webhook in get()["webhooks"].as_array().unwrap() {
        assert_eq!(webhook["timeoutSeconds"], 3);
        assert_eq!(webhook["clientConfig"]["caBundle"], bundle);
    }
    assert_eq!(release.namespace.get("secret", "trainmesh-ca").unwrap()["data"]["tls.key"], "eA==");
    let replicas = ["get", "deployment/trainmesh-webhook", "-o", "jsonpath={.spec.replicas}"];
    assert_eq!(release.namespace.kubectl(&replicas, "").success().stdout, "3");
}
