//! `trainmesh doctor` against a real apiserver.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_objects doctor::
//! ```
//!
//! One test: the registrations that it makes have the names that are looked for, and belong to the whole cluster.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use trainmesh::certs::mint;
use trainmesh_core::certs::Dates;
use trainmesh_core::objects::{LEASE, SERVICE, SERVING_SECRET, service_host};

use trainmesh_testing::cluster::{Cluster, Namespace, list};

/// What istio-aux' own manifests call it.
const ISTIO_AUX: &str = "istio-aux-mutating-webhook-configuration";
/// What other tests may have left in the cluster, or what its mesh is, is not judged here.
const OF_OTHERS: [&str; 3] = ["Istio", "Namespaces", "PodSecurity"];

/// What belongs to no namespace, until this is dropped.
struct Leftovers(Vec<String>);

impl Drop for Leftovers {
    fn drop(&mut self) {
        let names: Vec<&str> = self.0.iter().map(String::as_str).collect();
        let arguments = [&["delete", "--ignore-not-found"][..], &names].concat();
        let _ = Cluster::get().kubectl(&arguments, "");
    }
}

/// A run of `doctor`.
struct Diagnosis {
    exit: Option<i32>,
    /// Level and cure by code, of those that are judged here.
    found: BTreeMap<String, (String, Value)>,
}

impl Diagnosis {
    fn of(home: &Namespace, kubeconfig: Option<&Path>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trainmesh"));
        command.args(["doctor", "-o", "json", "--namespace", &home.name]);
        if let Some(path) = kubeconfig {
            command.env("KUBECONFIG", path);
        }
        let output = command.output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        let text = |finding: &Value, field: &str| finding[field].as_str().unwrap_or_default().to_owned();
        let findings = report["findings"].as_array().unwrap().iter();
        let judged = findings.filter(|it| !OF_OTHERS.contains(&it["check"].as_str().unwrap()));
        let found = judged.map(|it| (text(it, "code"), (text(it, "level"), it["cure"].clone()))).collect();
        Self { exit: output.status.code(), found }
    }

    /// Holds exit code and codes against what was expected; whatever is not well has a cure.
    fn check(&self, exit: i32, expected: &[(&str, &str)]) {
        let found: Vec<(&str, &str)> = self.found.iter().map(|(code, (level, _))| (&**code, &**level)).collect();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!((self.exit, found), (Some(exit), expected));
        for (code, (level, cure)) in &self.found {
            let bad = ["warning", "failure"].contains(&level.as_str());
            assert!(!bad || cure.is_string(), "{code} has no cure");
        }
    }
}

#[test]
fn from_an_empty_cluster_to_an_installation_beside_istio_aux() {
    let cluster = Cluster::get();
    let home = cluster.namespace(&[]);
    Diagnosis::of(&home, None).check(
        2,
        &[
            ("VersionServed", "ok"),
            ("RegistrationMissing", "failure"),
            ("IstioAuxAbsent", "ok"),
            ("CertificateMissing", "failure"),
            ("ServiceMissing", "failure"),
            ("LeaseMissing", "failure"),
            ("MetricsUnasked", "note"),
            ("ConfigurationAbsent", "note"),
            ("PortForwardOff", "note"),
            ("RightsMissing", "failure"),
        ],
    );

    let binding = format!("{}-doctor", home.name);
    let kinds =
        ["mutatingwebhookconfiguration/0-trainmesh".to_owned(), format!("mutatingwebhookconfiguration/{ISTIO_AUX}")];
    let leftovers = kinds.into_iter().chain([format!("clusterrolebinding/{binding}")]).collect();
    let _leftovers = Leftovers(leftovers);
    let (ca, secret) = pair(&home.name);
    let _ = cluster.create(&list([registration(&home.name, &ca), istio_aux(), rights(&binding, &home.name)])).success();
    let _ = home.create(&list([secret, service(), endpoints(), held()])).success();
    let installed = [
        ("VersionServed", "ok"),
        ("Registered", "ok"),
        ("IstioAuxRegistered", "failure"),
        ("CertificateTrusted", "ok"),
        ("EndpointsReady", "ok"),
        ("Led", "ok"),
        ("MetricsUnasked", "note"),
        ("ConfigurationAbsent", "note"),
        ("PortForwardOff", "note"),
        ("RightsGranted", "ok"),
        // The accounts of this test may do everything, also forward ports.
        ("RightsUnneeded", "warning"),
    ];
    Diagnosis::of(&home, None).check(2, &installed);

    // Whoever may see nothing is told so, and of no failure.
    let nobody = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(nobody.path(), impersonating("nobody").to_string()).unwrap();
    Diagnosis::of(&home, Some(nobody.path())).check(0, &[("VersionServed", "ok"), ("NotReadable", "note")]);
}

/// A CA, and a Secret with a certificate for the Service that it has signed.
fn pair(home: &str) -> (String, Value) {
    let dates = Dates::starting(Timestamp::now(), Duration::from_hours(24));
    let authority = mint::authority(dates).unwrap();
    let leaf = mint::leaf(&authority, &service_host(SERVICE, home), dates).unwrap();
    let bytes = |text: &str| json!(ByteString(text.as_bytes().to_vec()));
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SERVING_SECRET},
        "data": {"tls.crt": bytes(&leaf.certificate), "tls.key": bytes(leaf.key.pem())}});
    (authority.pem, secret)
}

/// `config/registration.yaml`, as it is after the controller has written whom to trust.
fn registration(home: &str, ca: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/registration.yaml");
    let mut registration: Value = trainmesh_core::yaml::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    for webhook in registration["webhooks"].as_array_mut().unwrap() {
        webhook["clientConfig"]["service"]["namespace"] = home.into();
        webhook["clientConfig"]["caBundle"] = json!(ByteString(ca.as_bytes().to_vec()));
    }
    registration
}

/// What its own manifests register; here for no namespace that there is, and open.
fn istio_aux() -> Value {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": ISTIO_AUX}, "webhooks": [{"name": "mpod.datastrophic.io", "failurePolicy": "Ignore",
            "clientConfig": {"url": "https://127.0.0.1:1/mutate-v1-pod"}, "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "namespaceSelector": {"matchLabels": {"io.datastrophic/istio-aux": "test-doctor"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}]})
}

/// More than the chart grants: what the chart grants is the matter of its own tests.
fn rights(name: &str, home: &str) -> Value {
    let account = |name: &str| json!({"kind": "ServiceAccount", "name": name, "namespace": home});
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [account("trainmesh-webhook"), account("trainmesh-controller")]})
}

fn service() -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE}, "spec": {"ports": [{"port": 443}]}})
}

/// Two replicas, of which nobody asks whether they run.
fn endpoints() -> Value {
    let ready = |address: &str| json!({"addresses": [address], "conditions": {"ready": true}});
    json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": SERVICE, "labels": {"kubernetes.io/service-name": SERVICE}},
        "ports": [{"port": 10250}], "endpoints": [ready("192.0.2.1"), ready("192.0.2.2")]})
}

/// A Lease that was renewed just now.
fn held() -> Value {
    json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": LEASE},
        "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": format!("{:.6}", Timestamp::now())}})
}

/// The kubeconfig of the cluster, for `user`.
fn impersonating(user: &str) -> Value {
    let mut config = Cluster::get().kubectl(&["config", "view", "--raw", "-o", "json"], "").success().object();
    for entry in config["users"].as_array_mut().unwrap() {
        entry["user"]["as"] = user.into();
    }
    config
}
