//! From installation to removal, with real pods.

use rstest::rstest;
use serde_json::{Value, json};

use trainmesh_testing::cluster::{Cluster, Namespace, PATIENCE, eventually};
use trainmesh_testing::pods::{SERVED, patched};
use trainmesh_testing::release::Release;
use trainmesh_testing::release::doctor::{diagnosis, sound};

const KINDS: &str = "mutatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings,\
                     clusterroles,clusterrolebindings";
const NAMESPACED_KINDS: &str = "deployments,replicasets,services,configmaps,secrets,serviceaccounts,roles,rolebindings,\
                                poddisruptionbudgets,leases,networkpolicies";

/// A job with an injected proxy runs to its end, as the webhook and the controller see to.
pub fn job_completes(namespace: &Namespace, name: &str) {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {
        "backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "train", "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never",
             "command": ["wget", "-qO-", "http://127.0.0.1:15021/healthz/ready"]}]}}}});
    wait_until_called(namespace);
    let _ = namespace.apply(&job).success();
    eventually(PATIENCE, "the job is complete", || {
        let job = namespace.get("job", name).ok_or("no job")?;
        let pods = namespace.pods(&format!("job-name={name}"));
        if job["status"]["succeeded"] == 1 { Ok(()) } else { Err(states(&pods)) }
    });
    let pods = namespace.pods(&format!("job-name={name}"));
    assert_eq!(pods[0]["metadata"]["annotations"]["trainmesh.dev/applied"], "mesh.hold");
    assert_eq!(pods[0]["spec"]["containers"][0]["name"], "istio-proxy");
}

/// A replica that is ready is called when the node's proxy knows of it, and nobody tells when that is.
pub fn wait_until_called(namespace: &Namespace) {
    eventually(PATIENCE, "the webhook is called", || if patched(namespace) { Ok(()) } else { Err("it is not") });
}

fn states(pods: &[Value]) -> String {
    pods.iter().map(|pod| pod["status"]["containerStatuses"].to_string()).collect()
}

#[test]
fn installed_upgraded_and_gone() {
    Cluster::get().mesh();
    let release = Release::started(&[]);
    let namespace = Cluster::get().namespace(&SERVED);
    job_completes(&namespace, "first");
    sound(&diagnosis(&release));

    release.upgrade(&["webhook.replicas=3", "webhook.timeoutSeconds=3", "config.termination.settle=2s"]);
    release.ready();
    job_completes(&namespace, "second");
    release.test();

    release.upgrade(&["config.termination.enabled=false", "execPolicy.enabled=false"]);
    release.ready();
    let may = ["auth", "can-i", "get", "pods", "--subresource=exec", "--all-namespaces", "--as"];
    eventually(PATIENCE, "the controller may not exec any more", || {
        let answer = Cluster::get().kubectl(&[&may[..], &[&release.account("controller")]].concat(), "").stdout;
        if answer.trim() == "no" { Ok(()) } else { Err(answer) }
    });

    release.uninstall();
    let left = Cluster::get().kubectl(&["get", KINDS, "-l", "app.kubernetes.io/name=trainmesh", "-o", "name"], "");
    assert_eq!(left.success().stdout, "");
    eventually(PATIENCE, "nothing is left but what every namespace has, and the lease", || {
        let left = release.home.kubectl(&["get", NAMESPACED_KINDS, "-o", "name"], "").success().stdout;
        let expected =
            "configmap/kube-root-ca.crt\nserviceaccount/default\nlease.coordination.k8s.io/trainmesh-controller\n";
        if left == expected { Ok(()) } else { Err(left) }
    });
    let _ = namespace.kubectl(&["run", "after", "--image=trainmesh.test/busybox:1", "--restart=Never"], "").success();
}

/// Helm 3 merges three ways, Helm 4 applies on the server: both leave alone what the chart does not render.
#[rstest]
fn an_upgrade_keeps_what_others_have_written(#[values("helm", "helm3")] helm: &'static str) {
    let release = Release::install(helm, &["webhook.failurePolicy=Ignore"]);
    // Base64 of a PEM block: the apiserver wants one.
    let bundle = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";
    let patch = |resource: [&str; 2], fields: &Value| {
        let command = [&["patch"], &resource[..], &["--type=merge", "--field-manager=test", "-p", &fields.to_string()]];
        let _ = release.home.kubectl(&command.concat(), "").success();
    };
    patch(["secret", "trainmesh-ca"], &json!({"data": {"tls.key": "eA=="}}));
    let registration = ["mutatingwebhookconfiguration", "0-trainmesh"];
    let get = || Cluster::get().object(registration[0], registration[1]).unwrap();
    let mut webhooks = get()["webhooks"].clone();
    for webhook in webhooks.as_array_mut().unwrap() {
        webhook["clientConfig"]["caBundle"] = bundle.into();
    }
    patch(registration, &json!({"webhooks": webhooks}));

    release.upgrade(&["webhook.timeoutSeconds=3"]);
    for webhook in get()["webhooks"].as_array().unwrap() {
        assert_eq!(webhook["timeoutSeconds"], 3);
        assert_eq!(webhook["clientConfig"]["caBundle"], bundle);
    }
    assert_eq!(release.home.get("secret", "trainmesh-ca").unwrap()["data"]["tls.key"], "eA==");
}
