//! Services and objects of Istio in the cluster, as `trainmesh preview --cluster` and `trainmesh doctor` read them.

use serde_json::{Value, json};

use super::preview::NOT_REGISTERED;
use trainmesh_testing::cli::trainmesh;
use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually, list};
use trainmesh_testing::pods::OPTED_IN;
use trainmesh_testing::webhook::{APPLIED, Webhook};

/// Returns a CRD of Istio, reduced to its names: the apiserver keeps all fields.
fn crd(group: &str, kind: &str, plural: &str) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    })
}

/// Creates the CRDs, and an injector that excludes a range.
fn install_istio() {
    let values = json!({"global": {"proxy": {"excludeIPRanges": "192.0.2.0/24"}}}).to_string();
    let objects = list([
        crd("security.istio.io", "PeerAuthentication", "peerauthentications"),
        crd("networking.istio.io", "DestinationRule", "destinationrules"),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "istio-system"}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"values": values},
            "metadata": {"namespace": "istio-system", "name": "istio-sidecar-injector"}}),
    ]);
    let _ = Cluster::get().apply(&objects).success();
}

fn create(namespace: &Namespace, objects: impl IntoIterator<Item = Value>) {
    let objects = list(objects);
    // The apiserver serves new kinds after a moment.
    eventually(TIMEOUT, "the objects are created", || {
        let applied = namespace.apply(&objects);
        if applied.status.success() { Ok(()) } else { Err(applied.stderr) }
    });
}

/// Returns a rank of a `PyTorchJob` that calls the headless Service `db`.
fn rank() -> Value {
    let labels = json!({
        "training.kubeflow.org/operator-name": "pytorchjob-controller", "training.kubeflow.org/job-name": "llama",
        "training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "0", "app": "train",
    });
    let env = json!([{"name": "PET_NNODES", "value": "2"}, {"name": "DB", "value": "postgres://db:5432/train"}]);
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train", "labels": labels},
        "spec": {"schedulerName": "nobody", "restartPolicy": "Never", "containers": [{
            "name": "train", "image": "trainmesh.test/busybox:1", "env": env, "ports": [{"containerPort": 8080}]}]}})
}

fn service(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
}

#[test]
fn preview_and_doctor_report_what_leaves_the_mesh() {
    Cluster::get().start_mesh();
    install_istio();
    let webhook = Webhook::start();
    webhook.configure("mesh: {podCIDRs: [10.244.0.0/16]}");
    webhook.process.wait_for_metric(APPLIED, 2);
    let direct = ("trainmesh.dev/mesh-traffic", "direct");
    let namespace = webhook.namespace(&[OPTED_IN[0], OPTED_IN[1], direct]);
    let strict = json!({"apiVersion": "security.istio.io/v1", "kind": "PeerAuthentication",
        "metadata": {"name": "default"}, "spec": {"mtls": {"mode": "STRICT"}}});
    let mutual = json!({"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": {"name": "metrics"},
        "spec": {"host": "metrics", "trafficPolicy": {"tls": {"mode": "ISTIO_MUTUAL"}}}});
    create(
        &namespace,
        [
            service("db", &json!({"clusterIP": "None", "selector": {"app": "db"}, "ports": [{"port": 5432}]})),
            service("board", &json!({"selector": {"app": "train"}, "ports": [{"port": 80, "targetPort": 6006}]})),
            service("metrics", &json!({"selector": {"app": "train"}, "ports": [{"port": 9090}]})),
            strict,
            mutual,
        ],
    );
    let expected = [
        ("FP052", "Service board: clients send mTLS to port 6006, which Envoy does not capture".to_owned()),
        (
            "FP053",
            format!(
                "DestinationRule {}/metrics requires mTLS on port 9090, which Envoy does not capture",
                namespace.name
            ),
        ),
        ("FP054", format!("headless Service {}/db requires mTLS, which direct calls do not have", namespace.name)),
    ];

    let home = webhook.config_namespace.name.as_str();
    let arguments =
        ["preview", "--cluster", "-n", &namespace.name, "--trainmesh-namespace", home, "-o", "json", "-f", "-"];
    let run = trainmesh(&arguments, &rank().to_string());
    let notes: Vec<&str> = run.stderr.lines().filter(|line| !line.starts_with(NOT_REGISTERED)).collect();
    assert_eq!((run.code, notes), (Some(0), vec![]), "{}", run.stdout);
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let found = report["results"][0]["lint"].as_array().expect("findings").iter();
    let found = found.filter(|finding| finding["id"].as_str().is_some_and(|id| id.starts_with("FP05")));
    let found: Vec<_> = found.map(|finding| (finding["id"].as_str(), finding["message"].as_str())).collect();
    assert_eq!(found, expected.each_ref().map(|(id, message)| (Some(*id), Some(message.as_str()))));

    // Istio's injector adds the label by which clients choose mTLS.
    let _ = namespace.create(&rank()).success();
    eventually(TIMEOUT, "doctor reports the pod", || {
        let run = trainmesh(&["doctor", "-o", "json", "--namespace", home], "");
        let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
        let evidence = |code: &str| {
            let mut findings = report["findings"].as_array().into_iter().flatten();
            findings
                .find(|finding| finding["code"] == code)
                .and_then(|finding| finding["about"].as_str())
                .unwrap_or_default()
        };
        let pod = format!("({}/train)", namespace.name);
        let is_found = |(code, message): &(&str, String)| evidence(code).contains(&format!("{message} {pod}"));
        let ranges = evidence("ExcludedRangesMissing").contains("192.0.2.0/24 (istio-system/istio-sidecar-injector)");
        if ranges && expected.iter().all(is_found) { Ok(()) } else { Err(run.stdout) }
    });
}
