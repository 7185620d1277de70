//! The ranges of pod addresses that `trainmesh doctor` suggests for `mesh.podCIDRs`, and compares with running pods.

use serde_json::{Value, json};

use trainmesh_testing::cli::trainmesh;
use trainmesh_testing::cluster::{Cluster, TIMEOUT, eventually, list};
use trainmesh_testing::controller::PodManifest;
use trainmesh_testing::webhook::Webhook;

/// Configurations of kubeadm and Cilium, and the CRD of Calico's pools, reduced to its names.
fn networks_manifest() -> String {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let config_map = |name: &str, data: Value| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": {"namespace": "kube-system", "name": name}})
    };
    list([
        config_map("kubeadm-config", json!({"ClusterConfiguration": "networking: {podSubnet: 10.244.0.0/16}"})),
        config_map("cilium-config", json!({"ipam": "cluster-pool", "cluster-pool-ipv4-cidr": "192.0.2.0/24"})),
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "ippools.crd.projectcalico.org"},
            "spec": {
                "group": "crd.projectcalico.org", "scope": "Cluster",
                "names": {"kind": "IPPool", "plural": "ippools", "singular": "ippool"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
            },
        }),
    ])
}

fn pool(name: &str, range: &str, is_disabled: bool) -> Value {
    json!({"apiVersion": "crd.projectcalico.org/v1", "kind": "IPPool", "metadata": {"name": name},
        "spec": {"cidr": range, "disabled": is_disabled}})
}

/// The objects of [`networks_manifest`] in the cluster of all tests, which are deleted on drop.
struct Networks(&'static Cluster);

impl Networks {
    fn create(cluster: &'static Cluster) -> Self {
        let networks = Self(cluster);
        let _ = cluster.apply(&networks_manifest()).success();
        networks
    }
}

impl Drop for Networks {
    fn drop(&mut self) {
        // The pools are deleted with their CRD. A panic here would hide that of the test.
        let _ = self.0.kubectl(&["delete", "-f", "-", "--ignore-not-found", "--timeout=60s"], &networks_manifest());
    }
}

/// Waits until doctor's finding about `mesh.podCIDRs` has this code, and returns its evidence. A busy apiserver may respond too late
/// at first.
fn wait_for_finding(home: &str, code: &str) -> String {
    eventually(TIMEOUT, code, || {
        let (found, evidence) = doctor(home);
        if found == code { Ok(evidence) } else { Err(format!("{found}: {evidence}")) }
    })
}

/// Returns code and evidence of doctor's finding about `mesh.podCIDRs`.
fn doctor(home: &str) -> (String, String) {
    let run = trainmesh(&["doctor", "-o", "json", "--namespace", home], "");
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"));
    let mut findings = report["findings"].as_array().into_iter().flatten();
    let found = findings.find(|finding| finding["check"] == "PodNetwork").expect("a finding");
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    (text("code"), text("about"))
}

#[test]
fn doctor_suggests_and_compares_the_ranges_of_pods() {
    let cluster = Cluster::get();
    let _networks = Networks::create(cluster);
    let pools = list([pool("pods", "10.244.0.0/17", false), pool("former", "198.51.100.0/24", true)]);
    // The apiserver serves new kinds after a moment.
    eventually(TIMEOUT, "the pools are created", || {
        let applied = cluster.apply(&pools);
        if applied.status.success() { Ok(()) } else { Err(applied.stderr) }
    });
    let namespace = cluster.namespace(&[]);
    let _ = namespace.create(&PodManifest::new("train").script("train", "sleep 600")).success();
    eventually(TIMEOUT, "the pod has an address", || {
        let pod = namespace.get("pod", "train").ok_or("it does not exist")?;
        if pod["status"]["podIP"].is_string() { Ok(()) } else { Err("it has none") }
    });

    let webhook = Webhook::start();
    let home = webhook.config_namespace.name.as_str();
    webhook.configure("mesh: {traffic: direct}");
    let suggestion = wait_for_finding(home, "PodCidrsUnset");
    let ranges =
        "suggested: 10.244.0.0/16 (kubeadm-config), 192.0.2.0/24 (cilium-config), 10.244.0.0/17 (IPPool pods), with ";
    assert!(suggestion.starts_with(ranges), "{suggestion}");
    assert!(!suggestion.contains("with 0 of"), "{suggestion}");

    webhook.configure("mesh: {traffic: direct, podCIDRs: [10.244.0.0/16]}");
    assert_ne!(wait_for_finding(home, "PodCidrsComplete"), "0 pods");

    webhook.configure("mesh: {traffic: direct, podCIDRs: [192.0.2.0/24]}");
    let outside = wait_for_finding(home, "PodCidrsIncomplete");
    assert!(outside.starts_with("10.244.0."), "{outside}");
}
