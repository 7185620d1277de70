//! `trainmesh doctor` with a real apiserver.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_objects doctor::
//! ```
//!
//! There is only one test: its webhook configurations have fixed names and are cluster-scoped.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use trainmesh::certs::issue;
use trainmesh_core::certs::Validity;
use trainmesh_core::objects::{LEASE, SERVICE, SERVING_SECRET, service_host};

use trainmesh_testing::cluster::{Cluster, Namespace, list};

/// Name in istio-aux's own manifests.
const ISTIO_AUX: &str = "istio-aux-mutating-webhook-configuration";
/// Checks of state that other tests or the mesh may have left in the cluster; their findings are ignored.
const IGNORED_CHECKS: [&str; 6] = ["Istio", "Namespaces", "PodSecurity", "PodNetwork", "Mesh", "Webhooks"];

/// Cluster-scoped objects, deleted on drop.
struct DeleteOnDrop(Vec<String>);

impl Drop for DeleteOnDrop {
    fn drop(&mut self) {
        let names: Vec<&str> = self.0.iter().map(String::as_str).collect();
        let arguments = [&["delete", "--ignore-not-found"][..], &names].concat();
        let _ = Cluster::get().kubectl(&arguments, "");
    }
}

/// Result of a run of `doctor`.
struct DoctorReport {
    exit: Option<i32>,
    /// Level and fix by finding code, without ignored checks.
    findings: BTreeMap<String, (String, Value)>,
}

impl DoctorReport {
    fn collect(home: &Namespace, kubeconfig: Option<&Path>) -> Self {
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
        let relevant = findings.filter(|finding| !IGNORED_CHECKS.contains(&finding["check"].as_str().unwrap()));
        let findings = relevant
            .map(|finding| (text(finding, "code"), (text(finding, "level"), finding["cure"].clone())))
            .collect();
        Self { exit: output.status.code(), findings }
    }

    /// Compares exit code and codes with the expected ones; every warning or failure must have a fix.
    fn check(&self, exit: i32, expected: &[(&str, &str)]) {
        let findings: Vec<(&str, &str)> = self.findings.iter().map(|(code, (level, _))| (&**code, &**level)).collect();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!((self.exit, findings), (Some(exit), expected));
        for (code, (level, fix)) in &self.findings {
            let bad = ["warning", "failure"].contains(&level.as_str());
            assert!(!bad || fix.is_string(), "{code} has no fix");
        }
    }
}

#[test]
fn reports_an_empty_cluster_and_an_installation_next_to_istio_aux() {
    let cluster = Cluster::get();
    let home = cluster.namespace(&[]);
    DoctorReport::collect(&home, None).check(
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
            ("ExecPolicyMissing", "warning"),
        ],
    );

    let binding = format!("{}-doctor", home.name);
    let kinds =
        ["mutatingwebhookconfiguration/0-trainmesh".to_owned(), format!("mutatingwebhookconfiguration/{ISTIO_AUX}")];
    let objects = kinds.into_iter().chain([format!("clusterrolebinding/{binding}")]).collect();
    let _objects = DeleteOnDrop(objects);
    let (ca, secret) = certificate_pair(&home.name);
    let _ = cluster
        .create(&list([
            webhook_configuration(&home.name, &ca),
            istio_aux(),
            cluster_admin_binding(&binding, &home.name),
        ]))
        .success();
    let _ = home.create(&list([secret, service(), endpoints(), lease()])).success();
    let account = format!("system:serviceaccount:{}:trainmesh-controller", home.name);
    cluster.wait_until_allowed(&account, ["delete", "nodes"], &home.name);
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
        // The accounts in this test are cluster administrators.
        ("RightsUnneeded", "warning"),
        ("ExecPolicyMissing", "warning"),
    ];
    DoctorReport::collect(&home, None).check(2, &installed);

    // A user without permissions gets a note rather than failures.
    let unprivileged = Cluster::get().kubeconfig_of("nobody");
    DoctorReport::collect(&home, Some(unprivileged.path()))
        .check(0, &[("VersionServed", "ok"), ("NotReadable", "note")]);
}

/// Creates a CA, and a Secret with a serving certificate that it signed.
fn certificate_pair(home: &str) -> (String, Value) {
    let dates = Validity::from_lifetime(Timestamp::now(), Duration::from_hours(24));
    let ca = issue::ca(dates).unwrap();
    let serving = issue::serving_certificate(&ca, &service_host(SERVICE, home), dates).unwrap();
    let bytes = |text: &str| json!(ByteString(text.as_bytes().to_vec()));
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SERVING_SECRET},
        "data": {"tls.crt": bytes(&serving.certificate), "tls.key": bytes(serving.key.pem())}});
    (ca.pem, secret)
}

/// Returns `config/webhook_configuration.yaml` with the `caBundle` that the controller writes.
fn webhook_configuration(home: &str, ca: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/webhook-configuration.yaml");
    let mut webhook_configuration: Value =
        trainmesh_core::yaml::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    for webhook in webhook_configuration["webhooks"].as_array_mut().unwrap() {
        webhook["clientConfig"]["service"]["namespace"] = home.into();
        webhook["clientConfig"]["caBundle"] = json!(ByteString(ca.as_bytes().to_vec()));
    }
    webhook_configuration
}

/// Returns the configuration in istio-aux's manifests, but failing open and matching no existing namespace.
fn istio_aux() -> Value {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": ISTIO_AUX}, "webhooks": [{"name": "mpod.datastrophic.io", "failurePolicy": "Ignore",
            "clientConfig": {"url": "https://127.0.0.1:1/mutate-v1-pod"}, "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "namespaceSelector": {"matchLabels": {"io.datastrophic/istio-aux": "test-doctor"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}]})
}

/// Grants more than the chart, whose permissions have their own tests.
fn cluster_admin_binding(name: &str, home: &str) -> Value {
    let account = |name: &str| json!({"kind": "ServiceAccount", "name": name, "namespace": home});
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [account("trainmesh-webhook"), account("trainmesh-controller")]})
}

fn service() -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE}, "spec": {"ports": [{"port": 443}]}})
}

/// Returns endpoints of two replicas, which are not contacted.
fn endpoints() -> Value {
    let ready = |address: &str| json!({"addresses": [address], "conditions": {"ready": true}});
    json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": SERVICE, "labels": {"kubernetes.io/service-name": SERVICE}},
        "ports": [{"port": 10250}], "endpoints": [ready("192.0.2.1"), ready("192.0.2.2")]})
}

/// Returns a Lease that was renewed just now, and does not expire before the test ends.
fn lease() -> Value {
    json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": LEASE},
        "spec": {"holderIdentity": "a", "leaseDurationSeconds": 3600, "renewTime": format!("{:.6}", Timestamp::now())}})
}
