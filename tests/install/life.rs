//! From installation to removal, with real pods.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rstest::rstest;
use serde_json::{Value, json};

use crate::cluster::{Cluster, Namespace, PATIENCE, eventually};
use crate::release::Release;

const SERVED: [(&str, &str); 2] = [("trainmesh.dev/inject", "enabled"), ("istio-injection", "enabled")];
const KINDS: &str = "mutatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings,\
                     clusterroles,clusterrolebindings";
const NAMESPACED_KINDS: &str = "deployments,replicasets,services,configmaps,secrets,serviceaccounts,roles,rolebindings,\
                                poddisruptionbudgets,leases,networkpolicies";

/// A job with an injected proxy runs to its end, as the webhook and the controller see to.
fn job_completes(namespace: &Namespace, name: &str) {
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
fn wait_until_called(namespace: &Namespace) {
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "rehearsal", "labels": {"sidecar.istio.io/inject": "true"}},
        "spec": {"containers": [{"name": "train", "image": "trainmesh.test/busybox:1"}]}});
    eventually(PATIENCE, "the webhook is called", || {
        let words = ["create", "--dry-run=server", "-o", "json", "-f", "-"];
        let answer = namespace.kubectl(&words, &pod.to_string()).success().stdout;
        if answer.contains("mesh.hold") { Ok(()) } else { Err(answer) }
    });
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

    release.upgrade(&["webhook.replicas=3", "webhook.timeoutSeconds=3", "config.termination.settle=2s"]);
    release.ready();
    job_completes(&namespace, "second");
    release.test();

    release.upgrade(&["config.termination.enabled=false", "execPolicy.enabled=false"]);
    release.ready();
    let may = ["auth", "can-i", "get", "pods/exec", "--all-namespaces", "--as"];
    let answer = Cluster::get().kubectl(&[&may[..], &[&release.account("controller")]].concat(), "");
    assert_eq!(answer.stdout.trim(), "no");

    release.uninstall();
    let left = Cluster::get().kubectl(&["get", KINDS, "-l", "app.kubernetes.io/name=trainmesh", "-o", "name"], "");
    assert_eq!(left.stdout, "");
    eventually(PATIENCE, "nothing is left but what every namespace has, and the lease", || {
        let left = release.home.kubectl(&["get", NAMESPACED_KINDS, "-o", "name"], "").stdout;
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
    let get = || release.home.get(registration[0], registration[1]).unwrap();
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

/// Says that the end has come, also where it comes by a failure: else the other thread would be waited for in vain.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Two replicas, one after the other: the apiserver always finds one, over connections that it knows or new ones.
#[test]
fn an_upgrade_under_load_misses_no_pod() {
    let release = Release::started(&["webhook.podAnnotations.round=one"]);
    let namespace = Cluster::get().namespace(&SERVED[..1]);
    wait_until_called(&namespace);
    let ended = AtomicBool::new(false);
    let made = thread::scope(|scope| {
        let maker = scope.spawn(|| {
            let mut made = 0;
            while !ended.load(Ordering::Relaxed) {
                let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("p{made}"),
                    "labels": {"sidecar.istio.io/inject": "true"}}, "spec": {"schedulerName": "nobody",
                    "containers": [{"name": "train", "image": "trainmesh.test/busybox:1"}]}});
                let _ = namespace.create(&pod).success();
                made += 1;
            }
            made
        });
        let end = End(&ended);
        release.upgrade(&["webhook.podAnnotations.round=two"]);
        release.ready();
        // The replicas that were replaced still drain.
        let selector = "app.kubernetes.io/component=webhook";
        eventually(PATIENCE, "only the new replicas are left", || {
            let pods = release.home.pods(selector);
            let old = pods.iter().filter(|pod| pod["metadata"]["annotations"]["round"] == "one").count();
            if old == 0 { Ok(()) } else { Err(format!("{old} old ones")) }
        });
        drop(end);
        maker.join().unwrap()
    });
    let pods = namespace.pods("");
    let missed = pods.iter().filter(|pod| pod["metadata"]["annotations"]["trainmesh.dev/applied"] != "mesh.hold");
    let missed: Vec<&Value> = missed.map(|pod| &pod["metadata"]["name"]).collect();
    assert_eq!((pods.len(), missed), (made, vec![]));
    assert!(made > 10, "too few to show anything: {made}");
}
